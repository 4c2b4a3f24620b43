#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every frame has its right name, with lines and inlined calls, although its file or its process is gone, or another
# file has taken its place, by the time that names are looked up.
# timeout: 300
set -u
. tests/e2e/live.sh
bin=$TMPDIR/bin

# pair NAME ARG...: record into out/NAME.folded and out/NAME.pb.gz.
pair()
{
	local name=$1
	shift
	recorded "$name" "$name" -F 499 -o "$TMPDIR/out/$name.pb.gz" --force "$@"
}

# right NAME FUNCTION [COMM]: names and lines of the recording that pair() made.
right()
{
	check "$1: $2 has its name, and what is inlined" busy_frames "$2" "$1" "${3:-$2}"
	check "$1: and its lines" busy_lines "$1" "$2"
}

# script NAME: from the standard input into $TMPDIR/bin
script()
{
	{ echo '#!/bin/sh'; cat; } >"$bin/$1"
	chmod +x "$bin/$1"
}

if ! have go; then
	skip "vanished files" "there is no go, whose pprof reads the lines"
	exit 0
fi

# --- Processes of 5 ms, each with a function of its own ---

PROCESSES=200
mkdir "$bin/brief"
seq $PROCESSES | xargs -P "$(nproc)" -I{} gcc -O2 -g -fno-omit-frame-pointer -D_GNU_SOURCE -DBRIEF=brief_{} \
	-o "$bin/brief/brief_{}" "$workloads/brief.c" >>"$log" 2>&1
verdict $? "$PROCESSES brief programs compile"
script storm <<'END2'
for program in "$1"/*; do "$program"; done
sleep 0.5
rm -r "$1"
END2
pair storm -- storm "$bin/brief"
# Process name and function belong together, and no frame of the program is without a name.
brief_names()
{
	awk -v programs_wanted="$PROCESSES" '
	/^brief_/ {
		comm = $0
		sub(/;.*/, "", comm)
		all += $NF
		if (index($0, "[" comm "+0x"))
			unnamed += $NF
		if (match($0, /;brief_[0-9]+/)) {
			named += $NF
			if (substr($0, RSTART + 1, RLENGTH - 1) != comm)
				wrong += $NF
			if (!seen[comm]++)
				programs++
		}
	}
	END {
		printf "%d samples: %d in a named function of %d programs, %d of another program, %d unnamed\n",
			all, named, programs, wrong, unnamed
		exit !(programs >= 0.95 * programs_wanted && named > 0.5 * all && !wrong && !unnamed)
	}' "$TMPDIR/out/storm.folded"
}
check "storm: each process of 5 ms has the name of its own function, and no other" brief_names
# The locations of these functions, as many as there are programs and more, each with a line.
brief_lines()
{
	raw storm || return 1
	grep -E '^ *[0-9]+: 0x[0-9a-f]+ M=[0-9]+ brief_[0-9]+ ' "$TMPDIR/out/storm.raw" >"$TMPDIR/out/brief"
	is "$(wc -l <"$TMPDIR/out/brief") >= 0.95 * $PROCESSES" && ! grep -v 'brief\.c:[1-9]' "$TMPDIR/out/brief"
}
check "storm: and lines, although every file is gone" brief_lines

# --- Files that are gone ---

busy deleted_after
script delete_after <<'END2'
"$1" "$2" & sleep 0.2; rm "$1"; wait
END2
pair deleted_after -- delete_after "$bin/deleted_after" 0.6
right deleted_after deleted_after

busy deleted_before
load "$bin/deleted_before" 60
sleep 0.2
rm "$bin/deleted_before"
pair deleted_before -p "$load" -d 1
right deleted_before deleted_before
stop_loads

# The program goes, its debug file stays; and both go.
busy split_off
objcopy --only-keep-debug "$bin/split_off" "$bin/split_off.debug" && strip "$bin/split_off" &&
	objcopy --add-gnu-debuglink="$bin/split_off.debug" "$bin/split_off"
