package consumer

import (
	"testing"

	"rivulet/event"
)

// A dense row measures as the sparse row with the same values, and stored zeros do not count.
func TestMeasure(t *testing.T) {
	want := Measure{Norm: 5, Count: 2}
	for name, f := range map[string]event.Features{
		"dense":  {Values: []float32{0, 3, 0, -4}},
		"sparse": {Sparse: true, Indices: []int32{1, 2, 3}, Values: []float32{3, 0, -4}},
	} {
		if got := measureOf(&f); got.Norm != want.Norm || got.Count != want.Count {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if got := measureOf(&event.Features{Values: []float32{1e15, 1e15}}); got.Count != 2 || got.Norm < 1.41e15 ||
		got.Norm > 1.42e15 {
		t.Errorf("large values: %+v", got)
	}
}
