# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# gcc compiling C and C++, assembling and linking, over and over.
packages='gcc g++'
prepare() { :; }
load() {
	while :; do
		g++ -O2 -o out_cxx "$src/load.cc" -lpthread
		gcc -O2 -o out_c "$src/load.c" -lm -lpthread
	done
}
