# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# C++ with -O2: exceptions, virtual calls, the standard library.
packages='g++'
prepare() { g++ -O2 -o load_cxx "$src/load.cc" -lpthread; }
load() { exec ./load_cxx; }
