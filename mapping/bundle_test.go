package mapping

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// The rows of an M in pieces are those of the same M in memory.
func TestPieces(t *testing.T) {
	whole := &artifact.Mapping{IDs: []string{"a", "b", "c", "d"},
		Rows: &graph.CSR{Rows: 4, Cols: 3, RowPtr: []int{0, 2, 2, 3, 5},
			ColIdx: []int32{0, 2, 1, 0, 1}, Val: []float32{.5, .25, 1, .125, 2}}}
	part := func(from, to int) *artifact.Mapping {
		rows := &graph.CSR{Rows: to - from, Cols: 3, RowPtr: []int{0}}
		for i := from; i < to; i++ {
			cols, vals := whole.Rows.Row(i)
			rows.ColIdx, rows.Val = append(rows.ColIdx, cols...), append(rows.Val, vals...)
			rows.RowPtr = append(rows.RowPtr, len(rows.ColIdx))
		}
		return &artifact.Mapping{IDs: slices.Clone(whole.IDs[from:to]), Rows: rows}
	}
	broken := error(nil)
	var parts iter.Seq2[*artifact.Mapping, error] = func(yield func(*artifact.Mapping, error) bool) {
		if yield(part(0, 1), nil) && yield(part(1, 4), nil) && broken != nil {
			yield(nil, broken)
		}
	}
	ids := []string{"d", "nobody", "a", "d", "b", "c"}
	want, got := make([]attach.Row, len(ids)), make([]attach.Row, len(ids))
	got[1].Known = true // of an earlier call
	inParts := FromBundle(&artifact.Bundle{Parts: parts})
	for lookup, rows := range map[Lookup][]attach.Row{FromBundle(&artifact.Bundle{Mapping: whole}): want, inParts: got} {
		expect.OK(t, lookup.Rows(t.Context(), ids, rows))
	}
	for k := range ids {
		if got[k].Known != want[k].Known || !slices.Equal(got[k].Cols, want[k].Cols) ||
			!slices.Equal(got[k].Vals, want[k].Vals) {
			t.Errorf("row of %q: %s", ids[k], cmp.Diff(want[k], got[k]))
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := inParts.Rows(ended, ids, got); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	broken = errors.New("part 2 is damaged")
	if err := inParts.Rows(t.Context(), ids, got); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
