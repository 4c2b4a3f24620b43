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

# --- Who runs beside whom, on a machine with two CPUs ---

# Each program stays until it is let go. When the driver waits for an end, and all that it has begun are there, who is
# there becomes a line of `steps`, and the first of them is let go.
mkdir bin running go
printf '#!/bin/sh\necho 2\n' >bin/nproc
chmod +x bin/nproc
cat >step <<'END'
wait()
{
	if [ "$1" = -n ]; then
		until [ "$(ls running | wc -l)" = "$(jobs -pr | wc -l)" ]; do sleep 0.01; done
		(cd running && set -- * && echo "$@" >>../steps && touch "../go/$1")
	fi
	builtin wait "$@"
}
END

# stays NAME [MARK [LIMIT]]
stays()
{
	script "$1" <<-END
		${2:-# no mark}
		# timeout: ${3:-60}
		touch running/$1
		until [ -e go/$1 ]; do sleep 0.01; done
		rm running/$1
		echo "ok - one"
	END
}

stays a_builds '# beside others, records nothing'
stays b_builds '# beside others, records nothing' 90
stays c_records '# beside others'
stays d_records '# beside others'
stays e_records '# beside others'
stays f_records '# beside others' 90
stays g_builds '# beside others, records nothing'
stays h_builds '# beside others, records nothing'
stays i_builds '# beside others, records nothing'
stays j_measures
stays k_measures '' 90
PATH=$tmp/bin:$PATH BASH_ENV=$tmp/step
export BASH_ENV
expect "programs of each mark pass" "11 passed, 0 failed, 0 skipped" 0
unset BASH_ENV
cat steps >"$log"
[ "$(awk 'NF > most { most = NF } END { print most }' steps)" = 3 ]
result $? "at most one more runs than there are CPUs"
[ "$(awk '{ found = gsub("_records", "") } found > most { most = found } END { print most }' steps)" = 2 ]
result $? "... and at most as many record as there are CPUs"
[ "$(sed -n '/measures/,$p' steps)" = "j_measures
k_measures" ]
result $? "what has no mark is alone, when all others have ended"
diff - steps >>"$log" <<'END'
b_builds c_records f_records
a_builds c_records f_records
c_records f_records g_builds
d_records f_records g_builds
e_records f_records g_builds
f_records g_builds h_builds
g_builds h_builds i_builds
h_builds i_builds
i_builds
j_measures
k_measures
END
result $? "whoever may takes the place of who ends, the longest limit first"

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
