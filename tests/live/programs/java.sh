# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# OpenJDK: interpreted and compiled Java, the compilers, the garbage collector. Its share is stated.
packages='openjdk-17-jdk-headless'
target=0
prepare() { javac -d . "$src/Load.java"; }
load() { exec java -Xmx512m -cp . Load; }
