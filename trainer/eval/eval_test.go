package eval

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/infer"
)

// attached is two batches on a T of three nodes, two arrivals and one.
func attached() *Set {
	batch := func(n int, rowPtr []int, cols []int32) *infer.Batch {
		b := &infer.Batch{X: graph.Features{Dense: graph.NewDense(n, 1)}, Known: make([]int32, n),
			R: &graph.CSR{Rows: n, Cols: 3, RowPtr: rowPtr, ColIdx: cols}}
		for i := range n {
			b.Known[i] = int32(b.R.RowLen(i))
		}
		return b
	}
	return &Set{
		Batches: []*infer.Batch{batch(2, []int{0, 2, 3}, []int32{0, 2, 1}), batch(1, []int{0, 0}, nil)},
		Labels:  [][]int32{{0, 1}, {1}},
	}
}

// mapping has an empty row for node 1 of T.
func mapping() *graph.CSR {
	return &graph.CSR{Rows: 3, Cols: 2, RowPtr: []int{0, 1, 1, 3}, ColIdx: []int32{1, 0, 1}, Val: []float32{.5, .25, 1}}
}

func dense(m *graph.CSR) (out [][]float32) {
	for i := range m.Rows {
		row := make([]float32, m.Cols)
		cols, vals := m.Row(i)
		for p, c := range cols {
			row[c] += vals[p]
		}
		out = append(out, row)
	}
	return out
}

// Paper's Eq. 11: r = aM. A node of T whose row of M is empty is known all the same.
func TestEq11OnS(t *testing.T) {
	on := attached().On(mapping())
	for k, want := range [][][]float32{{{.25, 1.5}, {0, 0}}, {{0, 0}}} {
		if diff := cmp.Diff(want, dense(on.Batches[k].R)); diff != "" {
			t.Errorf("r of batch %d (-want +got):\n%s", k, diff)
		}
	}
	if got := on.Batches[0].Known; !slices.Equal(got, []int32{2, 1}) {
		t.Errorf("known neighbours %v, want 2 and 1", got)
	}
	if on.Len() != 3 || attached().Len() != 3 {
		t.Errorf("%d nodes, want 3", on.Len())
	}
}

// first answers class 0 with as many batches as it has seen.
type first struct{ seen []*infer.Batch }

func (f *first) Predict(b *infer.Batch) (logits, probabilities *graph.Dense) {
	f.seen = append(f.seen, b)
	out := graph.NewDense(b.Len(), 2)
	for i := range out.Rows {
		out.Row(i)[0] = 1
	}
	return out, out
}

func TestSection8Accuracy(t *testing.T) {
	set := attached()
	a := Run(&first{}, set)
	if got := a.Accuracy(set); got < 33.3 || got > 33.4 {
		t.Errorf("accuracy %v, want one of three", got)
	}
	if !slices.Equal(a.Class, []int32{0, 0, 0}) || len(a.Logits) != 2 {
		t.Errorf("classes %v of %d batches", a.Class, len(a.Logits))
	}
	empty := &Set{}
	if got := Run(&first{}, empty).Accuracy(empty); got != 0 {
		t.Errorf("accuracy of nobody is %v", got)
	}
}

// Attachment is part of inference: what is measured on S is attached anew for every prediction.
func TestSection8AttachmentCounts(t *testing.T) {
	on := attached().On(mapping())
	for name, measure := range map[string]func(p Predictor){
		"Run":    func(p Predictor) { Run(p, on) },
		"Time":   func(p Predictor) { Time(p, on) },
		"Memory": func(p Predictor) { Memory(func() Predictor { return p }, on) },
	} {
		p := &first{}
		measure(p)
		for k, b := range p.seen {
			if slices.Contains(on.Batches, b) || slices.Contains(p.seen[:k], b) {
				t.Errorf("%s: batch %d was attached beforehand", name, k)
			}
			if want := on.Batches[len(on.Batches)-1]; b.Len() == want.Len() && cmp.Diff(dense(want.R), dense(b.R)) != "" {
				t.Errorf("%s: batch %d is attached otherwise", name, k)
			}
		}
		if len(p.seen) == 0 {
			t.Errorf("%s predicts nothing", name)
		}
	}
}

func TestSection8TimeSeesTenBatches(t *testing.T) {
	p := &first{}
	Time(p, attached())
	if got := len(p.seen); got != 1+timedBatches { // one to warm up
		t.Errorf("%d batches predicted, want %d", got, 1+timedBatches)
	}
	if ms := Time(p, &Set{}); ms != 0 {
		t.Errorf("%v ms for no batch", ms)
	}
}

// holder keeps some memory and allocates some more for a batch.
type holder struct {
	kept   []byte
	perRow int
}

var sink []byte

func (h *holder) Predict(b *infer.Batch) (logits, probabilities *graph.Dense) {
	sink = make([]byte, h.perRow*b.Len())
	return graph.NewDense(b.Len(), 1), graph.NewDense(b.Len(), 1)
}

// What is kept and what one batch allocates count, what building lets go does not.
func TestSection8Memory(t *testing.T) {
	const kept, perRow, garbage = 3 << 20, 1 << 20, 64 << 20
	got := Memory(func() Predictor {
		sink = make([]byte, garbage)
		sink = nil
		return &holder{make([]byte, kept), perRow}
	}, attached())
	sink = nil
	if want := int64(kept + 2*perRow); got < want || got > want+want/4 {
		t.Errorf("%d bytes, want %d kept and %d for a batch of two", got, kept, 2*perRow)
	}
}

func TestWriteTable(t *testing.T) {
	row := func(setting, batch string, shared bool, accuracy float64) Result {
		return Result{Setting: setting, Batch: batch, SharedM: shared, Calibration: "none", Accuracy: Spread{Mean: accuracy}, InferenceBytes: 2e6}
	}
	var out bytes.Buffer
	if err := WriteTable(&out, []Result{row(StoS, "graph", false, 91), row(StoS, "graph", true, 92), row(StoS, "node", true, 93), row(StoS, "node", false, 94)}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want a head and one for each deployment:\n%s", len(lines), &out)
	}
	for k, want := range []string{"S->S none 91.00 94.00", "S->S shared M none 92.00 93.00"} {
		if got := strings.Join(strings.Fields(lines[k+1]), " "); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "2.00") {
			t.Errorf("line %d is %q, want %q … 2.00", k+1, got, want)
		}
	}
}
