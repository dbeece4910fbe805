package merge

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/internal/durable"
	"rivulet/internal/spill"
	"rivulet/schema"
)

// Data is a data set that arrivals are merged into.
type Data struct{ *dataset.Dataset }

// Name returns the name of the data set.
func (d *Data) Name() string { return d.Dataset.Name }

// Rename changes it.
func (d *Data) Rename(name string) { d.Dataset.Name = name }

// Features returns the number of features, d.
func (d *Data) Features() int { return d.X.Cols() }

// Schema gives the features' positions their meaning; nil: they have no names.
func (d *Data) Schema() *schema.Schema { return d.Dataset.Schema }

// Nodes returns the number of nodes of T.
func (d *Data) Nodes() int { return len(d.Train) + len(d.Unlabelled) }

// Save stores the data in a directory, which must not exist or be empty. more writes files beside it. When Save
// returns, everything is durable; a crash leaves the whole graph or nothing.
func (d *Data) Save(disk durable.Disk, dir string, more func(dir, fingerprint string) error) error {
	return disk.Install(dir, func(dir string) error {
		if err := d.SaveOn(disk, dir); err != nil {
			return err
		}
		return more(dir, d.Fingerprint())
	})
}

func (d *Data) form() form               { return form{weighted: d.Adj.Val != nil, by: d.By} }
func (d *Data) columns() []schema.Column { return d.Values }
func (d *Data) rows() int64              { return int64(len(d.IDs)) }

func (d *Data) typed() bool { return d.NodeTypes != nil }

func (d *Data) answers() *answers {
	a, _ := answersOf(d.Dataset)
	return a
}

func (d *Data) roles() []Role {
	roles := make([]Role, len(d.IDs))
	for _, of := range []struct {
		role  Role
		nodes []int32
	}{{Train, d.Train}, {Unlabelled, d.Unlabelled}, {HeldOut, d.Validation}, {HeldOut, d.Test}} {
		for _, i := range of.nodes {
			roles[i] = of.role
		}
	}
	return roles
}

// eachNode gives the nodes in their order.
func (d *Data) eachNode(ctx context.Context, use func(id string, role Role, answer int32) error) error {
	_, answers := answersOf(d.Dataset)
	for i, role := range d.roles() {
		if err := errors.Join(every(ctx, int64(i)), use(d.IDs[i], role, answers[i])); err != nil {
			return err
		}
	}
	return nil
}

// eachEdge gives the edges, each at least once.
func (d *Data) eachEdge(ctx context.Context, use func(source, target string, p property) error) error {
	of := d.form()
	for i := range d.Adj.Rows {
		err := of.eachEdge(d.Dataset, i, func(j int32, p property) error { return use(d.IDs[i], d.IDs[j], p) })
		if err := errors.Join(err, every(ctx, int64(i))); err != nil {
			return err
		}
	}
	return nil
}

// eachLabelled gives the nodes whose class came from a label.
func (d *Data) eachLabelled(use func(id string) error) error {
	for _, i := range d.Merged.Labelled {
		if err := use(d.IDs[i]); err != nil {
			return err
		}
	}
	return nil
}

// eachWaiting gives the edges that wait, in the order in which they came: the id of the other end is not known, and of
// an edge of its own the node may not be known either.
func (d *Data) eachWaiting(use func(node, id string, p property) error) error {
	of := d.form()
	for k := range d.Merged.Waiting {
		w := &d.Merged.Waiting[k]
		node := w.From
		if w.Node >= 0 {
			node = d.IDs[w.Node]
		}
		if err := use(node, w.ID, of.ofWaiting(w)); err != nil {
			return err
		}
	}
	return nil
}

// assembly is a data set that is being put together.
type assembly struct {
	*growth
	old    *dataset.Dataset
	d      *dataset.Dataset
	index  map[string]int32
	source []*event.Features // per arrived node; nil for features of the data
}

