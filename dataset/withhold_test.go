package dataset

import (
	"slices"
	"testing"

	"rivulet/test/expect"
)

// Half of each class is withheld, its nodes keep their classes, and nothing else changes; no class vanishes.
func TestWithhold(t *testing.T) {
	d := randomSet(t, 600, true)
	rest, err := d.Withhold(0.5, 3)
	expect.OK(t, err)
	withheld := rest.Withheld()
	if all := slices.Sorted(slices.Values(append(slices.Clone(rest.Train), withheld...))); !slices.Equal(all, d.Train) ||
		!slices.IsSorted(rest.Train) {
		t.Errorf("%d nodes stay and %d are withheld, of %d", len(rest.Train), len(withheld), len(d.Train))
	}
	counts := func(nodes []int32) []int {
		n := make([]int, len(d.Classes))
		for _, i := range nodes {
			n[d.Labels[i]]++
		}
		return n
	}
	before, after := counts(d.Train), counts(withheld)
	for class, n := range before {
		if n/2 != after[class] {
			t.Errorf("class %d: %d of %d are withheld", class, after[class], n)
		}
	}
	most, err := d.Withhold(0.999, 3)
	if err != nil || slices.Contains(counts(most.Train), 0) {
		t.Errorf("a class has no training node any more: %v", err)
	}
	if none, err := d.Withhold(0, 3); err != nil || !slices.Equal(none.Train, d.Train) {
		t.Errorf("share 0 withholds %d (%v)", len(d.Train)-len(none.Train), err)
	}
	for _, share := range []float64{-1, 1, 2} {
		if _, err := d.Withhold(share, 3); err == nil {
			t.Errorf("share %g is taken", share)
		}
	}
}
