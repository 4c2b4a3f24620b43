// SPDX-License-Identifier: Apache-2.0
// A load in Go: goroutines and channels, maps, the garbage collector, the vdso, cgo. Runs until killed.
package main

/*
#include <math.h>
#include <stdint.h>
static double slow(double x)
{
	for (int i = 0; i < 20000; i++)
		x = sin(x) + 1;
	return x;
}
#cgo LDFLAGS: -lm
*/
import "C"

import (
	"encoding/json"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"
)

type node struct {
	Name string
	Kids []*node
}

func tree(depth int) *node {
	n := &node{Name: strings.Repeat("x", depth+1)}
	for i := 0; depth > 0 && i < 3; i++ {
		n.Kids = append(n.Kids, tree(depth-1))
	}
	return n
}

//go:noinline
func recurse(depth int, f func()) int {
	if depth == 0 {
		f()
		return 1
	}
	return recurse(depth-1, f) + 1
}

var words = regexp.MustCompile(`([a-z]+)-([0-9]+)`)

func work(out chan<- int) {
	text, _ := json.Marshal(tree(5))
	var back node
	json.Unmarshal(text, &back)
	counts := map[string]int{}
	for i := 0; i < 500; i++ {
		counts[words.ReplaceAllString("abc-123", "$2")] += i
	}
	keys := make([]int, 2000)
	for i := range keys {
		keys[i] = (i * 7919) % 2003
	}
	sort.Ints(keys)
	recurse(60, func() {
		for i := 0; i < 2000; i++ {
			time.Now()
		}
	})
	C.slow(1)
	out <- len(text)
}

func main() {
	for {
		out := make(chan int)
		var wg sync.WaitGroup
		for i := 0; i < 8; i++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				work(out)
			}()
		}
		for i := 0; i < 8; i++ {
			<-out
		}
		wg.Wait()
	}
}
