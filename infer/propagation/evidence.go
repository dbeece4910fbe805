package propagation

import (
	"fmt"
	"sync"

	"rivulet/graph"
	"rivulet/infer/attach"
)

// LabelEvidence is how the classes of an arrival's known, labelled neighbours speak for its own class. With U the
// one-hot classes of T's labelled nodes (N×C, 0 for other nodes), or S's table of them, and a the arrival's edges:
//
//	h = max(0, a·U)    F_c = log((h_c + α) / (Σ_k h_k + C·α))
//
// h counts the neighbours of each class. On S it is (aM)·U', which is about as large. α is the count that every class
// begins with (additive smoothing), so that F is −log C for an arrival without labelled neighbours, and speaks for no
// class. Edges among the arrivals of a graph batch lead to nodes without labels and are not read. The model's logits
// and γF are added: p ∝ p_model · e^γF, a product of experts. The bits are the same on every processor.
type LabelEvidence struct {
	table *graph.Dense // U, m×C
	alpha float32
}

// NewEvidence deploys label evidence on its table of T or S.
func NewEvidence(table *graph.Dense, alpha float32) *LabelEvidence {
	if table == nil || table.Cols < 1 {
		panic("infer: label evidence without a table of classes")
	}
	if !(alpha > 0) {
		panic(fmt.Sprintf("infer: label evidence with α of %v, want above 0", alpha))
	}
	return &LabelEvidence{table, alpha}
}

// Nodes is the number of rows of the table.
func (e *LabelEvidence) Nodes() int { return e.table.Rows }

// Propagate returns F of the arrivals, n×C.
func (e *LabelEvidence) Propagate(b *attach.Batch) *graph.Dense {
	b.Check(e.Nodes())
	counts := b.Read(e.table)
	s := allShares.Get().(*shares)
	*s = shares{counts, float64(e.alpha)}
	graph.Parallel(counts.Rows, logWork*len(counts.Data), s)
	*s = shares{}
	allShares.Put(s)
	return counts
}

// logWork is the cost of a logarithm, in multiply-adds of a product.
const logWork = 16

// shares is a batch whose counts become F. Its memory is used again, so that a batch allocates nothing.
type shares struct {
	counts *graph.Dense
	alpha  float64
}

var allShares = sync.Pool{New: func() any { return new(shares) }}

// Rows makes F of arrivals lo to hi. Tables of S can have small negative numbers, which count as 0.
func (s *shares) Rows(lo, hi int) {
	for i := lo; i < hi; i++ {
		row := s.counts.Row(i)
		all := float64(float64(len(row)) * s.alpha)
		for _, v := range row {
			all += float64(max(0, v))
		}
		for c, v := range row {
			row[c] = float32(graph.PortableLog((float64(max(0, v)) + s.alpha) / all))
		}
	}
}
