package txn

import (
	"math"
	"testing"
)

func TestSequencesBeginAgainAfterTheLast(t *testing.T) {
	sequence := int32(math.MaxInt32 - 1)
	for _, want := range []int32{1, 4} { // 2³¹-2, 2³¹-1, 0 | 1, 2, 3 | 4 …
		if sequence = After(sequence, 3); sequence != want {
			t.Errorf("sequence %d, want %d", sequence, want)
		}
	}
}
