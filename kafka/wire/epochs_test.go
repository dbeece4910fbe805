package wire

import (
	"testing"

	"rivulet/test/expect"
)

func TestEpochsOfOffsets(t *testing.T) {
	var e Epochs
	// the last is after a truncation
	for _, s := range []EpochStart{{First: 10, Epoch: 1}, {First: 20, Epoch: 1}, {First: 30, Epoch: 4},
		{First: 50, Epoch: 5}, {First: 40, Epoch: 6}} {
		e = e.Add(s.First, s.Epoch)
	}
	expect.Same(t, Epochs{{First: 10, Epoch: 1}, {First: 30, Epoch: 4}, {First: 40, Epoch: 6}}, e, "epochs")
	for next, want := range map[int64]int32{10: -1, 11: 1, 30: 1, 31: 4, 40: 4, 41: 6, 1000: 6} {
		if got := e.Of(next); got != want {
			t.Errorf("before offset %d: epoch %d, want %d", next, got, want)
		}
	}
	for i := range int64(1000) {
		e = e.Add(100+i, int32(i))
	}
	if len(e) != mostEpochs {
		t.Errorf("%d epochs are remembered, want %d", len(e), mostEpochs)
	}
}
