// SPDX-License-Identifier: Apache-2.0
// What Go builds by a profile: two calls, of which the one that is hot is inlined, and one through an interface.
//
//	gopher left|right ROUNDS     prints what came out
package main

import (
	"os"
	"strconv"

	mix "example.com/gopher/mix.v2"
)

//go:noinline
func spin(mixer mix.Mixer, isLeft bool, value uint32) uint32 {
	for i := 0; i < 100000; i++ {
		if isLeft {
			value = mix.Left(value)
		} else {
			value = mix.Right(value)
		}
		value = mixer.Mix(value)
	}
	return value
}

func main() {
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		os.Exit(2)
	}
	value := uint32(1)
	for i := 0; i < rounds; i++ {
		value = spin(&mix.Squarer{Factor: 3}, os.Args[1] == "left", value)
	}
	if value == 0 {
		value = spin(mix.Adder{}, true, value)
	}
	os.Stdout.WriteString(strconv.FormatUint(uint64(value), 10) + "\n")
}
