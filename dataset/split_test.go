package dataset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/test/expect"
)

// The split is half, a quarter and the rest of the labelled nodes, by seed alone.
func TestDrawSplit(t *testing.T) {
	draw := func(seed uint64) *Dataset {
		d := &Dataset{Adj: graph.Symmetric(103, nil), Labels: make([]int32, 103)}
		for _, i := range []int{5, 50, 102} {
			d.Labels[i] = -1
		}
		expect.OK(t, d.drawSplit(seed))
		return d
	}
	one, again, other := draw(1), draw(1), draw(2)
	if diff := cmp.Diff(one, again, cmp.AllowUnexported(Dataset{})); diff != "" {
		t.Errorf("seed 1 twice:\n%s", diff)
	}
	if cmp.Equal(one.Train, other.Train) {
		t.Error("seeds 1 and 2 draw the same training nodes")
	}
	if len(one.Train) != 50 || len(one.Validation) != 25 || len(one.Test) != 25 ||
		!cmp.Equal(one.Unlabelled, []int32{5, 50, 102}) {
		t.Errorf("%d, %d, %d nodes and %v unlabelled", len(one.Train), len(one.Validation), len(one.Test), one.Unlabelled)
	}
	if withoutRole(one) != 0 {
		t.Errorf("%d nodes without role", withoutRole(one))
	}
}
