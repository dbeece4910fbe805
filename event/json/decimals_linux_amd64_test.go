//go:build !purego

package json

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"rivulet/test/expect"
)

// A kernel reads and writes nothing outside of a record and of the room that it is given: the record fills memory with
// an unreadable page on both sides, from its first byte or up to its last.
func TestKernelsStayInsideOfTheRecord(t *testing.T) {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	expect.OK(t, err)
	defer func() { expect.OK(t, syscall.Munmap(memory)) }()
	expect.OK(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	expect.OK(t, syscall.Mprotect(memory[2*page:], syscall.PROT_NONE))
	inside := memory[page : 2*page]
	rng := rand.New(rand.NewPCG(9, 10))
	for n := range 400 {
		texts := make([]string, rng.IntN(60))
		for k := range texts {
			texts[k] = fmt.Sprint(rng.IntN(1 << (1 + rng.IntN(26))))
		}
		text := strings.Repeat(" ", n%70) + "[" + strings.Join(texts, ",") + []string{"]", "", ",", "1234567"}[n%4]
		for _, data := range [][]byte{inside[:len(text):len(text)], inside[page-len(text):]} {
			copy(data, text)
			floats, integers := scanner{data: data, at: n % 70}, scanner{data: data, at: n % 70}
			values, isFloats := floats.floats(nil)
			indices, isIntegers := integers.indices(nil)
			whole := n%4 == 0
			if isFloats != whole || isIntegers != whole || whole && (len(values) != len(texts) || len(indices) != len(texts)) {
				t.Fatalf("%q: %d numbers, %v; %d indices, %v", text, len(values), isFloats, len(indices), isIntegers)
			}
		}
	}
}

// A processor without AVX2 reads the same.
func TestWithoutAVX2(t *testing.T) {
	if !vectors {
		t.Skip("this processor has no AVX2: the other tests ran without it")
	}
	vectors = false
	t.Cleanup(func() { vectors = true })
	t.Run("decimals", TestDecimalsAreThoseOfStrconv)
	t.Run("integers", TestIntegersAreThoseOfStrconv)
	t.Run("middles", TestMiddles)
	t.Run("no numbers", TestNoNumbers)
}
