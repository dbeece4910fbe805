package eval

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// attached returns two batches on a T of three nodes, two arrivals and one.
func attached() *Set {
	batch := func(n int, rowPtr []int, cols []int32) *attach.Batch {
		b := &attach.Batch{X: graph.Features{Dense: graph.NewDense(n, 1)}, Known: make([]int32, n),
			R: &graph.CSR{Rows: n, Cols: 3, RowPtr: rowPtr, ColIdx: cols}}
		for i := range n {
			b.Known[i] = int32(b.R.RowLen(i))
		}
		return b
	}
	return &Set{
		Batches: []*attach.Batch{batch(2, []int{0, 2, 3}, []int32{0, 2, 1}), batch(1, []int{0, 0}, nil)},
		Labels:  [][]int32{{0, 1}, {1}},
	}
}

// mapping returns an M with an empty row for node 1 of T.
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

// Paper's Eq. 11: r = aM. A node of T whose row of M is empty is known nevertheless.
func TestEq11OnS(t *testing.T) {
	on := attached().On(mapping(), graph.Slots{})
	for k, want := range [][][]float32{{{.25, 1.5}, {0, 0}}, {{0, 0}}} {
		expect.Same(t, want, dense(on.Batches[k].R), "r of batch %d", k)
	}
	if got := on.Batches[0].Known; !slices.Equal(got, []int32{2, 1}) {
		t.Errorf("known neighbours %v, want 2 and 1", got)
	}
	if on.Len() != 3 || attached().Len() != 3 {
		t.Errorf("%d nodes, want 3", on.Len())
	}
}

// first answers class 0 with as many batches as it has seen.
type first struct{ seen []*attach.Batch }

func (f *first) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
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

// Attachment is part of inference: on S arrivals are attached anew for every prediction.
func TestSection8AttachmentCounts(t *testing.T) {
	on := attached().On(mapping(), graph.Slots{})
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
	if got := len(p.seen); got < 1+timedBatches { // one to warm up
		t.Errorf("%d batches predicted, want at least %d", got, 1+timedBatches)
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

func (h *holder) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	sink = make([]byte, h.perRow*b.Len())
	return graph.NewDense(b.Len(), 1), graph.NewDense(b.Len(), 1)
}

// Memory that is kept and the allocations of one batch count; memory freed after building does not.
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

// accurate are scores of classes with an accuracy, which may have a deviation.
func accurate(mean, std float64) []target.Score {
	out := []target.Score{}
	for _, m := range target.Classes.Metrics() {
		out = append(out, target.Score{Metric: m})
	}
	out[0].Mean, out[0].Std = mean, std
	return out
}

func TestWriteTable(t *testing.T) {
	row := func(setting, batch string, shared bool, accuracy float64) Result {
		return Result{Setting: setting, Batch: batch, SharedM: shared, Calibration: "none", Scores: accurate(accuracy, 0),
			InferenceBytes: 2e6}
	}
	rows := []Result{row(StoS, "graph", false, 91), row(StoS, "graph", true, 92), row(StoS, "node", true, 93),
		row(StoS, "node", false, 94)}
	rows[1].Served, rows[2].Served = true, true
	for name, write := range map[string]func(io.Writer, []Result) error{"text": WriteTable, "Markdown": WriteMarkdown} {
		var out bytes.Buffer
		expect.OK(t, write(&out, rows))
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(out.String()), "\n"), func(l string) bool {
			return strings.HasPrefix(l, "|---")
		})
		if len(lines) != 3 {
			t.Fatalf("%s: %d lines, want a head and one for each deployment:\n%s", name, len(lines), &out)
		}
		for k, want := range []string{"S->S none 0 91.00 94.00", "S->S shared M none 0 92.00 93.00"} {
			if marked := strings.Contains(lines[k+1], Mark); marked != (k == 1) {
				t.Errorf("%s: line %d is marked as served: %v", name, k+1, marked)
			}
			if got := strings.Join(strings.Fields(strings.ReplaceAll(lines[k+1], "|", " ")), " "); !strings.Contains(got,
				want) || !strings.Contains(got, " 2.00 ") {
				t.Errorf("%s: line %d is %q, want %q … 2.00", name, k+1, got, want)
			}
		}
	}
}

