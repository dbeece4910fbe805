package infer

import (
	"slices"
	"sync"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// joint is a model on a graph with the batch in it (paper's Eq. 11); near: logits over the batch's neighbourhood
// only.
type joint struct {
	form    form
	host    *host
	project *preprocess.Projection
	z       *graph.Dense // m×: the rows of the graph's nodes that the first hop or layer reads
	near    bool
	x       func() *graph.Dense // m×d pre(X), and pre(x) itself, for the embeddings of linear models; nil of others
	raw     *preprocess.Projection
}

func newJoint(m *Network, adj *graph.CSR, x preprocess.Inputs, pre *preprocess.Parameters) *joint {
	f := m.form()
	z := f.enter(x.Project(f.first()))
	checkGraph(adj, z.Rows, "features")
	if mix, ok := f.(*mixture); ok && mix.weights == nil { // it reads only leading columns of z
		z = padded(z)
	}
	j := &joint{form: f, host: newHost(adj, m.Architecture.Operator), project: pre.Fold(f.first()), z: z}
	if m.Architecture.Mix != nil {
		j.x, j.raw = sync.OnceValue(x.Matrix), pre.Identity(m.Features())
	}
	return j
}

// padded returns z with columns of zeros at its end, so that rows begin where cache lines do: a vector that lies in two
// lines takes two reads, and the first hop reads each row a dozen times. If that is more than a quarter of its memory
// it returns z as it is.
func padded(z *graph.Dense) *graph.Dense {
	const line = 64 / 4
	width := (z.Cols + line - 1) / line * line
	if 4*(width-z.Cols) > z.Cols {
		return z
	}
	out := graph.NewDense(z.Rows, width)
	for i := range z.Rows {
		copy(out.Row(i), z.Row(i))
	}
	return out
}

// Nodes is the number of the graph's nodes.
func (j *joint) Nodes() int { return j.host.adj.Rows }

// enter joins a batch and returns the rows of both blocks that the first hop or layer reads.
func (j *joint) enter(b *attach.Batch) (on *jointGraph, zg, zb *graph.Dense) {
	b.Check(j.Nodes())
	return j.host.join(b), j.z, j.form.enter(project(b, j.project))
}

// Logits returns the arrivals' logits, n×C.
func (j *joint) Logits(b *attach.Batch) *graph.Dense {
	on, zg, zb := j.enter(b)
	_, arrivals := j.form.run(on, zg, zb, false, j.near)
	return arrivals
}

// GraphLogits returns the logits of the graph's own nodes with the batch in the graph, m×C.
func (j *joint) GraphLogits(b *attach.Batch) *graph.Dense {
	nodes, _ := j.everywhere(b)
	return nodes
}

func (j *joint) everywhere(b *attach.Batch) (nodes, arrivals *graph.Dense) {
	on, zg, zb := j.enter(b)
	return j.form.run(on, zg, zb, true, false)
}

// Embeddings returns the arrivals' part of the layer before the classifier.
func (j *joint) Embeddings(b *attach.Batch) *graph.Dense { return j.form.embed(j, b) }

// host is a graph that batches are joined to, with everything that does not change from batch to batch.
type host struct {
	*architecture.Operator
	adj     *graph.CSR // m×m
	degrees []float32  // m
	in, out []float32  // m: scales of the graph by itself
	all     []int32    // 0 … m−1
}

func newHost(adj *graph.CSR, o *architecture.Operator) *host {
	h := &host{Operator: o, adj: adj, degrees: adj.RowSums()}
	h.in, h.out = o.All(h.degrees, 0)
	for node := range adj.Rows {
		h.all = append(h.all, int32(node))
	}
	return h
}

// jointGraph is a graph with a batch in it, 𝔸 = [[B, Rᵀ], [R, ã]] (paper's Eq. 11), never assembled: its operator is
// applied row by row. Degrees are the row sums of 𝔸, weights of R included. An operand is in two blocks: zg of the
// graph's nodes, zb of the arrivals. The graph's block may have the near nodes only, those next to an arrival: arrivals
// read no others, and a network of two layers needs no other hidden states (see [Network.Neighbourhood]).
//
// If the batch's edges are in [attach.Batch.Full], so are R and Rᵀ here, and all nodes of the graph are near. Results
// have the same bits in either form.
type jointGraph struct {
	*host
	batch *attach.Batch

	r    *graph.CSR // n×m R diag(in of the graph's nodes)
	at   *graph.CSR // n×n ã diag(in of the arrivals), or nil
	near []int32    // the near nodes in the order met
	pos  []int32    // m: position in near, −1 elsewhere
	rn   *graph.CSR // r on the near nodes, n×|near|
	rnt  *graph.CSR // |near|×n Rᵀ diag(in of the arrivals)

	full, fullT *graph.Dense // in full: n×m R diag(in of the graph's nodes), m×n Rᵀ diag(in of the arrivals)
	coef        []float32    // in full: the values of adj diag(in of the graph's nodes)

	inG, outG []float32 // m: scales with the batch in the graph; the host's, except of near nodes
	inB, outB []float32 // n
}

func (h *host) join(b *attach.Batch) *jointGraph {
	m, n := h.adj.Rows, b.Len()
	j := &jointGraph{host: h, batch: b, inG: b.Floats(m), outG: b.Floats(m), inB: b.Floats(n), outB: b.Floats(n)}
	copy(j.inG, h.in)
	copy(j.outG, h.out)
	if b.Full != nil {
		j.joinFull()
	} else {
		j.joinSparse(b.R)
	}
	if b.Adj != nil {
		j.at = scaledColumns(b.Adj, j.inB)
	}
	return j
}

// among adds the arrivals that arrival i is joined to, to its degree.
func (j *jointGraph) among(i int, degree float32) float32 {
	if adj := j.batch.Adj; adj != nil {
		degree += adj.RowSum(i)
	}
	return degree
}

// joinSparse is join of edges that are few.
func (j *jointGraph) joinSparse(r *graph.CSR) {
	j.meet(r)
	for k, fromBatch := range j.rnt.RowSums() {
		node := j.near[k]
		j.inG[node], j.outG[node] = j.host.At(float64(j.degrees[node]) + float64(fromBatch))
	}
	degrees := r.RowSums()
	for i := range degrees {
		degrees[i] = j.among(i, degrees[i])
	}
	j.SetAll(j.inB, j.outB, degrees, 0)
	j.rnt = scaledColumns(j.rnt, j.inB)
	j.r = scaledColumns(r, j.inG)
	j.rn.Val = j.r.Val
}

// meet finds the near nodes and puts R on them; values are not scaled yet.
func (j *jointGraph) meet(r *graph.CSR) {
	j.pos = slices.Repeat([]int32{-1}, r.Cols)
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
	if vals == nil {
		for p, c := range cols {
			dst[p] = in[c]
		}
		return dst
	}
	vals = vals[:len(dst)]
	for p, c := range cols[:len(dst)] {
		dst[p] = vals[p] * in[c]
	}
	return dst
}

// scratch is the memory in which one goroutine computes rows.
type scratch struct {
	room  []float32
	row   []float32
	coef  []float32
	nz    *graph.NonZeros
	block graph.Dense // rows that are computed together, in room or in a result; row is one of them
	edges graph.Dense // a view of their edges
}

// scratches are used again by passes over a joined batch.
var scratches = sync.Pool{New: func() any { return &scratch{nz: new(graph.NonZeros)} }}

// borrow returns a scratch for rows of a width, some of them together, with its row at the first. The caller gives it
// back.
func borrow(together, width int) *scratch {
	s := scratches.Get().(*scratch)
	s.nz.Grow(width)
	s.room = slices.Grow(s.room[:0], together*width)[:together*width]
	s.block = graph.Dense{Rows: together, Cols: width, Data: s.room}
	s.row = s.room[:width]
	return s
}

// begin sets the block to rows lo to lo+rows of a result, whose rows are zeros, or else to as many zeros.
func (s *scratch) begin(result *graph.Dense, lo, rows int) {
	s.block.Rows = rows
	if n := rows * s.block.Cols; result != nil {
		s.block.Data = result.Data[lo*s.block.Cols : lo*s.block.Cols+n]
	} else {
		s.block.Data = s.room[:n]
		clear(s.block.Data)
	}
	s.row = s.block.Row(0)
}

// giveBack lets others use the scratch.
func (s *scratch) giveBack() {
	s.block, s.edges, s.row = graph.Dense{}, graph.Dense{}, nil
	scratches.Put(s)
}

// addEdges adds rows lo to hi of edges·z to the block's.
func (s *scratch) addEdges(edges *graph.Dense, lo, hi int, z *graph.Dense) {
	s.edges = graph.Dense{Rows: hi - lo, Cols: edges.Cols, Data: edges.Data[lo*edges.Cols : hi*edges.Cols]}
	graph.AddProduct(&s.block, &s.edges, z, 0, hi-lo)
}

// addProduct adds row·w to y, skipping values that a relu has cleared.
func (s *scratch) addProduct(y []float32, w *graph.Dense) {
	s.nz.Set(s.row)
	s.nz.AddTo(y, w)
}

// gather adds Σ_k vals_k in_k z_k over a row of a matrix to the row.
func (s *scratch) gather(m *graph.CSR, i int, in []float32, z *graph.Dense) {
	cols, vals := m.Row(i)
	s.coef = coefficients(s.coef, cols, vals, in)
	graph.AddRow(s.row, m, i, s.coef, z)
}

// finish multiplies the row by out after adding the node's own message.
func (s *scratch) finish(loops bool, in, out float32, own []float32) {
	if loops {
		graph.Axpy(s.row, in, own)
	}
	graph.Scale(s.row, out)
}

// together is the number of rows that a goroutine computes at once: edges in full are multiplied for several.
func (j *jointGraph) together() int {
	if j.full != nil {
		return attach.ReadBlock
	}
	return 1
}

// nodeRows computes the rows of a few nodes of the graph in the block; zg has all m nodes. In full they are nodes lo to
// hi, else it is the one at lo, among the near ones if that is asked for.
func (j *jointGraph) nodeRows(s *scratch, lo, hi int, nearOnly bool, zg, zb *graph.Dense) {
	if j.full != nil {
		j.fullRows(s, lo, hi, zg, zb)
		return
	}
	for k := lo; k < hi; k++ {
		s.row = s.block.Row(k - lo)
		s.gather(j.adj, int(j.node(k, nearOnly)), j.inG, zg)
	}
	if at := j.pos[j.node(lo, nearOnly)]; at >= 0 {
		cols, vals := j.rnt.Row(int(at))
		graph.AddRows(s.row, cols, vals, zb)
	}
}

// node is the k-th node of the graph, or of the near ones.
func (j *jointGraph) node(k int, nearOnly bool) int32 {
	if nearOnly {
		return j.near[k]
	}
	return int32(k)
}

// arrivalRows computes the rows of arrivals lo to hi in the block, of one if not in full; zg has all m nodes, or the
// near ones only.
func (j *jointGraph) arrivalRows(s *scratch, lo, hi int, zg *graph.Dense, nearOnly bool) {
	if j.full != nil {
		s.addEdges(j.full, lo, hi, zg)
		return
	}
	r := j.r
	if nearOnly {
		r = j.rn
	}
	cols, vals := r.Row(lo)
	graph.AddRows(s.row, cols, vals, zg)
}

// eachNode calls f with the row of every node of the graph, or of the near ones only, in s.row; k is its place
// among them. The row is one of a result of zeros (|nodes|×width), if there is one, and else overwritten by a later
// one. Columns beyond width are not computed. Calls come from several goroutines; f may be nil.
func (j *jointGraph) eachNode(nearOnly bool, width int, zg, zb, result *graph.Dense,
	f func(s *scratch, k int, node int32)) {
	rows, work := j.adj.Rows, (j.adj.NNZ()+j.batch.Stored())*width
	if nearOnly {
		rows, work = len(j.near), (j.adj.NNZ()/max(1, j.adj.Rows)*len(j.near)+j.batch.Stored())*width
	}
	graph.ParallelRows(rows, work, func(lo, hi int) {
		together := min(j.together(), max(1, hi-lo))
		s := borrow(together, width)
		for ; lo < hi; lo += together {
			s.begin(result, lo, min(together, hi-lo))
			j.nodeRows(s, lo, lo+s.block.Rows, nearOnly, zg, zb)
			for k := range s.block.Rows {
				node := j.node(lo+k, nearOnly)
				s.row = s.block.Row(k)
				s.finish(j.Loops, j.inG[node], j.outG[node], zg.Row(int(node)))
				if f != nil {
					f(s, lo+k, node)
				}
			}
		}
		s.giveBack()
	})
}

// eachArrival calls f with the row of every arrival, as eachNode does.
func (j *jointGraph) eachArrival(width int, zg *graph.Dense, nearOnly bool, zb, result *graph.Dense,
	f func(s *scratch, i int)) {
	work := j.batch.Stored() * width
	if j.at != nil {
		work += j.at.NNZ() * width
	}
	graph.ParallelRows(j.batch.Len(), work, func(lo, hi int) {
		together := min(j.together(), max(1, hi-lo))
		s := borrow(together, width)
		for ; lo < hi; lo += together {
			s.begin(result, lo, min(together, hi-lo))
			j.arrivalRows(s, lo, lo+s.block.Rows, zg, nearOnly)
			for k := range s.block.Rows {
				i := lo + k
				s.row = s.block.Row(k)
				if j.at != nil {
					cols, vals := j.at.Row(i)
					graph.AddRows(s.row, cols, vals, zb)
				}
				s.finish(j.Loops, j.inB[i], j.outB[i], zb.Row(i))
				if f != nil {
					f(s, i)
				}
			}
		}
		s.giveBack()
	})
}

// nodes returns the graph's rows of the operator on the leading width columns of [zg; zb], m×width or |near|×width.
func (j *jointGraph) nodes(nearOnly bool, width int, zg, zb *graph.Dense) *graph.Dense {
	rows := j.adj.Rows
	if nearOnly {
		rows = len(j.near)
	}
	out := j.batch.Dense(rows, width)
	j.eachNode(nearOnly, width, zg, zb, out, nil)
	return out
}

// arrivals returns the arrivals' rows of the operator on the leading width columns of [zg; zb], n×width.
func (j *jointGraph) arrivals(width int, zg *graph.Dense, nearOnly bool, zb *graph.Dense) *graph.Dense {
	out := j.batch.Dense(j.batch.Len(), width)
	j.eachArrival(width, zg, nearOnly, zb, out, nil)
	return out
}

// restart runs F ← keep·Â F + (1−keep) F0 with F0 = [seedG; seedB] for the given steps and returns both blocks.
// seedB nil is zero.
func (j *jointGraph) restart(seedG, seedB *graph.Dense, keep float32, steps int) (g, b *graph.Dense) {
	if seedB == nil {
		seedB = j.batch.Dense(j.batch.Len(), seedG.Cols)
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
