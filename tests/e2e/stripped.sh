# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after live.sh, by the tests that name what a fleet's hosts could not name: two programs that are stripped,
# their debug files beside them, and what an agent records of both. $out, $store and $pins are the test's.

debug=$TMPDIR/debug

# strip_programs CPP C: chain.cpp and busy.c under these names, which no other test has, as tests record each other's
# programs. In $TMPDIR/bin, stripped; as they were in $TMPDIR/whole.NAME; their debug files in $debug, and as a debuginfod
# server has them in $TMPDIR/server.
strip_programs()
{
	local program id folder
	programs=("$@")
	compile "$1" chain.cpp "-Wl,--build-id=0x$(new_id)"
	compile "$2" busy.c -DBUSY=crunch "-Wl,--build-id=0x$(new_id)"
	for program in "$@"; do
		id=$(LC_ALL=C readelf -n "$TMPDIR/bin/$program" | sed -n 's/.*Build ID: //p')
		folder=$debug/.build-id/${id:0:2}
		mkdir -p "$folder" "$TMPDIR/server/files/$id"
		objcopy --only-keep-debug "$TMPDIR/bin/$program" "$folder/${id:2}.debug"
		cp "$folder/${id:2}.debug" "$TMPDIR/server/files/$id/debuginfo"
		cp "$TMPDIR/bin/$program" "$TMPDIR/whole.$program"
		ln -s "${id:2}.debug" "$folder/$program.debug"
		strip --strip-all "$TMPDIR/bin/$program"
	done
}

# A build-id that no other run of a test has.
new_id()
{
	od -An -N20 -tx1 /dev/urandom | tr -d ' \n'
}

# make_whole: they have their symbols again.
make_whole()
{
	local program
	for program in "${programs[@]}"; do
		cp "$TMPDIR/whole.$program" "$TMPDIR/bin/$program"
	done
}

# record: both programs, by an agent that has no debug files.
record()
{
	local program
	for program in "${programs[@]}"; do
		load "$program" 60
	done
	timeout -k 5 60 "$bpfprof" agent --store "$store" --pin-dir "$pins" --no-off-cpu --interval 1s -F 199 --listen none \
		2>"$TMPDIR/agent.err" &
	local agent=$!
	for _ in $(seq 400); do
		grep -q '^bpfprof: agent: recording' "$TMPDIR/agent.err" && break
		kill -0 "$agent" 2>/dev/null || break
		sleep 0.05
	done
	sleep 3
	kill -TERM "$agent"
	wait "$agent"
	local code=$?
	stop_loads
	"$bpfprof" agent --detach --pin-dir "$pins"
	cat "$TMPDIR/agent.err"
	return $code
}

# flame STORE NAME [FORMAT]: both programs, into out/NAME.FORMAT.
flame()
{
	"$bpfprof" query flame --store "$1" --since "$since" --until "$until" --force \
		--select "comm=${programs[0]},comm=${programs[1]}" -o "$out/$2.${3:-folded}" >>"$log" 2>&1
}

# as_at_home STORE NAME: names, lines and inlined calls are those of a profile that was completed where debug files are.
as_at_home()
{
	flame "$1" "$2" && diff "$out/truth.folded" "$out/$2.folded"
}
