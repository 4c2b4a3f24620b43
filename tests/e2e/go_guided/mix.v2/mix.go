// SPDX-License-Identifier: Apache-2.0
// Package mix has functions that cost more than what Go inlines everywhere, in a path whose symbols are not spelt as it.
package mix

// A Mixer is called through the interface.
type Mixer interface {
	Mix(value uint32) uint32
}

// Squarer is the one that is used.
type Squarer struct {
	Factor uint32
}

// Mix takes as long as Left.
func (s *Squarer) Mix(value uint32) uint32 {
	for i := uint32(1); i < 5; i++ {
		value = value*value + s.Factor
		value ^= value>>(i+3) + value>>(i+7)
		value ^= value<<(i+9) + value<<(i+5)
		value ^= value>>(i+8) + value<<(i+1)
		value = value*(s.Factor+i) ^ (value+i)*(value^i)
		value ^= value<<(i+4) + value>>(i+6)
	}
	return value
}

// Adder is never used.
type Adder struct{}

// Mix adds.
func (Adder) Mix(value uint32) uint32 {
	return value + 1
}

// Left is hot in one use of the program.
func Left(value uint32) uint32 {
	for i := uint32(1); i < 5; i++ {
		value ^= value<<(i+12) + value>>(i+2)
		value ^= value>>(i+16) + value<<(i+3)
		value ^= value<<(i+4) + value>>(i+5)
		value ^= value>>(i+6) + value<<(i+8)
		value = value*(value|i) ^ (value+i)*(value^3)
		value ^= value<<(i+1) + value>>(i+7)
	}
	return value
}

// Right is in the other.
func Right(value uint32) uint32 {
	for i := uint32(1); i < 5; i++ {
		value ^= value<<(i+11) + value>>(i+1)
		value ^= value>>(i+15) + value<<(i+2)
		value ^= value<<(i+3) + value>>(i+4)
		value ^= value>>(i+5) + value<<(i+7)
		value = value*(value|i) ^ (value+i)*(value^7)
		value ^= value<<(i+8) + value>>(i+9)
	}
	return value
}
