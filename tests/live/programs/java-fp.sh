# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# OpenJDK again, with the option that makes its compiled code keep frame pointers.
packages='openjdk-17-jdk-headless'
target=99
prepare() { javac -d . "$src/Load.java"; }
load() { exec java -Xmx512m -XX:+PreserveFramePointer -cp . Load; }
