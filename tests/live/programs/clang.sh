# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# clang compiling C and C++, over and over.
packages='clang g++'
prepare() { :; }
load() {
	while :; do
		clang++ -O2 -o out_cxx "$src/load.cc" -lpthread
		clang -O2 -o out_c "$src/load.c" -lm -lpthread
	done
}
