package infer

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// Recurrence takes nodes of a graph through the hops of a model, any part of the nodes at a time. It gives the rows of
// the frozen tables and the logits of these nodes. Only the sums along edges are left to the caller, which may have the
// graph in memory ([Network.Tables] has) or in tables on disk:
//
//	state, part = Enter(X)
//	for hop = 0 … Len()−2:   sums_j = Σ_k B_jk Send(hop, state)_k       state, part = Step(hop, state, sums)
//	the last hop:            the same sums                              logits = Close(state, sums)
//
// A node is followed twice: as it is in the graph, and as it would be with one neighbour more, the arrival that reads
// its tables. Both receive the same sums. The recurrences stand beside the kernels: convolution.go, mixture.go and
// restart.go. A row of a result depends on its own row alone and has the same bits on every processor.
type Recurrence struct {
	form     form
	operator *architecture.Operator
	edge     float64 // the weight of the edge to the one neighbour more
}

// recurrence is of an unweighted graph.
func recurrence(f form, o *architecture.Operator) *Recurrence { return &Recurrence{f, o, 1} }

// Recurrence returns the model's. It panics if the model is not [Freezable].
func (m *Network) Recurrence() *Recurrence {
	return recurrence(m.freezable(), m.Architecture.Operator)
}

// PropagationRecurrence is the recurrence of label and error propagation with α = 1 ([PropagationTables]), on seeds of
// a width. It has no ways back, and Close is of no use.
func PropagationRecurrence(width int) *Recurrence {
	return recurrence(&restart{width: width, keep: 1, hops: propagation.Steps}, architecture.Normalised)
}

// LinearRecurrence is the recurrence of K hops of Â on any Z = XW ([HopTables]); Close adds no bias.
func LinearRecurrence(width, hops int) *Recurrence {
	return recurrence(&mixture{bias: make([]float32, width), hops: hops}, architecture.Normalised)
}

// State is a node's numbers for the next hop; rows are nodes.
type State struct {
	Z    *graph.Dense // the node in the graph as it is; its leading columns are sent
	Met  *graph.Dense // the node with one neighbour more; no columns before the last hop
	Rest *graph.Dense // mixture with several weights: Σ w_t Â^t z; restart: z⁰; else no columns
}

// Beside returns the state as one matrix, Z, Met and Rest side by side.
func (s *State) Beside() *graph.Dense { return graph.Beside(s.Z, s.Met, s.Rest) }

// stateWidths are the numbers of columns of a state before a hop.
type stateWidths struct{ z, met, rest int }

// Len is the number of hops to the logits. The tables need one less.
func (r *Recurrence) Len() int { return r.form.depth() }

// Sent is the number of columns that a node sends at a hop.
func (r *Recurrence) Sent(hop int) int { return r.form.sent(hop) }

// Part is the number of columns of table u_k and of the columns of c that come with it, k = 0 … Len()−1.
func (r *Recurrence) Part(k int) (u, c int) { return r.form.part(k) }

// Columns is the width of [State.Beside] before a hop.
func (r *Recurrence) Columns(hop int) int {
	w := r.form.state(hop)
	return w.z + w.met + w.rest
}

// Split is the inverse of [State.Beside] for the state before a hop.
func (r *Recurrence) Split(hop int, all *graph.Dense) *State {
	w := r.form.state(hop)
	if all.Cols != w.z+w.met+w.rest {
		panic(fmt.Sprintf("infer: a state of %s before hop %d, wants %d columns", shape(all), hop, w.z+w.met+w.rest))
	}
	met := w.z + w.met
	return &State{all.Columns(0, w.z), all.Columns(w.z, met), all.Columns(met, all.Cols)}
}

// Enter returns the state before the first hop of nodes with these inputs and degrees (sums of edge weights), and part
// 0 of the tables: u_0 and its columns of c, side by side.
func (r *Recurrence) Enter(x preprocess.Inputs, degrees []float32) (*State, *graph.Dense) {
	return r.EnterSeeds(r.form.enter(x.Project(r.form.first())), degrees)
}

// EnterSeeds is [Recurrence.Enter] for the seeds of [PropagationRecurrence], which need no weights.
func (r *Recurrence) EnterSeeds(z *graph.Dense, degrees []float32) (*State, *graph.Dense) {
	return r.run(-1, &State{Z: z}, nil, degrees)
}

// Send returns in∘z, the messages of nodes in this state to each neighbour at a hop (see [architecture.Operator]).
func (r *Recurrence) Send(hop int, s *State, degrees []float32) *graph.Dense {
	in, _ := r.operator.All(degrees, 0)
	out := graph.NewDense(s.Z.Rows, r.Sent(hop))
	for j := range out.Rows {
		row := out.Row(j)
		for k, v := range s.Z.Row(j)[:len(row)] {
			row[k] = in[j] * v
		}
	}
	return out
}

