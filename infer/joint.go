package infer

import (
	"slices"
	"sync"

	"rivulet/graph"
)

// joint is a model on a graph with the batch in it (paper's Eq. 11); near: logits over the batch's neighbourhood
// only.
type joint struct {
	form    form
	host    *host
	project *Projection
	z       *graph.Dense // m×: the rows of the graph's nodes that the first hop or layer reads
	near    bool
	x       func() *graph.Dense // m×d pre(X), and pre(x) itself, for the embeddings of linear models; nil of others
	raw     *Projection
}

func newJoint(m *Network, adj *graph.CSR, x Inputs, pre *Preprocess) *joint {
	f := m.form()
	z := f.enter(x.Project(f.first()))
	checkGraph(adj, z.Rows, "features")
	j := &joint{form: f, host: newHost(adj, m.Architecture.Operator), project: pre.Fold(f.first()), z: z}
	if m.Architecture.Mix != nil {
		j.x, j.raw = sync.OnceValue(x.Matrix), pre.Identity(m.Features())
	}
	return j
}

// Nodes is the number of the graph's nodes.
func (j *joint) Nodes() int { return j.host.adj.Rows }

// enter joins a batch and returns the rows of both blocks that the first hop or layer reads.
func (j *joint) enter(b *Batch) (on *joined, zg, zb *graph.Dense) {
	b.check(j.Nodes())
	return j.host.join(b), j.z, j.form.enter(j.project.Apply(b.X))
}

// Logits returns those of the arrivals, n×C.
func (j *joint) Logits(b *Batch) *graph.Dense {
	on, zg, zb := j.enter(b)
	_, arrivals := j.form.run(on, zg, zb, false, j.near)
	return arrivals
}

// GraphLogits returns the logits of the graph's own nodes with the batch in the graph, m×C.
func (j *joint) GraphLogits(b *Batch) *graph.Dense {
	nodes, _ := j.everywhere(b)
	return nodes
}

func (j *joint) everywhere(b *Batch) (nodes, arrivals *graph.Dense) {
	on, zg, zb := j.enter(b)
	return j.form.run(on, zg, zb, true, false)
}

// Embeddings returns the arrivals' part of the layer before the classifier.
func (j *joint) Embeddings(b *Batch) *graph.Dense { return j.form.embed(j, b) }

// host is a graph that batches are joined to, with what does not change from batch to batch.
type host struct {
	*Operator
	adj     *graph.CSR // m×m
	degrees []float32  // m
	in, out []float32  // m: scales of the graph by itself
}

func newHost(adj *graph.CSR, o *Operator) *host {
	h := &host{Operator: o, adj: adj, degrees: adj.RowSums()}
	h.in, h.out = o.All(h.degrees, 0)
	return h
}

// joined is a graph with a batch in it, 𝔸 = [[B, Rᵀ], [R, ã]] (paper's Eq. 11), never assembled: its operator is
// applied row by row. Degrees are the row sums of 𝔸, weights of R included. An operand is in two blocks: zg of the
// graph's nodes, zb of the arrivals. The graph's block may stand for the near nodes only, those next to an arrival:
// that is all the arrivals read, and a network of two layers needs no other hidden states (see
// [Network.Neighbourhood]).
type joined struct {
	*host
	r    *graph.CSR // n×m R diag(in of the graph's nodes)
	at   *graph.CSR // n×n ã diag(in of the arrivals), or nil
	near []int32    // the near nodes in the order met
	pos  []int32    // m: position in near, −1 elsewhere
	rn   *graph.CSR // r on the near nodes, n×|near|
	rnt  *graph.CSR // |near|×n Rᵀ diag(in of the arrivals)

	inG, outG []float32 // m: scales with the batch in the graph; only those of near nodes are not the host's
	inB, outB []float32 // n
}

