package consumer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer"
)

// attachment is the memory of attach.
type attachment struct {
	edgeRows   []infer.Row
	neighbours [][]infer.Row
	standing   map[string]int32 // id -> the arrival that has it in ã
	pairs      []uint64         // entries of ã, row in the upper half
	adj        graph.CSR
	dense      graph.Dense
	sparse     graph.CSR
}

// attach assembles the batch that the model sees. What is an edge (docs/algorithm.md, section 1):
//
//   - a neighbour is known if its id is a node of T, also when its row of M is empty;
//   - in a graph batch i–j is in ã if either lists the other; an id that is both a node of T and an arrival means the
//     node of T;
//   - of two arrivals with one id the later stands in ã: edges that name the id are the later one's, and the earlier
//     one has none there;
//   - every other id is unknown and counts in the prediction only, as do edges between arrivals in a node batch.
//
// So D_i = 1 + known + degree in ã. neighbours[i] are the rows of the edges of arrival i. A neighbour whose row is
// unread is not counted as known, whatever it is: it is in ã where it is an arrival, and else unknown; [Pipeline.degrade]
// marks what may have changed by that.
func (p *Pipeline) attach(version Version, arrivals []*slot, neighbours [][]infer.Row) *infer.Batch {
	b := &infer.Batch{X: p.features(arrivals, version.Features())}
	b.Attach(neighbours, version.SyntheticNodes())
	for i, s := range arrivals {
		s.known, s.inBatch = int(b.Known[i])-len(s.attached), 0
		s.unknown = len(s.arrival.Edges) - int(b.Known[i])
	}
	if p.Mode == Graph {
		b.Adj = p.among(arrivals, neighbours)
	}
	p.degrade(version, arrivals, neighbours, b.Adj)
	return b
}

// among returns ã: symmetric, without values, columns ascending. It moves the neighbours that it holds from unknown to
// inBatch.
func (p *Pipeline) among(arrivals []*slot, neighbours [][]infer.Row) *graph.CSR {
	if p.standing == nil {
		p.standing = make(map[string]int32)
	}
	clear(p.standing)
	for i, s := range arrivals {
		p.standing[s.arrival.ID] = int32(i)
	}
	p.pairs = p.pairs[:0]
	for i, s := range arrivals {
		if p.standing[s.arrival.ID] != int32(i) {
			continue
		}
		for e, id := range s.arrival.Edges {
			if neighbours[i][e].Known {
				continue
			}
			if j, arrived := p.standing[id]; arrived {
				p.pairs = append(p.pairs, uint64(i)<<32|uint64(j), uint64(j)<<32|uint64(i))
				s.unknown--
			}
		}
	}
	slices.Sort(p.pairs)
	p.pairs = slices.Compact(p.pairs)

	n := len(arrivals)
	p.adj = graph.CSR{Rows: n, Cols: n, ColIdx: slices.Grow(p.adj.ColIdx[:0], len(p.pairs)),
		RowPtr: slices.Grow(p.adj.RowPtr[:0], n+1)[:n+1]}
	clear(p.adj.RowPtr)
	for _, pair := range p.pairs {
		p.adj.RowPtr[pair>>32+1]++
		p.adj.ColIdx = append(p.adj.ColIdx, int32(uint32(pair)))
	}
	for i := range n {
		arrivals[i].inBatch = p.adj.RowPtr[i+1]
		p.adj.RowPtr[i+1] += p.adj.RowPtr[i]
	}
	return &p.adj
}

// features returns the raw features of the batch: dense where every arrival's are, else sparse. infer gives the same
// bits either way.
func (p *Pipeline) features(arrivals []*slot, d int) graph.Features {
	for _, s := range arrivals {
		if s.arrival.Features.Sparse {
			return graph.Features{Sparse: p.sparseFeatures(arrivals, d)}
		}
	}
	p.dense.Rows, p.dense.Cols = len(arrivals), d
	p.dense.Data = slices.Grow(p.dense.Data[:0], len(arrivals)*d)
	for _, s := range arrivals {
		p.dense.Data = append(p.dense.Data, s.arrival.Features.Values...)
	}
	return graph.Features{Dense: &p.dense}
}

func (p *Pipeline) sparseFeatures(arrivals []*slot, d int) *graph.CSR {
	m := &p.sparse
	*m = graph.CSR{Rows: len(arrivals), Cols: d, RowPtr: append(m.RowPtr[:0], 0), ColIdx: m.ColIdx[:0], Val: m.Val[:0]}
	for _, s := range arrivals {
		f := &s.arrival.Features
		if f.Sparse {
			m.ColIdx = append(m.ColIdx, f.Indices...)
			m.Val = append(m.Val, f.Values...)
		} else {
			for k, v := range f.Values {
				if v != 0 {
					m.ColIdx = append(m.ColIdx, int32(k))
					m.Val = append(m.Val, v)
				}
			}
		}
		m.RowPtr = append(m.RowPtr, len(m.ColIdx))
	}
	if m.Val == nil {
		m.Val = []float32{} // nil would mean ones
	}
	return m
}
