package condense

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/test/expect"
)

// labelled lists counts[c] labels of each class c and some unknown ones.
func labelled(counts ...int) []int32 {
	labels := []int32{-1, -1}
	for c, n := range counts {
		labels = append(labels, slices.Repeat([]int32{int32(c)}, n)...)
	}
	return labels
}

// Section 4's Y': proportional, at least 1 a class, largest remainders.
func TestSection4Budget(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int
		nodes  int
		want   []int
	}{
		{"exact", []int{50, 30, 20}, 10, []int{5, 3, 2}},
		{"largest remainder", []int{45, 31, 24}, 10, []int{5, 3, 2}}, // 4.5, 3.1, 2.4
		{"ties go to the first class", []int{10, 10, 10}, 4, []int{2, 1, 1}},
		{"at least one", []int{97, 2, 1}, 10, []int{8, 1, 1}},
		{"one each", []int{97, 2, 1}, 3, []int{1, 1, 1}},
		{"a class without labels gets none", []int{6, 0, 4}, 5, []int{3, 0, 2}},
		{"all labelled nodes", []int{3, 1, 2}, 6, []int{3, 1, 2}},
	} {
		got, err := Budget(labelled(c.counts...), len(c.counts), c.nodes)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		expect.Same(t, c.want, got, "%s", c.name)
	}
}

func TestSection4BudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 8).Draw(t, "counts")
		total, present := 0, 0
		for _, n := range counts {
			total += n
			present += min(1, n)
		}
		if total == 0 {
			t.Skip("no labels")
		}
		nodes := rapid.IntRange(present, total).Draw(t, "nodes")
		share, err := Budget(labelled(counts...), len(counts), nodes)
		expect.OK(t, err)
		sum := 0
		for c, s := range share {
			sum += s
			if s < min(1, counts[c]) || s > counts[c] {
				t.Errorf("class %d of %d labelled nodes gets %d", c, counts[c], s)
			}
			if due := float64(nodes) * float64(counts[c]) / float64(total); float64(s) > due+1 && s > 1 {
				t.Errorf("class %d gets %d, %g are due", c, s, due)
			}
		}
		if sum != nodes {
			t.Errorf("%v sums to %d, want %d", share, sum, nodes)
		}
	})
}

func TestBudgetRefuses(t *testing.T) {
	for _, c := range []struct {
		labels []int32
		nodes  int
		want   string
	}{
		{labelled(3, 3, 3), 2, "nodes is 2, want at least 3 (one for each class) and at most 9"},
		{labelled(3, 3, 3), 10, "nodes is 10, want at least 3"},
		{labelled(0, 0, 0), 0, "at most 0 (the labelled nodes)"},
	} {
		expect.Error(t, expect.ErrorOf(Budget(c.labels, 3, c.nodes)), c.want, "%d nodes", c.nodes)
	}
}
