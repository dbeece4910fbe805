package trainer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// heldOutNodes are the nodes that are held out, or a sample of them, and the nodes of T that they read.
type heldOutNodes struct {
	nodes    []solved.HeldNode
	x        graph.Features // their raw features
	original []solved.Number
	asked    stage.Table // original, by block
}

// holdOut brings the validation and test nodes, and makes the task in which they are the whole data set beside
// those nodes of T that they read.
func (s *tablesHolder) holdOut(ctx context.Context) error {
	g := s.graph
	roles := g.Summary.Roles
	o := solved.HeldOptions{Validation: solved.SampleOf(s.options.Seed, roles[solved.Validation], stagedJudges),
		Test: solved.SampleOf(s.options.Seed, roles[solved.Test], stagedTest)}
	made, err := s.run(ctx, stage.NewSpec(solved.StageHeld, o, nil, 2), g.Names, g.HeldFeatures, g.Held)
	if err != nil {
		return err
	}
	s.held = &heldOutNodes{asked: made[1]}
	var parts []graph.Features
	for r, err := range s.engine.Read(ctx, made[0]) {
		if err != nil {
			return err
		}
		nodes, x, err := solved.ReadHeld(r)
		if err != nil {
			return err
		}
		s.held.nodes = append(s.held.nodes, nodes...)
		for _, n := range nodes {
			s.held.original = append(s.held.original, n.Original...)
		}
		parts = append(parts, x)
	}
	slices.SortFunc(s.held.original, solved.Number.Compare)
	s.held.original = slices.Compact(s.held.original)
	s.held.x = stackedFeatures(parts)
	return s.newTask()
}

// stackedFeatures are all rows, one part after the other.
func stackedFeatures(parts []graph.Features) graph.Features {
	sparse := slices.ContainsFunc(parts, func(x graph.Features) bool { return x.Sparse != nil })
	if !sparse {
		out := &graph.Dense{}
		for _, p := range parts {
			out.Rows, out.Cols = out.Rows+p.Rows(), max(out.Cols, p.Cols())
			out.Data = append(out.Data, p.Dense.Data...)
		}
		return graph.Features{Dense: out}
	}
	out := &graph.CSR{RowPtr: []int{0}}
	for _, p := range parts {
		if p.Sparse == nil { // no rows
			continue
		}
		before := len(out.ColIdx)
		for _, end := range p.Sparse.RowPtr[1:] {
			out.RowPtr = append(out.RowPtr, before+end)
		}
		out.Rows, out.Cols = out.Rows+p.Rows(), p.Cols()
		out.ColIdx, out.Val = append(out.ColIdx, p.Sparse.ColIdx...), append(out.Val, p.Sparse.Val...)
	}
	return graph.Features{Sparse: out}
}

// newTask makes a task of the nodes held out, numbered first, and the nodes of T behind them. Of T's nodes it
// has neither features nor edges among themselves: only tables are read of them.
func (s *tablesHolder) newTask() error {
	d, original := s.attached(s.held.original)
	m := len(original.Nodes)
	original.X = graph.Features{Dense: graph.NewDense(0, s.graph.Summary.Width)}
	original.Adj = &graph.CSR{Rows: m, Cols: m, RowPtr: make([]int, m+1)}
	original.IDs, original.Labels = make([]string, m), make([]int32, m)
	if len(d.Validation) == 0 {
		return fmt.Errorf("no validation node is in the sample")
	}
	return s.taskOf(d, original)
}

// attached is a data set of the nodes held out, numbered first, with their edges to some nodes of T, which are behind
// them. Of T's nodes it has nothing else.
func (s *tablesHolder) attached(numbers []solved.Number) (*dataset.Dataset, *dataset.Original) {
	h, index := s.held, s.classIndex()
	n, m := len(h.nodes), len(numbers)
	d := &dataset.Dataset{Name: s.source.Name, X: h.x, Classes: s.classes, BagOfWords: s.source.BagOfWords}
	place := make(map[solved.Number]int32, n+m)
	for k, node := range h.nodes {
		place[node.Number] = int32(k)
		d.IDs, d.Labels = append(d.IDs, node.ID), append(d.Labels, index[node.Label])
		if node.Role == solved.Validation {
			d.Validation = append(d.Validation, int32(k))
		} else {
			d.Test = append(d.Test, int32(k))
		}
	}
	original := &dataset.Original{Index: slices.Repeat([]int32{-1}, n)}
	for k, number := range numbers {
		i := int32(n + k)
		place[number] = i
		original.Nodes, original.Index = append(original.Nodes, i), append(original.Index, int32(k))
	}
	d.Adj = &graph.CSR{Rows: n + m, Cols: n + m, RowPtr: make([]int, n+m+1)}
	for k, node := range h.nodes {
		start := len(d.Adj.ColIdx)
		for _, list := range [][]solved.Number{node.Original, node.Other} {
			for _, j := range list {
				if at, ok := place[j]; ok {
					d.Adj.ColIdx = append(d.Adj.ColIdx, at)
				}
			}
		}
		slices.Sort(d.Adj.ColIdx[start:])
		d.Adj.RowPtr[k+1] = len(d.Adj.ColIdx)
	}
	for k := range m {
		d.Adj.RowPtr[n+k+1] = len(d.Adj.ColIdx)
	}
	return d, original
}

