#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The build rebuilds what depends on a change, and nothing else. Stale objects are the bug to fear: a
# header of include/ that changes for one side of the kernel boundary only.
# timeout: 900
# beside others, records nothing
set -u
. tests/e2e/cases.sh

# Variables of the make that runs us (WERROR=1, ...), without its flags and job server.
case ${MAKEFLAGS:-} in
*" -- "*) variables=${MAKEFLAGS#* -- } ;;
*) variables= ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL

# The copy takes the built objects along, with their times, so that only the changes are built.
copy=$tmp/copy
mkdir "$copy"
find . -mindepth 1 -maxdepth 1 ! -name .git ! -name build -exec cp -a {} "$copy" \;
mkdir "$copy/build"
for item in user gen tests bpfprof bpfprof.bpf.o bpfprof.bpf.d bpfprof.skel.h libbpfprof.a \
	.cc-flags .bpf-flags .objects .version .deps-build .deps-build.d .deps-unit .deps-unit.d; do
	[ ! -e "$BUILD/$item" ] || cp -a "$BUILD/$item" "$copy/build"
done
cd "$copy" || exit 1
# The copy has no git to tell it.
version=$(cat build/.version)

build()
{
	# shellcheck disable=SC2086 # a list of words
	make -j2 $variables O=build VERSION="$version" "$@" >"$log" 2>&1
}

# Which objects are newer than the mark: their names, sorted, in one line
rebuilt()
{
	find build -newer mark \( -name '*.o' -o -name '*.a' -o -name bpfprof -o -name 'test_*' ! -name '*.d' \) |
		grep -v /test-logs | sort | tr '\n' ' '
}

# What each .c file includes, per the compiler and not per make's own .d files: lines "OBJECT HEADER"
for source in user/*.c user/*/*.c; do
	# The static build's, in the place of others
	[ "$source" != user/web/no_server.c ] || continue
	gcc -MM -D_GNU_SOURCE -iquote user -iquote build -idirafter include "$source" 2>/dev/null | tr ' ' '\n' |
		sed -n "s,^[^\\].*\.\(h\|def\)\$,build/${source%.c}.o &,p"
done >"$tmp/includes"

# Objects whose .c files mention header $1
users_of()
{
	awk -v header="$1" '$2 == header { print $1 }' "$tmp/includes"
}

bpf_uses()
{
	clang -target bpf -MM -MG -iquote include -iquote vmlinux -iquote bpf bpf/bpfprof.bpf.c |
		tr ' ' '\n' | grep -qx "$1"
}

# after NAME FILE: a changed FILE makes `make -q` say so; then rebuild
after()
{
	touch mark
	sleep 0.05
	touch "$2"
	! build -q
	result $? "$1: make sees it"
	build
	result $? "$1: make succeeds"
}

has()
{
	case " $(rebuilt)" in
	*" $1 "*) result 0 "$2" ;;
	*) echo "rebuilt: $(rebuilt)" >"$log"; result 1 "$2" ;;
	esac
}

has_not()
{
	case " $(rebuilt)" in
	*" $1 "*) echo "rebuilt: $(rebuilt)" >"$log"; result 1 "$2" ;;
	*) result 0 "$2" ;;
	esac
}

build all unit
result $? "the copy builds"
touch mark
build -q all unit
result $? "nothing is to be done after a build"
build all unit
[ -z "$(rebuilt)" ]
result $? "without a change nothing is rebuilt"

# --- Headers ---
# What make would build is asked of it for each of the kernel boundary, and for one that nearly all use (-n). One of
# either kind is built indeed.
would_build()
{
	# shellcheck disable=SC2086 # a list of words
	make -n $variables O=build VERSION="$version" all | grep -o -e '-o build/[^ ]*\.o' | cut -c 4- | tr '\n' ' '
}

# would_be_rebuilt HEADER OBJECT...: these, when it has changed
would_be_rebuilt()
{
	header=$1
	shift
	touch -r "$header" before
	touch "$header"
	would_build >"$log"
	touch -r before "$header"
	for object; do
		grep -q " $object " <<-END
			 $(cat "$log")
		END
		result $? "$header: $object would be rebuilt"
	done
}

for header in include/*.h include/*.def user/base/buf.h; do
	users=$(users_of "$header")
	if bpf_uses "$header"; then
		users="build/bpfprof.bpf.o $users"
	fi
	# shellcheck disable=SC2086 # a list of words
	[ -z "$users" ] || would_be_rebuilt "$header" $users
done
[ -z "$(would_build)" ]
result $? "... and nothing is when they are as they were"
bpf_uses include/abi.h
result $? "the BPF object uses include/abi.h"
after "include/abi.h" include/abi.h
for object in build/bpfprof.bpf.o $(users_of include/abi.h); do
	has "$object" "include/abi.h: $object is rebuilt"
done

# --- Other inputs ---
for header in bpf/*.bpf.h vmlinux/*.h; do
	[ -e "$header" ] || continue
	grep -q "$header" build/bpfprof.bpf.d || continue
	after "$header" "$header"
	has build/bpfprof.bpf.o "$header: the BPF object is rebuilt"
	has build/bpfprof "$header: the program is linked again"
	has_not build/user/base/buf.o "$header: an object that does not use it is not rebuilt"
	break
done

after "a user header" user/unwind/table.h
for object in $(users_of user/unwind/table.h); do
	has "$object" "user/unwind/table.h: $object is rebuilt"
done
has_not build/bpfprof.bpf.o "a user header leaves the BPF object alone"

asset=$(find user/encode -name '*.js' -o -name '*.css' | head -n 1)
if [ -n "$asset" ]; then
	after "an embedded asset" "$asset"
	has build/bpfprof "an embedded asset: the program is linked again"
fi

# --- Flags, sources that come and go ---
touch mark
cp -a build/.cc-flags build/user/base/buf.o "$tmp"
build CFLAGS='-O1 -g' build/user/base/buf.o
has build/user/base/buf.o "other flags rebuild"
! build -q CFLAGS='-O1 -g' build/bpfprof
result $? "... and what is made of it"
# What the first flags had built
cp -a "$tmp/.cc-flags" build
cp -a "$tmp/buf.o" build/user/base

touch mark
{
	echo '/* A source that was not there. */'
	echo 'int appeared(void);'
	echo 'int appeared(void) { return 0; }'
} >user/base/appeared.c
build all
has build/libbpfprof.a "a new source gets into the library"
touch mark
rm user/base/appeared.c
build all
has build/libbpfprof.a "a removed source rebuilds the library"
! ar t build/libbpfprof.a | grep -qx appeared.o
result $? "a removed source leaves the library"

cp user/base/buf.h user/base/renamed.h
sed -i 's,"base/buf.h","base/renamed.h",' user/base/buf.c
build all && rm user/base/renamed.h && sed -i 's,"base/renamed.h","base/buf.h",' user/base/buf.c && build all
result $? "a header that is gone does not stop the build"

# --- What is missing is said in one line ---
touch mark
build CLANG=no-such-clang build/bpfprof.bpf.o
[ $? = 2 ] && [ "$(grep -vc '^make' "$log")" = 1 ] && grep -q 'missing: clang.*sudo make deps' "$log"
result $? "a missing compiler is one line with its fix"
build CFLAGS="-nostdinc -I$tmp" build/user/base/buf.o
[ $? = 2 ] && grep -q 'missing: .*libelf-dev.*apt-get install' "$log"
result $? "missing libraries are one line with the packages"
exit $status
