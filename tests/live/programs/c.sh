# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# C with -O2: system calls, the vdso, libc's assembly, callbacks through libc, signals, threads.
packages='gcc'
prepare() { gcc -O2 -o load "$src/load.c" -lm -lpthread; }
load() { exec ./load; }
