package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/product"
)

// jointGraph is an S that is a graph, with an M by which arrivals are joined to it (the paper's Eq. 11): the result of
// coresets, learned and, without M, gcond.
type jointGraph struct {
	*task
	graphParts
}

func (t *task) onGraph(c *condense.Condensation) *jointGraph {
	return &jointGraph{t, graphParts{Condensation: c}}
}

func (j *jointGraph) tables(m infer.Model) (*infer.Tables, error) {
	return j.supportTables(&j.graphParts, m), nil
}

func (j *jointGraph) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return graphPropagation(j.Adj, j.seedsOnS(kind, j.Synthetic, m), alpha), nil
}

func (j *jointGraph) fit(ctx context.Context, name string, progress Progress) (*fitResult, error) {
	return j.fitOnGraph(ctx, name, j.Synthetic, progress)
}

// fitOnGraph fits W_S on S as on any graph: docs/algorithm.md, section 3 with A', X' and Y' in place of A, X and Y.
func (t *task) fitOnGraph(ctx context.Context, name string, s artifact.Synthetic,
	progress Progress) (*fitResult, error) {
	what := "fitting " + name + " on the synthetic graph"
	if shape := t.shape(name); shape.Mix() != nil {
		design := fit.Explicit{X: fit.Propagate(graph.Normalised(s.Adj), shape.Mix(), s.X)}
		return t.chooseLinear(ctx, shape, fit.Problem{Design: design, Labels: s.Labels, Classes: t.classes()},
			WeightDecays, t.validate, progress, what)
	}
	ready := features.Factor(graph.Features{Dense: s.X}, &preprocess.Parameters{Kind: preprocess.None, Scale: 1})
	return t.chooseGNN(ctx, fit.OnOriginal(t.shape(name), s.Adj, ready, s.Labels, t.classes()), onS(),
		t.ground().validate, progress, what)
}

// supportTables returns the frozen tables of an S that was made for joint attachment: S attached once to the
// support nodes, all of them at once (docs/algorithm.md, section 2). Arrivals then read the degrees and layers of S
// with these nodes attached.
func (t *task) supportTables(c *graphParts, m infer.Model) *infer.Tables {
	all := eval.Attach(t.data, t.original, [][]int32{t.data.Validation}, true).On(c.M).Batches[0]
	s := c.Adj
	tables := m.Tables(attached(s, all.Sparse(), all.Adj), stackedInputs{preprocess.Ready(c.X), t.pre.Raw(all.X)})
	for k, u := range tables.U {
		tables.U[k] = firstRows(u, s.Rows)
	}
	tables.C = firstRows(tables.C, s.Rows)
	return tables
}

// attached returns the paper's Eq. 11: [[A', rᵀ], [r, ã]], (N'+n)×(N'+n). among may be nil.
func attached(adj, r, among *graph.CSR) *graph.CSR {
	m := adj.Rows
	edges := make([]graph.Edge, 0, adj.NNZ()+2*r.NNZ())
	each(adj, func(i, j int32, v float32) { edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}) })
	each(r, func(i, j int32, v float32) {
		i += int32(m)
		edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}, graph.Edge{Row: j, Col: i, Val: v})
	})
	if among != nil {
		each(among, func(i, j int32, v float32) {
			edges = append(edges, graph.Edge{Row: i + int32(m), Col: j + int32(m), Val: v})
		})
	}
	return product.Assemble(m+r.Rows, m+r.Rows, edges)
}

// each visits the entries of a matrix; a pattern has ones.
func each(m *graph.CSR, visit func(i, j int32, v float32)) {
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for p, j := range cols {
			v := float32(1)
			if vals != nil {
				v = vals[p]
			}
			visit(int32(i), j, v)
		}
	}
}

// stackedInputs are the inputs of two graphs, one after the other.
type stackedInputs [2]preprocess.Inputs

// Project returns both projections, stacked vertically.
func (s stackedInputs) Project(w *graph.Dense) *graph.Dense {
	return stack(s[0].Project(w), s[1].Project(w))
}

// Matrix returns both matrices, stacked vertically.
func (s stackedInputs) Matrix() *graph.Dense { return stack(s[0].Matrix(), s[1].Matrix()) }

// firstRows returns a copy of rows 0…n-1.
func firstRows(m *graph.Dense, n int) *graph.Dense {
	out := graph.NewDense(n, m.Cols)
	copy(out.Data, m.Data)
	return out
}

// graphPropagation returns the tables of F ← αÂF + (1−α)F0 on an S that is a graph of its own: F^t/√D' of A' alone
// (docs/algorithm.md, section 6).
func graphPropagation(adj *graph.CSR, f0 *graph.Dense, alpha float32) *infer.Tables {
	hat, inv := graph.Normalised(adj), graph.InvSqrt(adj.RowSums(), 1)
	out, f := &infer.Tables{}, f0
	for range infer.PropagationSteps {
		table := graph.NewDense(f.Rows, f.Cols)
		for j := range f.Rows {
			graph.Axpy(table.Row(j), inv[j], f.Row(j))
		}
		out.U = append(out.U, table)
		next := graph.Mul(hat, f)
		for k := range next.Data {
			next.Data[k] = alpha*next.Data[k] + (1-alpha)*f0.Data[k]
		}
		f = next
	}
	return out
}

// alone returns a batch without arrivals, for a graph's own nodes.
func alone(x graph.Features, nodes int) *attach.Batch { return withoutEdges(x.Take(nil), nodes) }

// withoutEdges returns arrivals without edges to a graph of so many nodes.
func withoutEdges(x graph.Features, nodes int) *attach.Batch {
	n := x.Rows()
	return &attach.Batch{X: x, R: &graph.CSR{Rows: n, Cols: nodes, RowPtr: make([]int, n+1)}, Known: make([]int32, n)}
}

// cachedTables is the method cached: T's own tables, with which M is compared (docs/algorithm.md, section 7). It is
// also the way in which a model is frozen on T.
type cachedTables struct {
	*task
	graphParts
}

func (t *task) condenseNothing(ctx context.Context, _ []*fitResult, _ Progress) (condensation, error) {
	return t.itself(), ctx.Err()
}

// itself returns T as its own condensed graph.
func (t *task) itself() *cachedTables {
	return &cachedTables{t, graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}}}
}

func (u *cachedTables) tables(m infer.Model) (*infer.Tables, error) {
	return m.Tables(u.original.Adj, u.inputs), nil
}

func (u *cachedTables) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return u.propagationOnT(kind, m, alpha), nil
}

// propagationOnT returns T's own frozen tables of label or error propagation.
func (t *task) propagationOnT(kind string, m infer.Model, alpha float32) *infer.Tables {
	return infer.PropagationTables(t.original.Adj, t.seeds(kind, m), alpha)
}
