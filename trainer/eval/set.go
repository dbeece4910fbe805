package eval

import (
	"runtime"
	"time"

	"rivulet/graph"
	"rivulet/infer"
)

// Set is a list of batches with the classes of their nodes.
type Set struct {
	Batches []*infer.Batch
	Labels  [][]int32 // class of each node of each batch
}

// On returns the same batches attached to S through M (N×N'): r = aM.
func (s *Set) On(m *graph.CSR) *Set {
	rows := make([]infer.Row, m.Rows)
	for j := range rows {
		rows[j].Known = true
		rows[j].Cols, rows[j].Vals = m.Row(j)
	}
	out := &Set{Labels: s.Labels}
	for _, b := range s.Batches {
		neighbours := make([][]infer.Row, b.Len())
		for i := range neighbours {
			cols, _ := b.R.Row(i)
			for _, j := range cols {
				neighbours[i] = append(neighbours[i], rows[j])
			}
		}
		r, known := infer.Attach(neighbours, m.Cols)
		out.Batches = append(out.Batches, &infer.Batch{X: b.X, R: r, Known: known, Adj: b.Adj})
	}
	return out
}

// Len is the number of nodes.
func (s *Set) Len() int {
	n := 0
	for _, labels := range s.Labels {
		n += len(labels)
	}
	return n
}

// Predictor answers attached batches: an *infer.Predictor, or a version as it is served.
type Predictor interface {
	Predict(b *infer.Batch) (logits, probabilities *graph.Dense)
}

// Answer is what a predictor said of every node of a set, in order.
type Answer struct {
	Class         []int32
	Logits        []*graph.Dense // a batch each
	Probabilities []*graph.Dense
	MsPerBatch    float64 // mean wall-clock time of a batch, attachment included only where it was done here
}

// Run predicts every batch of a set.
func Run(p Predictor, s *Set) *Answer {
	a := &Answer{}
	start := time.Now()
	for _, b := range s.Batches {
		logits, probabilities := p.Predict(b)
		a.Logits = append(a.Logits, logits)
		a.Probabilities = append(a.Probabilities, probabilities)
	}
	a.MsPerBatch = float64(time.Since(start).Microseconds()) / 1e3 / float64(max(1, len(s.Batches)))
	for _, p := range a.Probabilities {
		for i := range p.Rows {
			a.Class = append(a.Class, int32(infer.ArgMax(p.Row(i))))
		}
	}
	return a
}

// Accuracy is the share of nodes whose class is their label, in percent.
func (a *Answer) Accuracy(s *Set) float64 {
	right, at := 0, 0
	for _, labels := range s.Labels {
		for _, y := range labels {
			if a.Class[at] == y {
				right++
			}
			at++
		}
	}
	return 100 * float64(right) / float64(max(1, at))
}

// Memory is the live heap that build leaves behind plus what one batch allocates, in bytes: the memory of inference with
// nothing loaded but what is deployed. build must copy whatever it keeps, so that only its own memory is counted.
func Memory(build func() *infer.Predictor, batch *infer.Batch) int64 {
	before := liveHeap()
	p := build()
	live := liveHeap() - before
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	p.Predict(batch)
	runtime.ReadMemStats(&b)
	runtime.KeepAlive(p)
	return max(0, live) + int64(b.TotalAlloc-a.TotalAlloc)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // finalisers of the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
