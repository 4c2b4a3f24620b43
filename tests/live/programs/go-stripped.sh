# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# Go without symbols and without debug information: what is left is .gopclntab.
packages='golang-go gcc libc6-dev'
prepare() {
	export GO111MODULE=off GOCACHE="$PWD/cache"
	go build -ldflags '-s -w' -o load_go_stripped "$src/load.go" && go build -o twin "$src/load.go"
}
load() { exec ./load_go_stripped; }