// grow returns the data with the growth's decisions carried out.
func (d *Data) grow(g *growth) (*Data, error) {
	out := &assembly{growth: g, old: d.Dataset, index: make(map[string]int32, len(d.IDs)),
		source: make([]*event.Features, len(d.IDs))}
	out.d = &dataset.Dataset{Name: d.Dataset.Name, IDs: slices.Clone(d.IDs), Labels: slices.Clone(d.Labels),
		Classes: d.Classes, Task: d.Task, Targets: longer(d.Targets, len(d.IDs)), Candidates: slices.Clone(d.Candidates),
		NodeTypes: d.NodeTypes, Dropped: d.Dropped,
		Validation: d.Validation, Test: d.Test, BagOfWords: d.BagOfWords, Notes: d.Notes}
	for i, id := range d.IDs {
		if _, gone := g.forgotten[id]; !gone { // an arrival with its id is another node
			out.index[id] = int32(i)
		}
	}
	if err := out.nodes(d.roles()); err != nil {
		return nil, err
	}
	if err := out.edges(); err != nil {
		return nil, err
	}
	if d.X.Sparse != nil {
		out.d.X.Sparse = out.sparse()
	} else {
		out.d.X.Dense = out.dense()
	}
	out.d.Schema, out.d.Values = d.Dataset.Schema, out.values()
	return &Data{g.withoutForgotten(out.d, len(d.IDs))}, nil
}

// nodes sets roles and classes of the nodes; the last ones are new.
func (g *assembly) nodes(roles []Role) error {
	changes, features := newDecisions(g.changes), newByRow(g.ofNodes, g.nextFeatures)
	for i := range roles {
		if f, is, err := features.on(int64(i) + 1); err != nil {
			return err
		} else if is {
			g.source[i] = &f
		}
		is, changed, err := changes.on(int64(i) + 1)
		if err != nil {
			return err
		}
		if _, gone := g.forgotten[g.d.IDs[i]]; gone {
			roles[i] = None
		} else if changed && is.role != None {
			roles[i] = is.role
			g.answers.set(g.d, i, is.class)
		}
	}
	if err := g.arrive(&roles); err != nil {
		return err
	}
	for i, role := range roles {
		switch g.answers.role(role) {
		case Train:
			g.d.Train = append(g.d.Train, int32(i))
		case Unlabelled:
			g.d.Unlabelled = append(g.d.Unlabelled, int32(i))
		case None, HeldOut:
		}
	}
	err := g.labelled.Each(0, func(r *spill.Record) error {
		g.d.Merged.Labelled = append(g.d.Merged.Labelled, g.index[r.NextText()])
		return nil
	})
	slices.Sort(g.d.Merged.Labelled)
	return err
}

// arrive adds the arrivals that join T.
func (g *assembly) arrive(roles *[]Role) error {
	all := map[int32]int32{} // answers of nodes
	err := g.eachJoin(func(a *arrival, f event.Features, is decision) error {
		i, known := g.index[a.id] // a node in no role
		if !known {
			i = int32(len(g.d.IDs))
			g.index[a.id] = i
			g.d.IDs, g.d.Labels = append(g.d.IDs, a.id), append(g.d.Labels, -1)
			g.source, *roles = append(g.source, nil), append(*roles, None)
			if g.d.Candidates != nil {
				g.d.Candidates = append(g.d.Candidates, false)
			}
		}
		g.source[i], (*roles)[i], all[i] = &f, is.role, is.class
		return nil
	})
	g.d.Targets = longer(g.d.Targets, len(g.d.IDs))
	for i, answer := range all {
		g.answers.set(g.d, int(i), answer)
	}
	return err
}

// edges merges the new edges with the data's: symmetric, columns ascending, each once.
func (g *assembly) edges() error {
	old, n := g.old.Adj, len(g.d.IDs)
	more := make([][]link, n) // new neighbours of each node
	err := g.eachPair(func(p *pair) error {
		if !p.heavier {
			g.Report.Edges++
		}
		i, j := g.index[p.low], g.index[p.high]
		more[i], more[j] = append(more[i], link{j, p.of}), append(more[j], link{i, g.form.turned(p.of)})
		return nil
	})
	if err != nil {
		return err
	}
	g.d.Adj = joined(old, g.form.weighted, more, g.form.ofWeight)
	if g.form.by != nil {
		g.relate(more)
	}
	return g.eachUnmatched(func(node, id string, p property) error {
		g.d.Merged.Waiting = append(g.d.Merged.Waiting, g.form.waiting(g.index, node, id, p))
		return nil
	})
}

// link is an edge of a node.
type link struct {
	to int32
	of property
}

