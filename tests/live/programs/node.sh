# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# Node: compiled JavaScript, V8's builtins, native code, workers.
packages='nodejs'
target=99
prepare() { :; }
load() { exec node "$src/load.js"; }
