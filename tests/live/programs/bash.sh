# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# bash: loops, functions, strings, forks.
packages='bash'
prepare() { :; }
load() { exec bash "$src/load.bash"; }
