package infer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// Eq. 11: r = aM, whatever the order of the neighbours and however many unknown ones stand among them.
func TestEq11AttachAgainstDenseProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 0))
		rows := neighbours(w.a, w.mapping)
		for i := range rows {
			for range rng.IntN(3) {
				rows[i] = append(rows[i], attach.Row{})
			}
			rng.Shuffle(len(rows[i]), func(a, b int) { rows[i][a], rows[i][b] = rows[i][b], rows[i][a] })
		}
		r, known := attach.Attach(rows, w.mapping.Cols())
		if err := r.Validate(); err != nil {
			t.Fatalf("r: %v", err)
		}
		identity := graph.NewDense(r.Cols, r.Cols)
		for k := range r.Cols {
			identity.Row(k)[k] = 1
		}
		if len(w.a) > 0 {
			near(t, "r", graph.Mul(r, identity), w.a.Mul(w.mapping), 1e-6)
		}
		for i, sum := range w.a.RowSums() {
			if known[i] != int32(sum) {
				t.Fatalf("arrival %d has %d known neighbours, want %v", i, known[i], sum)
			}
		}
		for i := range r.Rows {
			cols, _ := r.Row(i)
			seen := map[int32]bool{}
			for _, c := range cols {
				if seen[c] {
					t.Fatalf("row %d of r has column %d twice", i, c)
				}
				seen[c] = true
			}
		}
	})
}

// An empty row of M is a known neighbour without weights; a row that is not known is neither.
func TestSection1KnownNeighbours(t *testing.T) {
	r, known := attach.Attach([][]attach.Row{
		{{Known: true}, {}, {Known: true, Cols: []int32{2, 0}, Vals: []float32{0.5, 1}},
			{Known: true, Cols: []int32{2}, Vals: []float32{0.25}}},
		{{}, {}},
		nil,
		{{Known: true, Cols: []int32{2}, Vals: []float32{4}}},
	}, 3)
	expect.Same(t, []int32{3, 0, 0, 1}, known, "known")
	want := &graph.CSR{Rows: 4, Cols: 3, RowPtr: []int{0, 2, 2, 2, 3}, ColIdx: []int32{0, 2, 2},
		Val: []float32{1, 0.75, 4}}
	expect.Same(t, want, r, "r")
}

func TestAttachNothing(t *testing.T) {
	r, known := attach.Attach(nil, 3)
	if err := r.Validate(); err != nil || r.Rows != 0 || r.Cols != 3 || len(known) != 0 {
		t.Errorf("r %d×%d with %d degrees, %v", r.Rows, r.Cols, len(known), err)
	}
}

// A batch that is attached in the memory of others has the bits that it has by itself, whichever forms those
// were in.
func TestAttacherOfManyBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 0))
	var attacher attach.Attacher
	for range 40 {
		synthetic := 1 + rng.IntN(90)
		neighbours := make([][]attach.Row, rng.IntN(60))
		for i := range neighbours {
			for range rng.IntN(1 + rng.IntN(40)) {
				row := attach.Row{Known: rng.IntN(5) > 0}
				for c := rng.IntN(20); row.Known && c < synthetic; c += 1 + rng.IntN(20) {
					row.Cols, row.Vals = append(row.Cols, int32(c)), append(row.Vals, rng.Float32())
				}
				neighbours[i] = append(neighbours[i], row)
			}
		}
		var want, got attach.Batch
		want.Attach(neighbours, synthetic)
		attacher.Attach(&got, neighbours, &graph.Slots{}, synthetic)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d arrivals on %d nodes (-alone +in memory of others):\n%s", len(neighbours), synthetic, diff)
		}
	}
}

// Attachment through an M in memory is that of its rows, looked up one by one, bit for bit, in the memory of other
// batches, too.
func TestAttachThroughIsAttachOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 0))
	var attacher attach.Attacher
	full := 0
	for range 60 {
		synthetic, nodes := 1+rng.IntN(90), 1+rng.IntN(40)
		m := drawnSparse(rng, nodes, synthetic, 1+rng.IntN(20))
		a := drawnSparse(rng, rng.IntN(60), nodes, 1+rng.IntN(4))
		a.Val = nil // edges without weights
		neighbours := make([][]attach.Row, a.Rows)
		for i := range neighbours {
			cols, _ := a.Row(i)
			for _, j := range cols {
				cols, vals := m.Row(int(j))
				neighbours[i] = append(neighbours[i], attach.Row{Known: true, Cols: cols, Vals: vals})
			}
		}
		var want, alone, got attach.Batch
		want.Attach(neighbours, synthetic)
		alone.AttachThrough(a, m, &graph.Slots{})
		attacher.AttachThrough(&got, a, m, &graph.Slots{})
		if diff := cmp.Diff(want, alone) + cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d arrivals, %d nodes of T on %d (-of rows +through M):\n%s", a.Rows, nodes, synthetic, diff)
		}
		if got.Full != nil {
			full++
		}
	}
	if full == 0 || full == 60 {
		t.Errorf("%d of 60 batches are in full: both forms are wanted", full)
	}
}

// drawnSparse draws a matrix, with one column in every so many.
func drawnSparse(rng *rand.Rand, rows, cols, every int) *graph.CSR {
	m := &graph.CSR{Rows: rows, Cols: cols, RowPtr: make([]int, rows+1), Val: []float32{}}
	for i := range rows {
		for c := rng.IntN(every); c < cols; c += 1 + rng.IntN(every) {
			m.ColIdx, m.Val = append(m.ColIdx, int32(c)), append(m.Val, rng.Float32())
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	return m
}
