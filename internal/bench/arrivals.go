package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/serving"
)

// arrivals are n drawn ones: their features, and which nodes of T they have edges to.
type arrivals struct {
	x          graph.Features
	neighbours [][]int32
}

// arrivals draws n.
func (s *Shape) arrivals(rng *rand.Rand, n int) *arrivals {
	a := &arrivals{neighbours: make([][]int32, n)}
	if s.Words == 0 {
		a.x.Dense = dense(rng, n, s.Features, 1)
	} else {
		x := &graph.CSR{Rows: n, Cols: s.Features, RowPtr: make([]int, n+1)}
		for i := range n {
			x.ColIdx = distinct(rng, x.ColIdx, s.Words, s.Features)
			x.RowPtr[i+1] = len(x.ColIdx)
		}
		x.Val = make([]float32, len(x.ColIdx))
		for p := range x.Val {
			x.Val[p] = 1
		}
		a.x.Sparse = x
	}
	for i := range a.neighbours {
		for range s.Edges {
			a.neighbours[i] = append(a.neighbours[i], s.endpoint(rng))
		}
		slices.Sort(a.neighbours[i])
		a.neighbours[i] = slices.Compact(a.neighbours[i])
	}
	return a
}

// endpoint draws a node of T by its degree: the degree of the k-th node falls with k^-½, the power law of exponent 3.
func (s *Shape) endpoint(rng *rand.Rand) int32 {
	u := rng.Float64()
	return int32(u * u * float64(s.Original))
}

// attacher makes one batch after the other in the same memory, as the consumer does.
type attacher struct {
	batch    attach.Batch
	attacher attach.Attacher
	memory   attach.Memory
}

// attached is arrivals as a node batch on S, by their neighbours' rows of M.
func (m *attacher) attached(a *arrivals, rows *rowNumbers, synthetic int) *attach.Batch {
	m.batch.X, m.batch.Memory = a.x, m.memory.Again()
	m.attacher.AttachNumbered(&m.batch, rows.m, rows.numbers, rows.ends, synthetic)
	return &m.batch
}

// rowNumbers are the rows of M of the arrivals' neighbours, by number, as a consumer finds them that has M in memory.
type rowNumbers struct {
	m       *attach.PackedRows
	numbers []uint32
	ends    []int32
}

// numbers looks the neighbours up in a version whose M is in memory.
func (a *arrivals) numbers(version *serving.Version) (out rowNumbers) {
	var ids []string
	for _, of := range a.neighbours {
		for _, node := range of {
			ids = append(ids, id(int(node)))
		}
		out.ends = append(out.ends, int32(len(ids)))
	}
	out.numbers = make([]uint32, len(ids))
	out.m = version.Numbers(ids, out.numbers)
	return out
}

// len is the number of arrivals.
func (a *arrivals) len() int { return len(a.neighbours) }

// events draws n arrivals as they come over the wire, numbered from 0 on.
func (s *Shape) events(n int) []event.Arrival {
	a := s.arrivals(s.rng("stream"), n)
	out := make([]event.Arrival, a.len())
	for i := range out {
		e := &out[i]
		e.ID, e.Time = fmt.Sprintf("arrival-%d", i), time.UnixMilli(1_800_000_000_000)
		if a.x.Sparse != nil {
			e.Features.Sparse = true
			e.Features.Indices, e.Features.Values = a.x.Sparse.Row(i)
		} else {
			e.Features.Values = a.x.Dense.Row(i)
		}
		for _, node := range a.neighbours[i] {
			e.Edges = append(e.Edges, id(int(node)))
		}
		for k := range s.Strangers {
			e.Edges = append(e.Edges, fmt.Sprintf("stranger-%d", i*7+k))
		}
	}
	return out
}
