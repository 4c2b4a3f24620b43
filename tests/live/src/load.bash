# SPDX-License-Identifier: Apache-2.0
# A load for bash: functions, strings, arrays, arithmetic, forks, pipes. Runs until killed.
fib() {
	(($1 < 2)) && { result=$1; return; }
	fib $(($1 - 1))
	local first=$result
	fib $(($1 - 2))
	result=$((first + result))
}

while :; do
	fib 11
	text=
	for i in {1..300}; do
		text+="word$i,"
	done
	IFS=, read -r -a words <<<"$text"
	for word in "${words[@]}"; do
		[[ $word =~ ^word([0-9]+)$ ]] && sum=$((sum + BASH_REMATCH[1]))
		word=${word//o/0}
	done
	lines=$(printf '%s\n' "${words[@]}" | sort | uniq | wc -l)
	(fib 8)
done