verdict $? "split_off: symbols and lines in a debug file"
cp "$bin/split_off" "$bin/keep"
pair split_off -- delete_after "$bin/split_off" 0.6
right split_off split_off

busy in_memory
compile from_memory from_memory.c
pair in_memory -- from_memory "$bin/in_memory" 0.6
right in_memory in_memory '[^;]*'

# --- The dynamic linker is gone ---

interpreter=$(readelf -l "$bin/in_memory" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
busy deleted_linker -Wl,--dynamic-linker=/proc/self/fd/9
script delete_linker <<'END2'
cp "$1" "$2.linker" && exec 9<"$2.linker" && rm "$2.linker" && exec "$2" "$3"
END2
pair deleted_linker -- delete_linker "$interpreter" "$bin/deleted_linker" 0.6
right deleted_linker deleted_linker

busy run_by_linker
script run_by_linker_gone <<'END2'
cp "$1" "$2.linker" && { "$2.linker" "$2" "$3" & sleep 0.2; rm "$2.linker" "$2"; wait; }
END2
pair run_by_linker -- run_by_linker_gone "$interpreter" "$bin/run_by_linker" 0.6
right run_by_linker run_by_linker '[^;]*'

# --- Another version in the same place ---

busy version_old
busy version_new
cp "$bin/version_old" "$bin/old" && cp "$bin/version_new" "$bin/new"
script upgrade <<'END2'
"$1/old" "$2" & sleep 0.2; mv "$1/new" "$1/old"; "$1/old" "$2"; wait
END2
pair upgrade -- upgrade "$bin" 0.6
check "upgrade: the old one has its name" has ';main;version_old;version_old_inlined_\[i\][; ]' upgrade 200
check "upgrade: the new one has its name" has ';main;version_new;version_new_inlined_\[i\][; ]' upgrade 200
check "upgrade: the whole of both" is "$(samples ';main;version_(old|new);' upgrade) >= 0.9 * $(samples '^old;' upgrade)"
check "upgrade: and lines" busy_lines upgrade version_old version_new
check "upgrade: the old one's build-id" mapped upgrade "$bin/version_old" "$bin/old "
check "upgrade: the new one's build-id" mapped upgrade "$bin/version_new" "$bin/old "

# Written into the same file, once the old one has ended: what is there now must not name what was there then.
cp "$bin/version_old" "$bin/rewritten"
script rewrite <<'END2'
"$1/rewritten" "$2"; cat "$1/version_new" >"$1/rewritten"; "$1/rewritten" "$2"
END2
pair rewrite -- rewrite "$bin" 0.6
check "rewritten in place: the new one has its name" has ';main;version_new;version_new_inlined_\[i\][; ]' rewrite 200
check "rewritten in place: the old one has no name of the new one's" \
	is "$(samples 'version_new' rewrite) < 0.6 * $(samples '^rewritten;' rewrite)"
check "rewritten in place: and the reason is told" is "$(field rewrite frames.unnamed.file_changed) >= 1"
raw rewrite
check "rewritten in place: the old one is told by its build-id" mapped rewrite "$bin/version_old" "$bin/rewritten "

# --- Libraries that come and go ---

compile opens opens.c -ldl
busy first_library -DLIBRARY -fPIC -shared
busy second_library -DLIBRARY -fPIC -shared
pair libraries -- sh -c "opens 0.4 \$0/first_library first_library \$0/second_library second_library >$TMPDIR/out/where" \
	"$bin"
check "libraries: the second took the first's addresses" \
	is "$(awk '{ print $2 }' "$TMPDIR/out/where" | sort | uniq -d | wc -l) == 1"
check "libraries: the first has its name" has ';main;call;first_library;first_library_inlined_\[i\][; ]' libraries 150
check "libraries: the second has its name" has ';main;call;second_library;second_library_inlined_\[i\][; ]' libraries 150
check "libraries: the whole of both, and of each its half" near \
	"$(samples ';first_library;' libraries)" "$(samples ';main;call;(first|second)_library;' libraries)" 0.5
check "libraries: and lines" busy_lines libraries first_library second_library
exit $status
