package mapping

import (
	"runtime"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

func testMapping() *artifact.Mapping {
	return &artifact.Mapping{
		IDs: []string{"a", "empty", "c"},
		Rows: &graph.CSR{Rows: 3, Cols: 5, RowPtr: []int{0, 2, 2, 3}, ColIdx: []int32{1, 4, 0},
			Val: []float32{0.5, 0.25, 2}},
	}
}

func TestMemoryRows(t *testing.T) {
	ids := []string{"c", "nobody", "a", "empty", "a"}
	rows := make([]attach.Row, len(ids))
	rows[1] = attach.Row{Known: true, Cols: []int32{9}} // left by an earlier batch
	expect.OK(t, FromArtifact(testMapping()).Rows(t.Context(), ids, rows))
	a := attach.Row{Known: true, Cols: []int32{1, 4}, Vals: []float32{0.5, 0.25}}
	want := []attach.Row{{Known: true, Cols: []int32{0}, Vals: []float32{2}}, {}, a, {Known: true}, a}
	expect.Same(t, want, rows, "rows differ")
}

func TestMemoryRowsOfOnes(t *testing.T) {
	m := testMapping()
	m.Rows.Val = nil
	ids := []string{"a", "empty"}
	rows := make([]attach.Row, 2)
	expect.OK(t, FromArtifact(m).Rows(t.Context(), ids, rows))
	want := []attach.Row{{Known: true, Cols: []int32{1, 4}, Vals: []float32{1, 1}}, {Known: true}}
	expect.Same(t, want, rows, "rows differ")
}

// Rows from memory must have the same bits as rows from a store.
func TestMemoryEqualsCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const synthetic = 300
		m := &artifact.Mapping{Rows: &graph.CSR{Cols: synthetic, RowPtr: []int{0}, Val: []float32{}}}
		m.IDs = rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 1, 20, rapid.ID).Draw(t, "ids")
		for range m.IDs {
			row := drawRow(t, synthetic)
			m.Rows.ColIdx = append(m.Rows.ColIdx, row.Cols...)
			m.Rows.Val = append(m.Rows.Val, row.Vals...)
			m.Rows.Rows++
			m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
		}
		rows := make([]attach.Row, len(m.IDs))
		expect.OK(t, FromArtifact(m).Rows(t.Context(), m.IDs, rows))
		for i, row := range rows {
			decoded, err := DecodeRow(AppendRow(nil, row), synthetic)
			expect.OK(t, err)
			if diff := cmp.Diff(decoded, row); diff != "" {
				t.Fatalf("row %d from memory differs from the decoded one (-decoded +memory):\n%s", i, diff)
			}
		}
	})
}

func TestRowsPanicsOnLengths(t *testing.T) {
	memory := FromArtifact(testMapping())
	for name, lookup := range map[string]Lookup{"memory": memory, "cached": NewCached(memory, 1<<20)} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_ = lookup.Rows(t.Context(), []string{"a", "c"}, make([]attach.Row, 1))
		})
	}
}

// Lookups of the same M share its memory while one of them is used, and count apart. Another M has memory of its own,
// and so has one without checksums, as nobody knows whether it is the same.
func TestOneMIsInMemoryOnce(t *testing.T) {
	var numbers [1]uint32
	rows := func(m *Memory) *attach.PackedRows { return m.Numbers([]string{"a"}, numbers[:]) }
	first := FromArtifact(testMapping()).Shared("M of " + t.Name())
	second := FromArtifact(testMapping()).Shared("M of " + t.Name())
	if rows(first) != rows(second) {
		t.Error("one M is in memory twice")
	}
	if got := second.Stats(); got.Hits != 1 || got.Entries != 3 || got.Bytes != first.Stats().Bytes {
		t.Errorf("the second has counted %+v", got)
	}
	for _, content := range []string{"another M of " + t.Name(), ""} {
		if rows(FromArtifact(testMapping()).Shared(content)) == rows(first) {
			t.Errorf("an M of content %q has the memory of another one", content)
		}
	}
	unknown := func() *Memory { return FromArtifact(testMapping()).Shared("") }
	if one, other := unknown(), unknown(); rows(one) == rows(other) {
		t.Error("M's without a content are shared")
	}
	gone := weak.Make(first.index)
	runtime.KeepAlive(first)
	first, second = nil, nil
	for gone.Value() != nil {
		runtime.GC()
	}
	if again := FromArtifact(testMapping()).Shared("M of " + t.Name()); rows(again) == nil {
		t.Error("an M that was let go of is not there again")
	}
}
