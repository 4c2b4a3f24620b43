# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# The same without symbols, with the linker's relocations at start (lazy binding) kept.
packages='gcc'
prepare() { gcc -O2 -s -Wl,-z,lazy -o load_stripped "$src/load.c" -lm -lpthread; }
load() { exec ./load_stripped; }
twin() { gcc -O2 -Wl,-z,lazy -o twin "$src/load.c" -lm -lpthread; }