// joined returns a matrix with more entries: columns ascending, each once, with its largest weight.
func joined(old *graph.CSR, weighted bool, more [][]link, weight func(property) float32) *graph.CSR {
	n := len(more)
	adj := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, old.NNZ())}
	if weighted {
		adj.Val = make([]float32, 0, old.NNZ()) // edges have weights, also if each is 1 now
	}
	for i, of := range more {
		row := make([]graph.Edge, 0, len(of))
		if i < old.Rows {
			cols, vals := old.Row(i)
			for k, j := range cols {
				if row = append(row, graph.Edge{Col: j, Val: 1}); vals != nil {
					row[k].Val = vals[k]
				}
			}
		}
		for _, l := range of {
			row = append(row, graph.Edge{Col: l.to, Val: weight(l.of)})
		}
		slices.SortFunc(row, func(a, b graph.Edge) int {
			return cmp.Or(cmp.Compare(a.Col, b.Col), cmp.Compare(b.Val, a.Val))
		})
		for _, e := range slices.CompactFunc(row, func(a, b graph.Edge) bool { return a.Col == b.Col }) {
			if adj.ColIdx = append(adj.ColIdx, e.Col); weighted {
				adj.Val = append(adj.Val, e.Val)
			}
		}
		adj.RowPtr[i+1] = len(adj.ColIdx)
	}
	return adj
}

// relate sets the edges by their types and directions.
func (g *assembly) relate(more [][]link) {
	by, before := g.form.by, g.old.Nodes()
	out := make([]*graph.CSR, max(1, len(by.Types)))
	for kind := range out {
		r := kind * by.Len() / len(out)
		old, fresh := g.old.Relations.Relation(r, before), make([][]link, len(more))
		for i, of := range more {
			for _, l := range of {
				if l.of == g.form.related(kind, false) {
					fresh[i] = append(fresh[i], l)
				}
			}
		}
		out[kind] = joined(old, false, fresh, func(property) float32 { return 1 })
	}
	g.d.Relate(by, out...)
}

// sparse returns the features as flags or counts; an all-ones matrix stays a pattern.
func (g *assembly) sparse() *graph.CSR {
	old := g.old.X.Sparse
	x := &graph.CSR{Rows: len(g.d.IDs), Cols: old.Cols, RowPtr: make([]int, len(g.d.IDs)+1), Val: []float32{}}
	for i, a := range g.source {
		if a == nil {
			cols, vals := old.Row(i)
			x.ColIdx = append(x.ColIdx, cols...)
			if vals == nil {
				for range cols {
					x.Val = append(x.Val, 1)
				}
			} else {
				x.Val = append(x.Val, vals...)
			}
		} else if a.Sparse {
			x.ColIdx, x.Val = append(x.ColIdx, a.Indices...), append(x.Val, a.Values...)
		} else {
			for c, v := range a.Values {
				if v != 0 {
					x.ColIdx, x.Val = append(x.ColIdx, int32(c)), append(x.Val, v)
				}
			}
		}
		x.RowPtr[i+1] = len(x.ColIdx)
	}
	x.DropOnes()
	return x
}

func (g *assembly) dense() *graph.Dense {
	x := graph.NewDense(len(g.d.IDs), g.old.X.Dense.Cols)
	for i, a := range g.source {
		row := x.Row(i)
		switch {
		case a == nil:
			copy(row, g.old.X.Dense.Row(i))
		case a.Sparse:
			for p, c := range a.Indices {
				row[c] = a.Values[p]
			}
		default:
			copy(row, a.Values)
		}
	}
	return x
}

// values returns the named columns with the arrivals' values; nil if there are none, or if an arrival came by position,
// without names.
func (g *assembly) values() []schema.Column {
	old := g.old.Values
	for _, a := range g.source {
		if old == nil || a != nil && a.Named == nil {
			return nil
		}
	}
	out := make([]schema.Column, len(old))
	for k := range old {
		out[k] = old[k].Clone()
		for i, a := range g.source {
			if a == nil {
				continue
			}
			v := valueOf(a.Named, old[k].Name)
			if t := g.old.NodeTypes; t != nil && t.Column == old[k].Name && v.Type == schema.Missing {
				v = schema.Value{Type: schema.Text, Text: t.Arriving[0]} // the only one, as an arrival need not say it
			}
			if i < g.old.Nodes() {
				out[k].Set(i, v)
			} else {
				out[k].Append(v)
			}
		}
	}
	return out
}

// valueOf returns the value of a name, missing if the arrival does not have it.
func valueOf(fields []schema.Field, name string) schema.Value {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Value
		}
	}
	return schema.Value{}
}