// Step returns the state after a hop that is not the last one, and part hop+1 of the tables. Sums are the nodes' summed
// messages.
func (r *Recurrence) Step(hop int, s *State, sums *graph.Dense, degrees []float32) (*State, *graph.Dense) {
	return r.run(hop, s, sums, degrees)
}

// Close returns the logits after the last hop.
func (r *Recurrence) Close(s *State, sums *graph.Dense, degrees []float32) *graph.Dense {
	last, _ := r.run(r.Len()-1, s, sums, degrees)
	return last.Z
}

// run takes nodes through a hop, or where hop is −1 into the state before the first one.
func (r *Recurrence) run(hop int, s *State, sums *graph.Dense, degrees []float32) (next *State, part *graph.Dense) {
	n, f := len(degrees), r.form
	if s.Z.Rows != n || sums != nil && (sums.Rows != n || sums.Cols != f.sent(hop)) {
		panic(fmt.Sprintf("infer: a state of %s with sums of %s for %d degrees at hop %d", shape(s.Z), shape(sums), n, hop))
	}
	w, u := f.state(hop+1), 0
	next = &State{graph.NewDense(n, w.z), graph.NewDense(n, w.met), graph.NewDense(n, w.rest)}
	if hop+1 < f.depth() {
		columns, ways := f.part(hop + 1)
		u, part = columns, graph.NewDense(n, columns+ways)
	}
	scales := r.scales(degrees)
	width := max(f.sent(max(hop, 0)), w.z)
	graph.ParallelRows(n, n*width*(w.z+1), func(lo, hi int) {
		room := borrow(1, f.sent(max(hop, 0)))
		defer room.giveBack()
		for j := lo; j < hi; j++ {
			x := scales.node(j)
			x.read(s, j)
			x.write(next, j)
			if part != nil {
				x.u, x.ways = part.Row(j)[:u], part.Row(j)[u:]
			}
			if hop < 0 {
				f.begin(&x)
				continue
			}
			x.sum = sums.Row(j)
			f.step(hop, room, &x)
		}
	})
	return next, part
}

// node is one node at a hop.
type node struct {
	degree        float32
	edge          float64   // weight of the edge to the one neighbour more
	in, out       float32   // scales of the node as it is
	metIn, metOut float32   // and with one neighbour more
	z, met, rest  []float32 // its row of the state before
	sum           []float32 // its neighbours' messages

	nextZ, nextMet, nextRest []float32 // its row of the state after, which is added to; empty if not wanted
	u, ways                  []float32 // its row of the tables' part, which is added to; empty if not wanted
}

func (x *node) read(s *State, j int) {
	x.z, x.met, x.rest = s.Z.Row(j), rowOrNone(s.Met, j), rowOrNone(s.Rest, j)
}

func (x *node) write(s *State, j int) {
	x.nextZ, x.nextMet, x.nextRest = rowOrNone(s.Z, j), rowOrNone(s.Met, j), rowOrNone(s.Rest, j)
}

func rowOrNone(m *graph.Dense, j int) []float32 {
	if m == nil {
		return nil
	}
	return m.Row(j)
}

// scales are an operator's for nodes of these degrees.
type scales struct {
	edge                            float64
	degrees, in, out, metIn, metOut []float32
}

func (r *Recurrence) scales(degrees []float32) *scales {
	s := &scales{edge: r.edge, degrees: degrees}
	s.in, s.out = r.operator.All(degrees, 0)
	s.metIn, s.metOut = r.operator.All(degrees, r.edge)
	return s
}

func (s *scales) node(j int) node {
	return node{degree: s.degrees[j], edge: s.edge, in: s.in[j], out: s.out[j], metIn: s.metIn[j], metOut: s.metOut[j]}
}

// widths are the numbers of columns of the tables u_0, u_1, … and of c.
func widths(f form) (u []int, c int) {
	for k := range f.depth() {
		width, ways := f.part(k)
		u, c = append(u, width), c+ways
	}
	return u, c
}

// tablesAt are the tables for edges of several weights, one below the other.
func (r *Recurrence) tablesAt(adj *graph.CSR, z *graph.Dense, edges []float32) *Tables {
	if len(edges) == 0 {
		return r.tables(adj, z)
	}
	all := make([]*Tables, len(edges))
	for b, w := range edges {
		at := *r
		at.edge = float64(w)
		all[b] = at.tables(adj, z)
	}
	return Below(all...)
}

// tables takes all nodes of a graph through the hops to their tables; z has the rows that the first hop reads, which
// stay as they are. It is the loop of [Recurrence] without its matrices: a state is kept where a later hop reads it.
func (r *Recurrence) tables(adj *graph.CSR, z *graph.Dense) *Tables {
	t := r.eachTable(adj, z, nil)
	if t.C.Cols == 0 {
		t.C = nil
	}
	return t
}

