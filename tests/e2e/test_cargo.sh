#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `cargo bpfprof` on a workspace without dependencies: what is profiled and as whom, what its files are called, how it
# ends; and bpfprof alone as cargo's runner.
# timeout: 240
# beside others
set -u
. tests/e2e/live.sh

if ! have cargo; then
	skip "cargo bpfprof" "there is no cargo"
	exit $status
fi
# As make install leaves them, in a folder with a space.
installed="$TMPDIR/my programs"
toy="$TMPDIR/toy"
mkdir -p "$installed" "$toy"/{src,tests,benches} "$toy/other/src"
cp tools/cargo-bpfprof "$bpfprof" "$installed"
chmod 755 "$installed" "$toy"
PATH=$installed:$PATH
export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$toy/target CARGO_TERM_COLOR=never
unset BPFPROF_ARGS CARGO_BUILD_TARGET

# --- A workspace: a program, tests, a benchmark without libtest, a build script that works too ---
cat >"$toy/Cargo.toml" <<'END'
[workspace]
members = ["other"]
[package]
name = "toy"
version = "0.1.0"
edition = "2021"
build = "build.rs"
[features]
loud = []
[[bench]]
name = "speed"
harness = false
[profile.release]
strip = "debuginfo"
END
cat >"$toy/build.rs" <<'END'
fn main() { let t = std::time::Instant::now(); while t.elapsed().as_millis() < 300 {} }
END
cat >"$toy/src/lib.rs" <<'END'
// CPU time, whatever else the machine does: as much in every run.
#[inline(never)]
pub fn work(millions: u64) -> u64 {
    let mut n = 0u64;
    for _ in 0..millions * 1_000_000 { n = std::hint::black_box(n + 1); }
    n
}
#[test]
fn unit() { work(400); println!("shown with nocapture"); }
END
cat >"$toy/src/main.rs" <<'END'
fn main() {
    toy::work(400);
    for arg in std::env::args().skip(1) { println!("arg <{arg}>"); }
    for name in ["KEPT", "LD_LIBRARY_PATH", "CARGO_PKG_NAME", "SUDO_UID", "ONLY_SUDO"] {
        println!("{name}={}", std::env::var(name).unwrap_or("none".into()));
    }
    let me = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", me.lines().find(|line| line.starts_with("Uid:")).unwrap());
    if cfg!(feature = "loud") { println!("loud"); }
    std::process::exit(std::env::var("STATUS").map_or(0, |code| code.parse().unwrap()));
}
END
echo '#[test] fn whole() { toy::work(400); assert!(std::env::var("FAIL").is_err()); }' >"$toy/tests/it.rs"
echo 'fn main() { println!("bench {:?}", std::env::args().skip(1).collect::<Vec<_>>()); toy::work(400); }' \
	>"$toy/benches/speed.rs"
printf '[package]\nname = "other"\nversion = "0.1.0"\nedition = "2021"\n' >"$toy/other/Cargo.toml"
echo 'pub fn nothing() {}' >"$toy/other/src/lib.rs"
echo 'fn main() { println!("the other one"); }' >"$toy/other/src/main.rs"
mkdir "$toy/other/tests"
echo '#[test] fn whole() { assert!(std::env::current_dir().unwrap().ends_with("other")); }' >"$toy/other/tests/it.rs"

# cargo_bpfprof STATUS ARG...: in the toy's folder; what it says in out/said.
cargo_bpfprof()
{
	local want=$1 code
	shift
	(cd "$toy" && cargo bpfprof "$@") >"$TMPDIR/out/said" 2>"$TMPDIR/out/said.err" </dev/null
	code=$?
	echo "cargo bpfprof $* -> $code"
	cat "$TMPDIR/out/said" "$TMPDIR/out/said.err"
	(cd "$toy" && ls -- *.html *.folded *.pb.gz)
	[ $code = "$want" ]
}

said()
{
	grep -qF -- "$1" "$TMPDIR/out/said" "$TMPDIR/out/said.err"
}

