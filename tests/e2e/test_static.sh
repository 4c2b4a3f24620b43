#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The static tarball is whole, and what is in it records and names on other releases of Debian: one whose C library is
# older than ours, one whose is newer.
# timeout: 900
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
mkdir "$out"
version=$("$BUILD/bpfprof" -V | sed -n '1s/^bpfprof //p')
arch=$(uname -m)
name=bpfprof-$version-linux-$arch
tarball=$BUILD/$name.tar.gz

# The make that runs us has variables of its own. nproc says 1: the other CPUs are others'.
make_tarball()
{
	rm -f "$tarball" "$BUILD/static-$arch/bpfprof"
	env -i PATH="$PATH" HOME="${HOME:-/}" TMPDIR="$TMPDIR" OMP_NUM_THREADS=1 make O="$BUILD" VERSION="$version" dist-static >"$out/make" 2>&1
	local code=$?
	cat "$out/make"
	return $code
}

# What the linker says of calls for which glibc loads libraries.
loads_nothing()
{
	grep -q 'LINK' "$out/make" && ! grep 'statically linked' "$out/make"
}

whole()
{
	tar -tzf "$tarball" | sed -n "s,^$name/,,p" | grep -v '/$' | sort >"$out/list"
	cat >"$out/wanted" <<-'END'
		LICENSE
		README.md
		bin/bpfprof
		bin/cargo-bpfprof
		lib/systemd/system/bpfprof-agent.service
		lib/systemd/system/bpfprof-relay.service
		share/bash-completion/completions/bpfprof
		share/bpfprof/agent.conf
		share/bpfprof/relay.conf
		share/fish/vendor_completions.d/bpfprof.fish
		share/man/man1/bpfprof.1
		share/man/man1/cargo-bpfprof.1
		share/zsh/site-functions/_bpfprof
	END
	grep '^[^/]' "$out/list" | grep -v '^share/doc/bpfprof/licenses/' | diff "$out/wanted" -
}

# Each library that is linked is one whose licence comes along.
licensed()
{
	local source
	for source in capstone cjson elfutils gcc-12 glibc libbpf libzstd ncurses xxhash xz-utils zlib; do
		tar -xOzf "$tarball" "$name/share/doc/bpfprof/licenses/SOURCES" | grep -q "^$source [0-9]" || return
		tar -xOzf "$tarball" "$name/share/doc/bpfprof/licenses/$source" | grep -qi 'licen[cs]e' || return
	done
}

is_static()
{
	readelf -lW "$unpacked/bin/bpfprof" >"$out/headers" && ! grep INTERP "$out/headers"
}

# --- Another release ---

# in_root COMMAND...: in $root, with what a kernel gives; $tmp/in is its /tmp, $tmp/etc its /etc.
in_root()
{
	# shellcheck disable=SC2016 # for the shell in the namespace
	unshare --mount sh -c 'root=$1 tmp=$2; shift 2
		for folder in proc sys dev; do
			mount --rbind /$folder "$root/$folder" || exit 125
		done
		mount --bind "$tmp/in" "$root/tmp" && mount --bind "$tmp/etc" "$root/etc" || exit 125
		cd / && exec chroot "$root" "$@"' sh "$root" "$tmp" "$@"
}

bpfprof_in_root()
{
	in_root "/tmp/$name/bin/bpfprof" "$@"
}

# Samples in $tmp/in/NAME.folded whose stack matches REGEX.
samples()
{
	awk -v regex="$1" '$0 ~ regex { n += $NF } END { print n + 0 }' "$tmp/in/$2.folded"
}

# at_least N REGEX NAME
at_least()
{
	local have
	have=$(samples "$2" "$3")
	echo "$have samples of $2"
	[ "$have" -ge "$1" ] && return
	head -n 5 "$tmp/in/$3.folded"
	return 1
}

# The root is another system: what needs shared libraries does not start there.
needs_libraries()
{
	! in_root /tmp/shared -V
}

version_says()
{
	bpfprof_in_root -V >"$out/version" || return
	told "^bpfprof $version\$" version && told '^static build, without: debuginfod, .*\(see bpfprof doctor\)$' version
}

doctor_says()
{
	bpfprof_in_root doctor >"$out/doctor" || return
	told '^no    debuginfod  .*static build' doctor && told '^no    users of name services ' doctor &&
		told '^bpfprof record works' doctor
}

# shellcheck disable=SC2016 # for the bash there
records_bash()
{
	bpfprof_in_root -F 997 -o /tmp/bash.folded -o /tmp/bash.html -o /tmp/bash.pb.gz --force -- \
		/bin/bash -c 'end=$((${EPOCHREALTIME/./} + 500000)); while ((${EPOCHREALTIME/./} < end)); do :; done' &&
		at_least 50 '^bash;_start;.*;main;.*;execute_command_internal' bash
}