func TestWriteCSV(t *testing.T) {
	var out bytes.Buffer
	r := Result{Method: "solved", Setting: OtoS, Batch: "node", Seeds: []uint64{0, 2},
		Scores: accurate(93.25, .5), WeightDecays: []float64{1e-3, 1e-4}}
	expect.OK(t, WriteCSV(&out, []Result{r}))
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	for name, want := range map[string]string{"method": "solved", "setting": "O->S", "seeds": "0 2",
		"accuracy_mean": "93.25", "accuracy_std": "0.5", "weight_decays": "0.001 0.0001"} {
		if at := slices.Index(records[0], name); at < 0 || records[1][at] != want {
			t.Errorf("%s is not %q: %v", name, want, records)
		}
	}
}

func TestSection8Confusion(t *testing.T) {
	set := attached()
	expect.Same(t, [][]int{{1, 0}, {2, 0}}, Run(&first{}, set).Confusion(set), "confusion")
}

// Guo et al.: the mean of |accuracy − confidence| over bins, weighted by count.
func TestSection6ECE(t *testing.T) {
	p := &graph.Dense{Rows: 4, Cols: 2, Data: []float32{.9, .1, .92, .08, .4, .6, .5, .5}}
	labels := [][]int32{{0, 1, 1, 0}}
	bins := Reliability(target.Classes, []*graph.Dense{p}, labels, nil)
	// .9 and .92 share a bin: half of them right. .6 (class 1) is right, .5 (class 0) is right.
	want := 100 * (2*math.Abs(.5-.91) + .4 + .5) / 4
	if got := ECE(bins); math.Abs(got-want) > 1e-4 {
		t.Errorf("ECE is %v, want %v: %v", got, want, bins)
	}
	only := Reliability(target.Classes, []*graph.Dense{{Rows: 1, Cols: 2, Data: p.Row(2)}}, [][]int32{{1}}, nil)
	if got := ECE(only); math.Abs(got-40) > 1e-4 {
		t.Errorf("ECE of one node is %v, want 40", got)
	}
	sure := &graph.Dense{Rows: 1, Cols: 2, Data: []float32{1, 0}}
	if got := ECE(Reliability(target.Classes, []*graph.Dense{sure}, [][]int32{{0}}, nil)); got != 0 {
		t.Errorf("ECE of a certain right answer is %v", got)
	}
}

func TestOverSeeds(t *testing.T) {
	row := func(seed uint64, batch string, accuracy, decay float64, right int) Result {
		return Result{Method: "m", Batch: batch, Seeds: []uint64{seed}, Scores: accurate(accuracy, 0),
			MsPerBatch:  accuracy,
			WeightDecay: decay, WeightDecays: []float64{decay}, Confusion: [][]int{{right}}, Reliability: []Bin{{right, .5, 1}},
			ReliabilityBefore: []Bin{{right, accuracy / 100, .5}}}
	}
	got := OverSeeds([]Result{row(0, "graph", 90, .1, 1), row(0, "node", 70, .1, 5), row(1, "graph", 94, .01, 3),
		row(2, "graph", 92, .01, 4)})
	want := []Result{
		{Method: "m", Batch: "graph", Seeds: []uint64{0, 1, 2}, Scores: accurate(92, 2), MsPerBatch: 92, WeightDecay: .01,
			WeightDecays: []float64{.1, .01, .01}, Confusion: [][]int{{8}}, Reliability: []Bin{{8, .5, 1}},
			ReliabilityBefore: []Bin{{8, (1*.9 + 3*.94 + 4*.92) / 8, .5}}},
		{Method: "m", Batch: "node", Seeds: []uint64{0}, Scores: accurate(70, 0), MsPerBatch: 70, WeightDecay: .1,
			WeightDecays: []float64{.1}, Confusion: [][]int{{5}}, Reliability: []Bin{{5, .5, 1}},
			ReliabilityBefore: []Bin{{5, .7, .5}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