# files NAME...: the toy's folder has these outputs and no others; they are removed.
files()
{
	local got
	got=$(cd "$toy" && ls -d -- *.html *.folded *.svg 2>/dev/null | sort | tr '\n' ' ')
	mv "$toy"/*.folded "$TMPDIR/out" 2>/dev/null
	rm -f "$toy"/*.html "$toy"/*.svg
	echo "files: $got, wanted: $*"
	[ "$got" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ]
}

# --- run ---
check "run: it is built, runs and ends with 0" cargo_bpfprof 0 --bin toy -o run.folded -F 999
check "... into the file named" files run.folded
check "... the program is profiled" has '^toy;.*toy::work' run 20
check "... and neither the build script nor rustc" only run 'toy|cargo-bpfprof|bash'
check "... with release" said 'release'
check "no debug info: it is said, with what to set" said '[profile.release] in Cargo.toml, or CARGO_PROFILE_RELEASE_DEBUG=true'
check "... once debug info is there it is not said" \
	env CARGO_PROFILE_RELEASE_DEBUG=true CARGO_PROFILE_RELEASE_STRIP=none bash -c 'cd "$1" && cargo bpfprof --bin toy -o debug.folded 2>&1 |
		tee /dev/stderr | grep -q "no debug info"; [ "${PIPESTATUS[*]}" = "0 0 1" ]' sh "$toy"
files debug.folded >>"$log"
check "arguments reach it as they are" cargo_bpfprof 0 run -p toy --release --features loud -o a.folded -- 'two words' '' '--open' "it's" 'a*b'
for line in '<two words>' '<>' '<--open>' "<it's>" '<a*b>' 'loud' 'CARGO_PKG_NAME=toy'; do
	check "... $line" said "$line"
done
check "... and its file is there" files a.folded
STATUS=7 check "its exit status is cargo's" cargo_bpfprof 7 --bin toy
default=$(cd "$toy" && ls bpfprof-*.html)
check "the default name has time and program" bash -c '[[ $1 =~ ^bpfprof-2[0-9]{7}T[0-9]{6}Z-toy.html$ ]]' sh "$default"
check "... and is the only file" files "$default"
touch "$toy/there.folded"
check "an existing file is not overwritten" cargo_bpfprof 125 --bin toy -o there.folded
check "... it is with --force" cargo_bpfprof 0 --bin toy -o there.folded --force
check "... once" files there.folded
check "a name with a space, options in a string and in BPFPROF_ARGS" \
	env BPFPROF_ARGS='--by process' bash -c 'cd "$1" && cargo bpfprof --bin toy --bpfprof "-F 999 -o two.folded" -o "my file.folded"' sh "$toy"
check "... both files" files 'my file.folded' two.folded
check "... by process, at that rate" has '^toy;.*work' two 20
check "the other member" cargo_bpfprof 0 -p other --dev -o other.folded
check "... runs, with the dev profile" said 'the other one'
check "... which has debug info" bash -c '! grep "no debug info" "$1"' sh "$TMPDIR/out/said.err"
files other.folded >>"$log"
check "a value that is missing" cargo_bpfprof 125 --bin toy -o
check "... is named" said "option '-o' needs a value"
check "what does not compile ends as cargo ends" cargo_bpfprof 101 --bin nosuch

# --- test ---
check "test: all of the workspace" cargo_bpfprof 0 test --workspace -F 999 -o t.folded
hash=$(sed -n 's|.*src/main.rs (.*/deps/\(toy-[0-9a-f]*\))|\1|p' "$TMPDIR/out/said.err")
other=$(sed -n 's|.*src/main.rs (.*/deps/\(other-[0-9a-f]*\))|\1|p' "$TMPDIR/out/said.err")
check "... a file for each program, with its name" files t-toy.folded "t-$hash.folded" t-toy-it.folded t-other.folded \
	"t-$other.folded" t-other-it.folded
check "... the unit tests of the library" has 'toy::work' t-toy 20
check "... the integration tests" has 'toy::work' t-toy-it 20
check "test: the harness' arguments" cargo_bpfprof 0 test --lib -o t.folded -- --nocapture unit
check "... reach it" said 'shown with nocapture'
files t-toy.folded >>"$log"
FAIL=1 check "a failing test" cargo_bpfprof 101 --test it -p toy -o f.folded
check "... is profiled nevertheless" files f-toy-it.folded

