// SPDX-License-Identifier: Apache-2.0
// The Go runtime's own answer for test_go_frames.sh: names, files and lines at random places of this
// program's code, inlined calls included, from runtime.CallersFrames.
//
//	go_frames COUNT     per place a line "vaddr", then per frame, innermost first, a tab and
//	                    "name file:line"
package main

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"runtime"
	_ "runtime/pprof"
	"strconv"
	"strings"
	"text/template"
	_ "unsafe"
)

// What runtime/pprof expands the inlined calls of a profile's leaves with.
//
//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stk []uintptr) []uintptr

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "go_frames:", err)
		os.Exit(1)
	}
}

// The range of this program's code, and how far it lies above the addresses in its file.
func code() (start, end, bias uintptr) {
	file, err := elf.Open("/proc/self/exe")
	fatal(err)
	exe, err := os.Readlink("/proc/self/exe")
	fatal(err)
	maps, err := os.ReadFile("/proc/self/maps")
	fatal(err)
	low := uintptr(0)
	for _, line := range strings.Split(string(maps), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] != exe {
			continue
		}
		bounds := strings.Split(fields[0], "-")
		from, _ := strconv.ParseUint(bounds[0], 16, 64)
		to, _ := strconv.ParseUint(bounds[1], 16, 64)
		if low == 0 {
			low = uintptr(from)
		}
		if strings.Contains(fields[1], "x") {
			start, end = uintptr(from), uintptr(to)
		}
	}
	for _, prog := range file.Progs {
		if prog.Type == elf.PT_LOAD {
			return start, end, low - uintptr(prog.Vaddr&^0xfff)
		}
	}
	return start, end, 0
}

func entry(pc uintptr) uintptr {
	if fn := runtime.FuncForPC(pc); fn != nil {
		return fn.Entry()
	}
	return 0
}

func show(out *bufio.Writer, pc, bias uintptr) {
	fmt.Fprintf(out, "%x", pc-bias)
	// As a return address: they are looked up a byte before.
	frames := runtime.CallersFrames(expandFinalInlineFrame([]uintptr{pc + 1}))
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		fmt.Fprintf(out, "\t%s %s:%d", frame.Function, strings.TrimPrefix(frame.File, "?"), frame.Line)
	}
	fmt.Fprintln(out)
}

// Makes the program hold more than the runtime.
func ballast() {
	_, err := regexp.Compile("a(b|c)*")
	fatal(err)
	_, err = template.New("x").Parse("{{.}}")
	fatal(err)
	_, err = json.Marshal(map[string]int{"a": 1})
	fatal(err)
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	fatal(err)
	ballast()
	start, end, bias := code()
	out := bufio.NewWriter(os.Stdout)
	rng := rand.New(rand.NewSource(1))
	for done := 0; done < count; {
		pc := start + uintptr(rng.Int63n(int64(end-start)))
		// The runtime takes a function's first byte for no return address, and cannot name the
		// one whose name is the table's first.
		if fn := runtime.FuncForPC(pc); fn == nil || fn.Name() == "" || fn.Entry() != entry(pc+1) {
			continue
		}
		show(out, pc, bias)
		done++
	}
	fatal(out.Flush())
}
