# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# Go: goroutines, the garbage collector, the vdso, cgo.
packages='golang-go gcc libc6-dev'
prepare() { GOFLAGS=-mod=mod GO111MODULE=off GOCACHE="$PWD/cache" go build -o load_go "$src/load.go"; }
load() { exec ./load_go; }