func (h *host) join(b *Batch) *joined {
	j := &joined{host: h, inG: slices.Clone(h.in), outG: slices.Clone(h.out)}
	r := b.Sparse()
	j.meet(r)
	for k, fromBatch := range j.rnt.RowSums() {
		node := j.near[k]
		j.inG[node], j.outG[node] = h.at(float64(h.degrees[node]) + float64(fromBatch))
	}
	degrees := r.RowSums()
	if b.Adj != nil {
		for i := range degrees {
			degrees[i] += float32(b.Adj.RowLen(i))
		}
	}
	j.inB, j.outB = h.All(degrees, 0)
	j.rnt = scaledColumns(j.rnt, j.inB)
	j.r = scaledColumns(r, j.inG)
	j.rn.Val = j.r.Val
	if b.Adj != nil {
		j.at = scaledColumns(b.Adj, j.inB)
	}
	return j
}

// meet finds the near nodes and puts R on them; values are not scaled yet.
func (j *joined) meet(r *graph.CSR) {
	j.pos = make([]int32, r.Cols)
	for i := range j.pos {
		j.pos[i] = -1
	}
	j.rn = &graph.CSR{Rows: r.Rows, RowPtr: r.RowPtr, ColIdx: make([]int32, len(r.ColIdx)), Val: r.Val}
	for p, c := range r.ColIdx {
		if j.pos[c] < 0 {
			j.pos[c] = int32(len(j.near))
			j.near = append(j.near, c)
		}
		j.rn.ColIdx[p] = j.pos[c]
	}
	j.rn.Cols = len(j.near)
	j.rnt = j.rn.Transpose()
}

// scaledColumns returns m·diag(in), sharing all but the values.
func scaledColumns(m *graph.CSR, in []float32) *graph.CSR {
	out := *m
	out.Val = coefficients(make([]float32, 0, len(m.ColIdx)), m.ColIdx, m.Val, in)
	return &out
}

// coefficients returns vals[p]·in[cols[p]] in the memory of dst; vals nil means ones.
func coefficients(dst []float32, cols []int32, vals, in []float32) []float32 {
	dst = slices.Grow(dst[:0], len(cols))[:len(cols)]
	for p, c := range cols {
		dst[p] = in[c]
	}
	for p, v := range vals {
		dst[p] *= v
	}
	return dst
}

// scratch is the memory in which one goroutine computes rows.
type scratch struct {
	row  []float32
	coef []float32
	nz   *graph.NonZeros
}

func newScratch(width int) *scratch {
	return &scratch{row: make([]float32, width), nz: graph.NewNonZeros(width)}
}

// addProduct adds row·w to y, skipping what a relu has cleared.
func (s *scratch) addProduct(y []float32, w *graph.Dense) {
	s.nz.Set(s.row)
	s.nz.AddTo(y, w)
}

// gather adds Σ_k vals_k in_k z_k over a row of a matrix to the row.
func (s *scratch) gather(m *graph.CSR, i int, in []float32, z *graph.Dense) {
	cols, vals := m.Row(i)
	s.coef = coefficients(s.coef, cols, vals, in)
	graph.AddRows(s.row, cols, s.coef, z)
}

// finish multiplies the row by out after adding the node's own message.
func (s *scratch) finish(loops bool, in, out float32, own []float32) {
	if loops {
		graph.Axpy(s.row, in, own)
	}
	for k := range s.row {
		s.row[k] *= out
	}
}

// nodeRow computes the row of a node of the graph; zg has all m nodes.
func (j *joined) nodeRow(s *scratch, i int32, zg, zb *graph.Dense) {
	clear(s.row)
	s.gather(j.adj, int(i), j.inG, zg)
	if at := j.pos[i]; at >= 0 {
		cols, vals := j.rnt.Row(int(at))
		graph.AddRows(s.row, cols, vals, zb)
	}
	s.finish(j.Loops, j.inG[i], j.outG[i], zg.Row(int(i)))
}