html_has()
{
	sed -n 's/.*<script id="profile"[^>]*>\([^<]*\)<.*/\1/p' "$tmp/in/bash.html" | base64 -d | zcat |
		grep -qa 'execute_command_internal'
}

# By total: its own code is a few samples of that function, and may be below the table's end.
reports()
{
	bpfprof_in_root report --stdio --sort total /tmp/bash.pb.gz >"$out/report" &&
		told '0 lost; balanced$' report && told 'execute_command_internal' report
}

records_cxx()
{
	bpfprof_in_root -F 997 -o /tmp/cxx.folded --force -- /tmp/cxx &&
		at_least 50 '^cxx;_start;.*;main;work::spinner<unsigned long>::spin\(unsigned long\)' cxx
}

# As sudo leaves it; the groups are those that the root's files have.
becomes_user()
{
	SUDO_UID=4321 SUDO_GID=4321 bpfprof_in_root -q -o /tmp/user.folded --force -- /bin/sh -c \
		'echo "$(id -u) $(id -G)"' >"$out/user" &&
		told '^4321 4321 4322 4323$' user
}

says_no_debuginfod()
{
	DEBUGINFOD_URLS=http://127.0.0.1:9 bpfprof_in_root -F 997 -o /tmp/asked.folded --force -- \
		/bin/bash -c 'for ((i = 0; i < 100000; i++)); do :; done' 2>"$out/asked"
	told 'DEBUGINFOD_URLS is set, but its library cannot be loaded: a static build loads no libraries$' asked
}

# Files as another distribution may have them: services that are libraries come behind them.
make_etc()
{
	rm -rf "$tmp/etc"
	cp -a "$root/etc" "$tmp/etc"
	printf 'root:x:0:0:root:/root:/bin/sh\ntess:x:4321:4321::/home/tess:/bin/sh\n' >"$tmp/etc/passwd"
	printf 'root:x:0:\ntess:x:4321:\nadmins:x:4322:root,tess\nvideo:x:4323:tess\nothers:x:4324:tessa\n' >"$tmp/etc/group"
	printf 'passwd: files systemd\ngroup: files systemd\ninitgroups: files systemd\n' >"$tmp/etc/nsswitch.conf"
}

check_release()
{
	local suite=$1 code
	root=$(tools/release-root "$suite" 2>"$log")
	code=$?
	if [ $code = 77 ]; then
		skip "$suite" "its packages cannot be had"
		return
	fi
	result $code "$suite: there is a root"
	[ $code = 0 ] || return
	make_etc
	holds "$suite: our build with shared libraries does not start" needs_libraries
	holds "$suite: --version says what the build lacks" version_says
	holds "$suite: doctor says it, and that recording works" doctor_says
	holds "$suite: bash is recorded, with names" records_bash
	holds "$suite: the page has the names" html_has
	holds "$suite: the profile is read" reports
	holds "$suite: C++ names are readable" records_cxx
	holds "$suite: COMMAND becomes the user who called sudo" becomes_user
	holds "$suite: \$DEBUGINFOD_URLS is told to be of no use" says_no_debuginfod
}

holds "make dist-static" make_tarball
[ $status = 0 ] || exit $status
holds "what the linker warns of is not in it" loads_nothing
holds "the tarball has these files and no others" whole
holds "the licences of what is linked come along" licensed
mkdir "$tmp/in"
chmod 1777 "$tmp/in"
holds "it unpacks" tar -xzf "$tarball" -C "$tmp/in"
unpacked=$tmp/in/$name
holds "the binary has no interpreter" is_static

if ! unshare --mount true 2>>"$log"; then
	skip "other releases" "no mount namespaces"
	exit $status
fi
cp "$BUILD/bpfprof" "$tmp/in/shared"
# It works by time: how many additions are 300 ms differs tenfold from one processor to another.
cat >"$tmp/cxx.cpp" <<'END'
#include <ctime>
namespace work {
template <typename T> struct spinner {
	__attribute__((noinline, noclone)) T spin(T n)
	{
		volatile T sum = 0;
		while ((T)clock() < n)
			for (T i = 0; i < 1000000; i++)
				sum = sum + i;
		return sum;
	}
};
}
int main(int argc, char **)
{
	work::spinner<unsigned long> spinner;
	return spinner.spin(argc * (CLOCKS_PER_SEC * 3ul / 10)) == 1;
}
END
holds "a C++ program is built" g++ -O2 -static -o "$tmp/in/cxx" "$tmp/cxx.cpp"
check_release bullseye
check_release trixie
exit $status
