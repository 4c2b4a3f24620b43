# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# Rust with -O: closures, threads, unwinding panics.
packages='rustc'
prepare() { rustc -O -o load_rust "$src/load.rs"; }
load() { exec ./load_rust 2>/dev/null; }