# --- bench ---
check "bench: harness = false" cargo_bpfprof 0 bench --bench speed -F 999 -o b.folded -- --some thing
check "... its arguments" said 'bench ["--some", "thing", "--bench"]'
check "... its file" files b-toy-speed.folded
check "... is of it" has 'toy::work' b-toy-speed 20
check "... the profile is bench" said 'CARGO_PROFILE_BENCH_DEBUG=true'
check "--bench alone means it" cargo_bpfprof 0 --bench speed -o b.folded
check "... its file" files b-toy-speed.folded

# --- Through sudo: a fake one, with what it does to the environment; cargo-bpfprof takes itself for user 1000 ---
if [ "$(id -u)" = 0 ]; then
	mkdir "$TMPDIR/fake"
	cat >"$TMPDIR/fake/sudo" <<-END
		#!/bin/sh
		[ "\$1" = -- ] && shift
		echo "sudo \$1" >>"$TMPDIR/out/sudo"
		for arg; do
			[ "\$before" = --exec ] && chown -R nobody "\$(dirname "\$arg")" # as if it were that user's from the start
			before=\$arg
		done
		exec env -i PATH=/usr/bin:/bin ONLY_SUDO=1 SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) SUDO_USER=nobody "\$@"
	END
	cat >"$TMPDIR/fake/id" <<-'END'
		#!/bin/sh
		echo 1000
	END
	chmod 755 "$TMPDIR"/fake/*
	(
		export PATH=$TMPDIR/fake:$PATH KEPT=$'a;\n"b" $c' LD_LIBRARY_PATH=/nonexistent/lib
		cargo_bpfprof 0 --root --bin toy -F 999 -o sudo.folded -- 'two words'
	) >>"$log" 2>&1
	verdict $? "through sudo"
	check "... sudo runs bpfprof, nothing else" is "\"$(cat "$TMPDIR/out/sudo")\" == \"sudo $installed/bpfprof\""
	for line in '<two words>' 'KEPT=a;' '"b" $c' 'CARGO_PKG_NAME=toy' 'SUDO_UID=none' 'ONLY_SUDO=none' "Uid:	$(id -u nobody)"; do
		check "... the program has $line" said "$line"
	done
	check "... the loader's variable, which sudo drops" bash -c 'grep -q "LD_LIBRARY_PATH=.*/nonexistent/lib" "$1"' sh "$TMPDIR/out/said"
	check "... its file" files sudo.folded
	check "... is of it" has '^toy;.*toy::work' sudo 10
fi

# --- --open ---
cat >"$TMPDIR/bin/xdg-open" <<END
#!/bin/sh
echo "\$@" >>"$TMPDIR/out/opened"
END
chmod 755 "$TMPDIR/bin/xdg-open"
check "--open" cargo_bpfprof 0 test --lib -p toy -p other --open -o o.svg
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -s "$TMPDIR/out/opened" ] || sleep 0.2
done
check "... shows the first file" is "$(grep -cxF "$toy/o-other.svg" "$TMPDIR/out/opened") == 1 && $(wc -l <"$TMPDIR/out/opened") == 1"
files o-toy.svg o-other.svg >>"$log"

# --- bpfprof as the runner, without the shim ---
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
cp "$bpfprof" "$TMPDIR/bin/bpfprof"
check "bpfprof as cargo's runner: test" env "CARGO_TARGET_${host}_RUNNER=$TMPDIR/bin/bpfprof -q -o $TMPDIR/out/%t.svg --" \
	bash -c 'cd "$1" && cargo test --release --test it -p toy' sh "$toy"
FAIL=1 check "... a failing one" env "CARGO_TARGET_${host}_RUNNER=$TMPDIR/bin/bpfprof -q -F 999 -o $TMPDIR/out/failing.folded --" \
	bash -c 'cd "$1" && cargo test --release --test it -p toy; [ $? = 101 ]' sh "$toy"
check "... is recorded" has '^whole;.*toy::work' failing 5
exit $status