func (s *tablesHolder) taskOf(d *dataset.Dataset, original *dataset.Original) error {
	method, _ := methodOf(s.options.Method)
	o := s.options
	o.Costs = false // they are of a whole M and of T, which are not in memory
	t := &task{
		options: o,
		holder:  s,
		facts: artifact.Data{Name: s.source.Name, Fingerprint: s.fingerprint, Nodes: int(s.graph.Nodes),
			Edges: int(s.graph.Entries / 2), Features: s.graph.Summary.Width, Classes: s.classes},
		method:   method,
		schema:   s.source.Schema,
		named:    s.source.named,
		data:     d,
		original: original,
		pre:      s.pre,
		label:    o.label(),
		whole:    newMemo(),

		sampledRows: sampledRows,
	}
	if s.labelled == nil { // an artifact is measured, whose S is there
		t.nodes = o.Nodes
	} else if err := s.divide(t); err != nil {
		return err
	}
	t.support = t.set(d.Validation, GraphBatch)
	t.judges = t.support
	whole := t.set(d.Test, GraphBatch)
	t.test = func() map[string]*eval.Set { return map[string]*eval.Set{GraphBatch: whole, NodeBatch: apart(whole)} }
	s.task = t
	return nil
}

// divide gives each class its synthetic nodes.
func (s *tablesHolder) divide(t *task) (err error) {
	present := map[int32]bool{}
	for _, y := range s.labelled.labels {
		present[y] = true
	}
	t.nodes = s.options.syntheticNodes(int(s.graph.Nodes), int(s.graph.Summary.Roles[solved.Train]), len(present))
	t.share, err = condense.Budget(s.labelled.labels, len(s.classes), t.nodes)
	return err
}

// fit returns W_O of a model, or the imported one, and takes it through its hops on T. Logits are read by error
// propagation, and those of the first model by unlabelled nodes that join clusters.
func (s *tablesHolder) fit(ctx context.Context, name string, _ Progress) (*fitResult, error) {
	start := time.Now()
	f, err := s.weights(ctx, name)
	if err != nil {
		return nil, err
	}
	m := &stagedModel{fitResult: f}
	if err := s.walk(ctx, m, len(s.models) == 0 || s.options.Propagate); err != nil {
		return nil, err
	}
	s.models = append(s.models, m)
	f.seconds = time.Since(start).Seconds()
	return f, nil
}

// weights fits a model, or takes the imported one.
func (s *tablesHolder) weights(ctx context.Context, name string) (*fitResult, error) {
	if given, ok := s.options.Weights[name]; ok {
		return &fitResult{model: given}, acceptable(given, s.graph.Summary.Width, len(s.classes), s.task)
	}
	if name == modelSGC && (s.options.Hops == 0 || s.options.Hops == 2) && !s.projected() {
		_, _, whole, err := s.roomInSubgraph(ctx)
		if err != nil {
			return nil, err
		}
		if !whole {
			f, err := s.fitLabelled(ctx)
			if err == nil {
				f.read = fewerThan(len(s.labelled.nodes), s.graph.Summary.Roles[solved.Train])
			}
			return f, err
		}
	}
	f, err := s.fitSubgraph(ctx, name)
	if err != nil {
		return nil, err
	}
	f.read = fewerThan(len(s.subgraph.original.Nodes), s.graph.Nodes)
	return f, nil
}

// fewerThan returns how many nodes a fit read, and 0 if these are all.
func fewerThan(read int, all int64) int {
	if int64(read) == all {
		return 0
	}
	return read
}

// fitLabelled fits W_O of an sgc of two hops to the labelled rows and chooses its weight decay on the validation nodes,
// frozen on T.
func (s *tablesHolder) fitLabelled(ctx context.Context) (*fitResult, error) {
	all := fit.Problem{Design: fit.Explicit{X: s.labelled.x}, Labels: s.labelled.labels, Classes: len(s.classes)}
	frozen := func(m infer.Model) (float64, error) {
		onT, err := s.fetch(ctx, m.Layers[0].Self)
		if err != nil {
			return 0, err
		}
		return accuracyOn(plain(m.Frozen(onT, s.pre)), s.task.judges), nil
	}
	return s.task.chooseLinear(ctx, fit.NewShape(modelSGC, s.options.Hidden), all, s.options.decays(), frozen, s.progress,
		"fitting sgc on the original graph")
}

// scaled is W times the global scale, for features without it.
func (s *tablesHolder) scaled(w *graph.Dense) *graph.Dense {
	out := w.Clone()
	for k := range out.Data {
		out.Data[k] *= s.pre.Scale
	}
	return out
}

// fetch returns the tables of T of an sgc of two hops, for weights (d×columns), of the nodes that are read.
func (s *tablesHolder) fetch(ctx context.Context, weights *graph.Dense) (*infer.Tables, error) {
	g := s.graph
	spec := stage.NewSpec(
		solved.StageFetch,
		s.preparing, // in all columns
		s.with(stage.Sides{solved.SideWeights: solved.AppendMatrix(s.scaled(weights))}),
		1,
	)
	made, err := s.run(ctx, spec, s.held.asked, g.Features, g.Degrees, s.s1)
	if err != nil {
		return nil, err
	}
	n := len(s.held.original)
	t := &infer.Tables{
		U: []*graph.Dense{graph.NewDense(n, weights.Cols), graph.NewDense(n, weights.Cols)},
		C: graph.NewDense(n, 1),
	}
	at := 0
	for r, err := range s.engine.Read(ctx, made[0]) {
		if err != nil {
			return nil, err
		}
		part, err := solved.ReadFetched(r.Payload)
		if err != nil {
			return nil, err
		}
		first := at
		if at, err = s.inOrder(r.Key, part.Places, at); err != nil {
			return nil, err
		}
		copy(t.U[0].Data[first*weights.Cols:], part.U0.Data)
		copy(t.U[1].Data[first*weights.Cols:], part.U1.Data)
		for k, degree := range part.Degrees {
			t.C.Data[first+k] = float32(1 / (2 + float64(degree)))
		}
	}
	if at != n {
		return nil, fmt.Errorf("%d nodes were fetched, %d asked for", at, n)
	}
	return t, nil
}