// arrivalRow computes the row of an arrival; zg has all m nodes, or the near ones only.
func (j *joined) arrivalRow(s *scratch, i int, zg *graph.Dense, nearOnly bool, zb *graph.Dense) {
	clear(s.row)
	r := j.r
	if nearOnly {
		r = j.rn
	}
	cols, vals := r.Row(i)
	graph.AddRows(s.row, cols, vals, zg)
	if j.at != nil {
		cols, vals = j.at.Row(i)
		graph.AddRows(s.row, cols, vals, zb)
	}
	s.finish(j.Loops, j.inB[i], j.outB[i], zb.Row(i))
}

// eachNode calls f with the row of every node of the graph, or of the near ones only, in s.row; k is its place
// among them. The row is overwritten by the next one. Columns beyond width are not computed. Calls come from
// several goroutines.
func (j *joined) eachNode(nearOnly bool, width int, zg, zb *graph.Dense,
	f func(s *scratch, k int, node int32)) {
	rows, work := j.adj.Rows, (j.adj.NNZ()+j.r.NNZ())*width
	if nearOnly {
		rows, work = len(j.near), (j.adj.NNZ()/max(1, j.adj.Rows)*len(j.near)+j.r.NNZ())*width
	}
	graph.ParallelRows(rows, work, func(lo, hi int) {
		s := newScratch(width)
		for k := lo; k < hi; k++ {
			node := int32(k)
			if nearOnly {
				node = j.near[k]
			}
			j.nodeRow(s, node, zg, zb)
			f(s, k, node)
		}
	})
}

// eachArrival calls f with the row of every arrival, as eachNode does.
func (j *joined) eachArrival(width int, zg *graph.Dense, nearOnly bool, zb *graph.Dense,
	f func(s *scratch, i int)) {
	work := j.r.NNZ() * width
	if j.at != nil {
		work += j.at.NNZ() * width
	}
	graph.ParallelRows(j.r.Rows, work, func(lo, hi int) {
		s := newScratch(width)
		for i := lo; i < hi; i++ {
			j.arrivalRow(s, i, zg, nearOnly, zb)
			f(s, i)
		}
	})
}

// nodes returns the graph's rows of the operator on the leading width columns of [zg; zb], m×width or |near|×width.
func (j *joined) nodes(nearOnly bool, width int, zg, zb *graph.Dense) *graph.Dense {
	rows := j.adj.Rows
	if nearOnly {
		rows = len(j.near)
	}
	out := graph.NewDense(rows, width)
	j.eachNode(nearOnly, width, zg, zb, func(s *scratch, k int, _ int32) { copy(out.Row(k), s.row) })
	return out
}

// arrivals returns the arrivals' rows of the operator on the leading width columns of [zg; zb], n×width.
func (j *joined) arrivals(width int, zg *graph.Dense, nearOnly bool, zb *graph.Dense) *graph.Dense {
	out := graph.NewDense(j.r.Rows, width)
	j.eachArrival(width, zg, nearOnly, zb, func(s *scratch, i int) { copy(out.Row(i), s.row) })
	return out
}

// restart runs F ← keep·Â F + (1−keep) F0 with F0 = [seedG; seedB] for the given steps and returns both blocks.
// seedB nil is zero.
func (j *joined) restart(seedG, seedB *graph.Dense, keep float32, steps int) (g, b *graph.Dense) {
	if seedB == nil {
		seedB = graph.NewDense(j.r.Rows, seedG.Cols)
	}
	g, b = seedG, seedB
	width := seedG.Cols
	for range steps {
		g, b = j.nodes(false, width, g, b), j.arrivals(width, g, false, b)
		for _, block := range []struct{ f, seed *graph.Dense }{{g, seedG}, {b, seedB}} {
			for k := range block.f.Data {
				block.f.Data[k] = keep*block.f.Data[k] + (1-keep)*block.seed.Data[k]
			}
		}
	}
	return g, b
}

// scaled returns diag(inv)·z.
func scaled(inv []float32, z *graph.Dense) *graph.Dense {
	out := graph.NewDense(z.Rows, z.Cols)
	for i := range z.Rows {
		graph.Axpy(out.Row(i), inv[i], z.Row(i))
	}
	return out
}
