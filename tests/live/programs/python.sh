# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# Debian's CPython: the interpreter's loop, C extensions, threads.
packages='python3'
prepare() { :; }
load() { exec /usr/bin/python3 "$src/load.py"; }
