package graph

import "testing"

// Prefetch reads no memory but that of the slices, of any length, and refuses what is not in them.
func TestPrefetch(t *testing.T) {
	words := make([]uint32, 9)
	Prefetch(nil, nil)
	Prefetch(words, []uint32{0, 2, 1, 0})
	defer func() {
		if recover() == nil {
			t.Error("unit 3 of 9 words: no panic")
		}
	}()
	Prefetch(words, []uint32{0, 3})
}
