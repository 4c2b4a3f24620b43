#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package: it is built, lintian has nothing to say, its files are where Debian looks for them, the test that
# comes with it passes on what was installed, and nothing stays behind when it is removed.
# timeout: 900
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
root=$tmp/root
mkdir "$out" "$root"
version=$("$BUILD/bpfprof" -V | sed -n '1s/^bpfprof //p')

if ! have dpkg-buildpackage || ! have dh || ! have lintian; then
	skip "the Debian package" "there is no dpkg-buildpackage, debhelper or lintian"
	exit 0
fi

# The make that runs us has variables of its own. The unit tests have been run, or will be. nproc says 1: the other CPUs are others'.
make_deb()
{
	env -i PATH="$PATH" HOME="${HOME:-/}" TMPDIR="$TMPDIR" OMP_NUM_THREADS=1 DEB_BUILD_OPTIONS=nocheck make O="$tmp/build" VERSION="$version" deb
}

# Nothing but what the overrides in tools/debian explain; one that nothing needs any more is told, too.
lintian_is_quiet()
{
	lintian --no-cfg --allow-root --pedantic --display-info --show-overrides --fail-on none "$tmp"/build/deb/*.changes \
		>"$out/lintian" 2>&1
	code=$?
	! grep -v -e '^running with root privileges' -e '^[NO]:' "$out/lintian" && [ $code = 0 ] &&
		grep -q '^O: bpfprof: initial-upload' "$out/lintian"
}

field()
{
	dpkg-deb -f "$deb" "$1"
}

# fields: it says what it is; what is linked was found out by dpkg-shlibdeps.
says_what_it_is()
{
	local library
	[ "$(field Package)" = bpfprof ] && [ "$(field Architecture)" = "$(dpkg --print-architecture)" ] || return
	dpkg --compare-versions "$(field Version)" gt 0~git20200101 || return
	for library in libc6 libbpf1 libelf1 libcapstone4 libncursesw6 zlib1g; do
		field Depends | tr ',' '\n' | grep -q "^ *$library\\>" || return
	done
}

has_files()
{
	dpkg-deb -c "$deb" | awk '$1 !~ /^d/ { print $1, $2, substr($6, 2) }' | sort -k 3 >"$out/files"
	diff - "$out/files" <<-'END'
		-rw-r--r-- root/root /lib/systemd/system/bpfprof-agent.service
		-rw-r--r-- root/root /lib/systemd/system/bpfprof-relay.service
		-rwxr-xr-x root/root /usr/bin/bpfprof
		-rwxr-xr-x root/root /usr/bin/cargo-bpfprof
		-rw-r--r-- root/root /usr/share/bash-completion/completions/bpfprof
		-rw-r--r-- root/root /usr/share/bpfprof/agent.conf
		-rw-r--r-- root/root /usr/share/bpfprof/relay.conf
		-rw-r--r-- root/root /usr/share/doc/bpfprof/README.md.gz
		-rw-r--r-- root/root /usr/share/doc/bpfprof/changelog.Debian.gz
		-rw-r--r-- root/root /usr/share/doc/bpfprof/copyright
		-rw-r--r-- root/root /usr/share/fish/vendor_completions.d/bpfprof.fish
		-rw-r--r-- root/root /usr/share/lintian/overrides/bpfprof
		-rw-r--r-- root/root /usr/share/man/man1/bpfprof.1.gz
		-rw-r--r-- root/root /usr/share/man/man1/cargo-bpfprof.1.gz
		-rw-r--r-- root/root /usr/share/zsh/vendor-completions/_bpfprof
	END
}

# What the tree says of licences is what debian/copyright says.
licences_agree()
{
	grep -A2 '^Files: bpf/\* vmlinux/\*' "$root/usr/share/doc/bpfprof/copyright" | grep -q '^License: GPL-2 or BSD-2-clause$' &&
		grep -A2 '^Files: include/\*' "$root/usr/share/doc/bpfprof/copyright" |
		grep -q '^License: GPL-2 or BSD-2-clause or Apache-2.0$' &&
		! grep -L 'SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause' bpf/* vmlinux/* | grep . &&
		! grep -L 'SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) OR Apache-2.0' include/* | grep .
}

is_stripped()
{
	local id
	id=$(readelf -nW "$root/usr/bin/bpfprof" | sed -n 's/.*Build ID: //p')
	! readelf -SW "$root/usr/bin/bpfprof" | grep -E '\.(symtab|debug_info) ' &&
		dpkg-deb -c "$dbgsym" | grep "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
}

is_hardened()
{
	readelf -hW "$root/usr/bin/bpfprof" | grep -q 'Type: .*DYN' && readelf -dW "$root/usr/bin/bpfprof" | grep -q BIND_NOW &&
		nm -D "$root/usr/bin/bpfprof" | grep -q '__stack_chk_fail' && nm -D "$root/usr/bin/bpfprof" | grep -q '__snprintf_chk'
}

installed()
{
	dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless --log="$tmp/dpkg.log" "$@"
}

man_page_is_clean()
{
	man --warnings -l "$root/usr/share/man/man1/$1.1.gz" >"$out/man" 2>"$out/warnings"
	cat "$out/warnings"
	[ ! -s "$out/warnings" ] && grep -q "$2" "$out/man"
}

same_version()
{
	[ "$("$root/usr/bin/bpfprof" -V)" = "bpfprof $version" ]
}

own_test_passes()
{
	mkdir "$tmp/autopkgtest" || return
	PATH=$root/usr/bin:$PATH AUTOPKGTEST_TMP=$tmp/autopkgtest tools/debian/tests/record
}

# An empty program in its place fails it.
own_test_can_fail()
{
	mkdir "$tmp/fake" "$tmp/fake_out" || return
	printf '#!/bin/sh\nexit 0\n' >"$tmp/fake/bpfprof"
	chmod +x "$tmp/fake/bpfprof"
	! PATH=$tmp/fake:$PATH AUTOPKGTEST_TMP=$tmp/fake_out tools/debian/tests/record
}

source_is_whole()
{
	mkdir "$tmp/source" && tar -xzf "$tmp"/build/deb/bpfprof_*.orig.tar.gz -C "$tmp/source" --strip-components=1 || return
	[ "$(cat "$tmp/source/.version")" = "$version" ] && [ ! -e "$tmp/source/build" ] && [ ! -e "$tmp/source/.git" ] || return
	rm "$tmp/source/.version"
	git -c safe.directory="$top" ls-files | sort >"$out/tracked"
	(cd "$tmp/source" && find . -type f -printf '%P\n' | sort) | diff "$out/tracked" -
}

nothing_stays()
{
	find "$root" -path "$root/var/lib/dpkg" -prune -o ! -type d -print >"$out/left"
	cat "$out/left"
	[ ! -s "$out/left" ] && [ ! -e "$root/usr/bin" ] && [ ! -e "$root/var/cache/bpfprof" ]
}

holds "make deb" make_deb
[ $status = 0 ] || exit $status
deb=$(ls "$tmp"/build/deb/bpfprof_*.deb)
dbgsym=$(ls "$tmp"/build/deb/bpfprof-dbgsym_*.deb)
holds "lintian --pedantic says nothing" lintian_is_quiet
holds "the source package is what is in git" source_is_whole
holds "the package says what it is and needs" says_what_it_is
holds "it has these files and no others" has_files
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
: >"$root/var/lib/dpkg/status"
: >"$root/var/lib/dpkg/available"
holds "it is installed" installed -i "$deb"
holds "its licences are those of the tree" licences_agree
holds "it is stripped, and -dbgsym has the rest" is_stripped
holds "it is hardened" is_hardened
holds "bpfprof(1)" man_page_is_clean bpfprof 'all-cpus'
holds "cargo-bpfprof(1)" man_page_is_clean cargo-bpfprof 'SYNOPSIS'
holds "the program has the tree's version" same_version
holds "the test that comes with it passes" own_test_passes
holds "... and can fail" own_test_can_fail
mkdir -p "$root/var/cache/bpfprof/names"
: >"$root/var/cache/bpfprof/names/kept"
holds "it is removed" installed -r bpfprof
holds "... and what it kept with a purge" installed -P bpfprof
holds "nothing stays behind" nothing_stays
exit $status
