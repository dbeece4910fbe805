package consumer

import (
	"slices"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// attachment holds the batch as the model sees it, and the counts of each arrival's neighbours.
type attachment struct {
	batch    attach.Batch      // the model's input
	rows     [][]attach.Row    // by which it is attached
	memory   attach.Memory     // memory for the batch's logits, probabilities and tables
	counts   []neighbourCounts // per arrival
	degraded []bool            // per arrival: with all rows read, the prediction might differ

	attacher   attach.Attacher
	edgeCounts EdgeCounts
	edges      []attach.Edge      // of the rows
	heavier    map[uint64]float32 // entry of ã -> its weight
	listed     []int32            // per arrival: entries of its edge list that are in ã
	pairs      []uint64           // entries of ã, row in the upper half
	adj        graph.CSR
	dense      graph.Dense
	sparse     graph.CSR
	reached    []int32 // memory of degrade
}

// neighbourCounts counts an arrival's distinct neighbours: nodes of T, earlier arrivals with rows, neighbours in ã
// (also those that only the other side listed), and unknown ids.
type neighbourCounts struct{ known, arrivals, inBatch, unknown int }

// attach assembles the batch that the model sees. An edge list is read as follows (docs/algorithm.md, section 1):
//
//   - a neighbour is known if its id is a node of T, also when its row of M is empty;
//   - i–j is in ã if either lists the other and sees it in the batch, as in a graph batch all do; an id that is both a
//     node of T and an arrival means the node of T;
//   - of two arrivals with one id only the later has edges in ã: an edge that names the id leads to the later one;
//   - where edges have types or directions, ã has none of them: edges among the arrivals of a batch are unknown, and so
//     are neighbours by an edge of no type that the version knows;
//   - every other id is unknown and counts in the prediction only, as do edges between arrivals that do not see each
//     other.
//
// So D_i = 1 + known + degree in ã. A neighbour whose row is unread is not counted as known, even if it is a node of T:
// it is in ã if its id is an arrival's, else it is unknown; [attachment.degrade] marks the predictions that this may
// change.
func (p *Pipeline) attach(out *attachment, version Version, in *decodedBatch, n *neighbours) {
	info := version.Info()
	out.batch = attach.Batch{X: out.features(in.arrivals, info.Features), Memory: out.memory.Again()}
	out.rows, out.edgeCounts = n.rows, EdgeCounts{}
	slots := &info.Slots
	if n.m != nil {
		out.attacher.AttachNumbered(&out.batch, n.m, n.numbers, n.ends, info.SyntheticNodes)
	} else {
		if out.edges = out.edges[:0]; !slots.Plain() {
			for i, s := range in.arrivals {
				out.edges = setEdges(n.rows[i], s.arrival, out.edges)
			}
		}
		out.attacher.Attach(&out.batch, n.rows, slots, info.SyntheticNodes)
	}
	for _, s := range in.arrivals {
		out.edgeCounts.read(s.arrival, slots)
		out.edgeCounts.Add(s.unread)
	}
	out.listed = zeroed(out.listed, len(in.arrivals))
	if !p.Mode.Repeatable() && !slots.Relational() {
		out.batch.Adj = out.among(in, n, p.Mode, slots.Weighted)
	}
	out.counts = zeroed(out.counts, len(in.arrivals))
	for i, s := range in.arrivals {
		c, known := &out.counts[i], int(out.batch.Known[i])
		c.arrivals = n.arrived[i]
		c.known, c.unknown = known-c.arrivals, len(s.arrival.Edges)-known-int(out.listed[i])
		if out.batch.Adj != nil {
			c.inBatch = out.batch.Adj.RowLen(i)
		}
	}
	out.degrade(info.Joint, n)
}

// among returns ã: symmetric, columns ascending; without values, or with weights, the larger where both arrivals
// list each other. In a.listed it counts the entries of each arrival's edge list that are in ã.
func (a *attachment) among(in *decodedBatch, n *neighbours, mode *attach.Mode, weighted bool) *graph.CSR {
	arrivals := in.arrivals
	if clear(a.heavier); weighted && a.heavier == nil {
		a.heavier = make(map[uint64]float32)
	}
	a.pairs = a.pairs[:0]
	for i, s := range arrivals {
		if n.standing[s.arrival.ID] != int32(i) {
			continue
		}
		s.arrival.EachEdge(func(e int, _ uint32, weights []float32) {
			if n.known(i, e) {
				return
			}
			if j, arrived := n.standing[s.arrival.Edges[e]]; arrived && mode.Sees(i, int(j)) {
				there, back := uint64(i)<<32|uint64(j), uint64(j)<<32|uint64(i)
				a.pairs = append(a.pairs, there, back)
				a.listed[i]++
				if weighted {
					w := max(a.heavier[there], event.Heaviest(weights))
					a.heavier[there], a.heavier[back] = w, w
				}
			}
		})
	}
	slices.Sort(a.pairs)
	a.pairs = slices.Compact(a.pairs)

	rows := len(arrivals)
	a.adj = graph.CSR{Rows: rows, Cols: rows, ColIdx: slices.Grow(a.adj.ColIdx[:0], len(a.pairs)),
		RowPtr: slices.Grow(a.adj.RowPtr[:0], rows+1)[:rows+1]}
	if weighted {
		a.adj.Val = make([]float32, 0, len(a.pairs))
	}
	clear(a.adj.RowPtr)
	for _, pair := range a.pairs {
		a.adj.RowPtr[pair>>32+1]++
		a.adj.ColIdx = append(a.adj.ColIdx, int32(uint32(pair)))
		if weighted {
			a.adj.Val = append(a.adj.Val, a.heavier[pair])
		}
	}
	for i := range rows {
		a.adj.RowPtr[i+1] += a.adj.RowPtr[i]
	}
	return &a.adj
}

// features returns the raw features of the batch: dense where every arrival's are, else sparse. The bits are the same.
func (a *attachment) features(arrivals []*slot, d int) graph.Features {
	for _, s := range arrivals {
		if s.arrival.Features.Sparse {
			return graph.Features{Sparse: a.sparseFeatures(arrivals, d)}
		}
	}
	a.dense.Rows, a.dense.Cols = len(arrivals), d
	a.dense.Data = slices.Grow(a.dense.Data[:0], len(arrivals)*d)
	for _, s := range arrivals {
		a.dense.Data = append(a.dense.Data, s.arrival.Features.Values...)
	}
	return graph.Features{Dense: &a.dense}
}

func (a *attachment) sparseFeatures(arrivals []*slot, d int) *graph.CSR {
	m := &a.sparse
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

// degrade marks the arrivals whose predictions may be other ones than if all rows of M had been read. An arrival with
// an unread neighbour may lack entries of r = aM and a part of D_i, and in a graph batch have an edge in ã that it
// should not have; through ã the error reaches its whole connected component. In joint attachment an arrival changes
// the degrees of synthetic nodes, which the whole batch shares. A prediction that is not marked has the bits that it
// would have with all rows read.
func (a *attachment) degrade(joint bool, n *neighbours) {
	a.degraded = zeroed(a.degraded, len(a.counts))
	if !n.unread {
		return
	}
	reached := a.reached[:0] // marked, with neighbours in ã that may not be marked yet
	for i, rows := range n.rows {
		if joint || anyUnread(rows) {
			a.degraded[i] = true
			reached = append(reached, int32(i))
		}
	}
	for adj := a.batch.Adj; adj != nil && len(reached) > 0; {
		i := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		cols, _ := adj.Row(int(i))
		for _, j := range cols {
			if !a.degraded[j] {
				a.degraded[j] = true
				reached = append(reached, j)
			}
		}
	}
	a.reached = reached
}

func anyUnread(rows []attach.Row) bool {
	for i := range rows {
		if rows[i].Unread {
			return true
		}
	}
	return false
}
