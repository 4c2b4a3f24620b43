#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test driver counts what happened: a program that dies, hangs or says nothing has failed.
set -u
. tests/e2e/cases.sh
cd "$tmp" || exit 1
mkdir -p tests/unit tests/e2e build/tests
cp "$top/tests/run" tests/run

# Make the e2e script test_$1.sh of the lines on stdin.
script()
{
	{ echo '#!/bin/sh'; cat; } >"tests/e2e/test_$1.sh"
	chmod +x "tests/e2e/test_$1.sh"
}

# expect NAME SUMMARY EXIT [ARG...]: what the driver's last line and status are, over all programs
expect()
{
	name=$1 summary=$2 code=$3
	shift 3
	got=0
	env -u CI ${ci:+CI=true} BUILD=build tests/run "$@" >"$log" 2>&1 || got=$?
	[ "$(tail -n 1 "$log")" = "$summary" ] && [ "$got" = "$code" ]
	result $? "$name"
	rm -f tests/e2e/*
}

ci=
script pass <<'END'
echo "ok - one"; echo "ok 2 - two"; echo "skip - three: no root"
END
expect "passes and skips are counted" "2 passed, 0 failed, 1 skipped" 0

script naps <<'END'
sleep 0.6; echo "ok - one"
END
script works <<'END'
(i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done); sleep 0.8; echo "ok - one"
END
expect "programs that take some time pass" "2 passed, 0 failed, 0 skipped" 0
awk '/^slowest programs/ { at = NR } at { line[NR - at] = $0 }
	END {
		split(line[1], first, " "); split(line[2], second, " ")
		exit !(first[3] == "e2e/test_works.sh" && first[1] >= 0.8 && first[2] > 0 && first[2] > second[2] &&
			second[3] == "e2e/test_naps.sh" && second[1] >= 0.6 && second[1] < first[1])
	}' "$log"
result $? "the slowest programs are listed, with their CPU time"

script mixed <<'END'
echo "ok - one"; echo "not ok - two"; exit 1
END
expect "a failed case fails the run" "1 passed, 1 failed, 0 skipped" 1

script dies <<'END'
echo "ok - one"; kill -SEGV $$
END
expect "a program that dies has failed" "1 passed, 1 failed, 0 skipped" 1

script plan <<'END'
echo "1..3"; echo "ok 1 - one"; exit 0
END
expect "a program that reports fewer cases than planned has failed" "1 passed, 1 failed, 0 skipped" 1

script silent </dev/null
expect "a program that reports nothing has failed" "0 passed, 1 failed, 0 skipped" 1

script hangs <<'END'
# timeout: 1
echo "ok - one"; sleep 30
END
expect "a program that hangs has failed" "1 passed, 1 failed, 0 skipped" 1

touch tests/unit/test_gone.c
expect "a unit test that was not built has failed" "0 passed, 1 failed, 0 skipped" 1 --unit
rm tests/unit/test_gone.c

script where <<'END'
[ -d "$TMPDIR" ] && [ -d "$BUILD/tests" ] && [ -e tests/run ] && echo "ok - in its place"
[ "$(cat)" = "" ] && echo "ok - empty standard input"
END
expect "BUILD, TMPDIR, folder and standard input are as promised" "2 passed, 0 failed, 0 skipped" 0

# timed NAME [MARK]: a script that writes when it begins and ends.
timed()
{
	script "$1" <<-END
		${2:-# no mark}
		echo "+ $1" >>order; sleep 0.7; echo "- $1" >>order; echo "ok - one"
	END
}

# together NAME NAME: was there a time when both ran?
together()
{
	awk -v one="$1" -v two="$2" '
		$1 == "+" { running[$2] = 1 }
		$1 == "-" { delete running[$2] }
		running[one] && running[two] { found = 1 }
		END { exit !found }' order
}

timed builds '# beside others, records nothing'
timed builds_too '# beside others, records nothing'
timed records '# beside others'
timed records_too '# beside others'
timed measures
timed measures_too
expect "programs of each mark pass" "6 passed, 0 failed, 0 skipped" 0
cat order >"$log"
together builds builds_too && together records records_too
result $? "those that may be beside others are"
! together builds records && ! together builds_too records_too
result $? "... those that record beside such alone"
alone=0
for name in builds builds_too records records_too measures; do
	! together measures_too $name || alone=1
done
result $alone "what has no mark is alone"

ci=true
script skips <<'END'
echo "ok - one"; echo "skip - no kernel: none here"
END
expect "in CI a skip is a failure" "1 passed, 1 failed, 0 skipped" 1

echo 'e2e/test_skips.sh | no kernel | images are fetched by hand' >tests/allowed-skips
script skips <<'END'
echo "ok - one"; echo "skip - no kernel: none here"
END
expect "in CI a listed skip is allowed" "1 passed, 0 failed, 1 skipped" 0

echo 'e2e/test_skips.sh | no kernel | ' >tests/allowed-skips
script skips <<'END'
echo "ok - one"; echo "skip - no kernel: none here"
END
expect "in CI a skip listed without a reason is a failure" "1 passed, 1 failed, 0 skipped" 1
exit $status