// eachTable returns the tables. If visit is not nil it gets each U as soon as it is made, and the result has no U.
func (r *Recurrence) eachTable(adj *graph.CSR, z *graph.Dense, visit func(u *graph.Dense)) *Tables {
	m := adj.Rows
	u, c := widths(r.form)
	t := &Tables{U: make([]*graph.Dense, len(u)), C: graph.NewDense(m, c)}
	w := &tableWalk{Recurrence: r, scales: r.scales(adj.RowSums()), adj: adj, t: t, now: &State{Z: z}}
	for k, width := range u {
		t.U[k] = graph.NewDense(m, width)
		w.step(k - 1)
		if visit != nil {
			visit(t.U[k])
			t.U[k] = nil
		}
	}
	return t
}

// tableWalk is a graph on its way to its tables.
type tableWalk struct {
	*Recurrence
	*scales
	adj  *graph.CSR
	t    *Tables
	at   int          // columns of c that are done
	now  *State       // before the hop
	sent *graph.Dense // in∘z, of models that do not send as much as a hidden layer is wide
}

// step makes the state after a hop, and its part of the tables.
func (w *tableWalk) step(hop int) {
	f, m := w.form, w.adj.Rows
	next := w.next(hop)
	u, ways := f.part(hop + 1)
	width, work := f.sent(max(hop, 0)), m*u
	if hop >= 0 {
		w.send(width)
		work = (w.adj.NNZ() + m) * width
	}
	graph.ParallelRows(m, work, func(lo, hi int) {
		room := borrow(2, width)
		defer room.giveBack()
		sum := room.block.Row(1)
		for j := lo; j < hi; j++ {
			x := w.node(j)
			x.read(w.now, j)
			x.u = w.t.U[hop+1].Row(j)[:u]
			if ways > 0 {
				x.ways = w.t.C.Row(j)[w.at : w.at+ways]
			}
			if hop < 0 { // the state before the first hop is z as it is
				f.begin(&x)
				continue
			}
			x.write(next, j)
			x.nextRest = nil // it stays
			clear(sum)
			w.gather(room, sum, j)
			x.sum = sum
			f.step(hop, room, &x)
		}
	})
	w.now, w.at = next, w.at+ways
}

// next is the memory of the state after a hop, with only the matrices that a later hop reads.
func (w *tableWalk) next(hop int) *State {
	m, next := w.adj.Rows, &State{}
	switch f := w.form.(type) {
	case *convolution:
		if hop < 0 { // both rows are z
			return &State{Z: w.now.Z, Met: w.now.Z}
		}
		if hop+2 < f.depth() {
			columns := f.state(hop + 1)
			next.Z, next.Met = graph.NewDense(m, columns.z), graph.NewDense(m, columns.met)
		}
	case *mixture:
		next.Met = w.t.U[hop+1]
		if hop < 0 {
			next.Z = w.now.Z
		} else if hop+2 < f.depth() {
			next.Z = w.inPlace(hop, w.now.Z)
		}
	case *restart:
		if hop < 0 {
			return &State{Z: w.now.Z, Met: w.now.Z, Rest: w.now.Z}
		}
		if hop+2 < f.depth() {
			next.Z, next.Met, next.Rest = w.inPlace(hop, w.now.Z), w.inPlace(hop, w.now.Met), w.now.Rest
		}
	}
	return next
}

// inPlace is the memory of a matrix of a state, or before the first hop new memory, as that state is the caller's.
func (w *tableWalk) inPlace(hop int, of *graph.Dense) *graph.Dense {
	if hop == 0 {
		return graph.NewDense(of.Rows, of.Cols)
	}
	return of
}

// send makes messages ready. Messages that are as wide as a hidden layer are scaled edge by edge.
func (w *tableWalk) send(width int) {
	switch w.form.(type) {
	case *convolution:
		return
	}
	if w.sent == nil {
		w.sent = graph.NewDense(w.adj.Rows, width)
	}
	graph.ParallelRows(w.adj.Rows, w.adj.Rows*width, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			row := w.sent.Row(j)
			clear(row)
			graph.Axpy(row, w.in[j], w.now.Z.Row(j))
		}
	})
}

// gather adds the messages to node j to sum.
func (w *tableWalk) gather(s *scratch, sum []float32, j int) {
	cols, vals := w.adj.Row(j)
	if w.sent != nil {
		graph.AddRow(sum, w.adj, j, vals, w.sent)
		return
	}
	s.coef = coefficients(s.coef, cols, vals, w.in)
	graph.AddRow(sum, w.adj, j, s.coef, w.now.Z)
}
