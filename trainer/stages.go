package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/fit"
	"rivulet/trainer/original"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/tables"
)

// StagedOf gives a data set in memory to [TrainStaged], as the rows of two tables.
func StagedOf(d *dataset.Dataset, o Options) (original.RowData, error) {
	if err := d.Task.Require("a run of stages (--engine disk or spark, --sums fixed)"); err != nil {
		return original.RowData{}, err
	}
	identity, named := d.Fingerprint(), features.Named(d.IDs, d.Columns)
	d, s, err := features.Encode(d, o.Keep, o.Schema)
	if err != nil {
		return original.RowData{}, err
	}
	if s != nil {
		identity += s.Hash()
	}
	rows := original.OfDataset(d, identity, condense.ProjectedColumns)
	rows.Schema, rows.Named = s, named
	return rows, nil
}

// tablesHolder is the [holder] of a T in tables of an engine. It brings T, or a subgraph of it that fits into memory,
// into a task, in which models are fitted and S is made. A model's hops and rows of M are made from the tables.
type tablesHolder struct {
	*original.Tables
	rows     original.RowData
	options  Options
	task     *task // of the nodes held out, attached to the nodes of T that they read
	subgraph *task
	labelled *original.LabelledRows // to which an sgc is fitted, where T is larger and has dense features; else nil
}

// newTablesHolder reads T, brings the subgraph with its preprocessing, and makes the task of the nodes held out.
func newTablesHolder(ctx context.Context, e stage.Engine, d original.RowData, o Options) (*tablesHolder, error) {
	start := time.Now()
	t, err := original.Read(ctx, e, d, original.Options{Seed: o.Seed, Subgraph: o.Subgraph, Propagate: o.Propagate})
	if err != nil {
		return nil, err
	}
	s := &tablesHolder{Tables: t, rows: d, options: o}
	if s.rows.Weights != nil {
		if s.options.Weights, err = s.rows.Weights(s.Graph.Summary.Width, len(s.Classes)); err != nil {
			return nil, err
		}
	}
	if err := s.bringSubgraph(ctx); err != nil {
		return nil, fmt.Errorf("the subgraph in which models are fitted: %w", err)
	}
	s.Pre = s.subgraph.pre
	s.task = s.newTask(s.Data, s.Original)
	s.task.groups, s.task.share, s.task.nodes = s.subgraph.groups, s.subgraph.share, s.subgraph.nodes
	s.task.seconds = time.Since(start).Seconds()
	return s, nil
}

// newTask makes a task of nodes that are held out, attached to some nodes of T.
func (s *tablesHolder) newTask(d *dataset.Dataset, nodes *dataset.Original) *task {
	o := s.options
	o.Costs = false // they are of a whole M and of T, which are not in memory
	method, _ := o.method()
	t := &task{options: o, holder: s, method: method, schema: s.rows.Schema, named: s.rows.Named, data: d, original: nodes,
		pre: s.Pre, label: o.Label(), whole: newMemo(), sampledFrom: sampledFrom, sampledRows: sampledRows,
		facts: artifact.Data{Name: s.rows.Name, Fingerprint: s.Fingerprint, Nodes: int(s.Graph.Nodes),
			Edges: int(s.Graph.Entries / 2), Features: s.Graph.Summary.Width, Classes: s.Classes}}
	t.attachHeldOut()
	return t
}

// bringSubgraph makes the task whose T is the subgraph.
func (s *tablesHolder) bringSubgraph(ctx context.Context) error {
	d, nodes, degrees, err := s.BringSubgraph(ctx)
	if err != nil {
		return err
	}
	t := s.newTask(d, nodes)
	if t.labelled = sample.Labelled(nodes.Labels); len(t.labelled) == 0 {
		return fmt.Errorf("no labelled training node is in the sample of %d nodes", len(nodes.Labels))
	}
	t.meeting, s.subgraph = tables.WeightsOf(degrees), t
	t.groups = condense.NewGroups(nodes.Labels, t.classes(), nil, nil)
	err = t.divide(int(s.Graph.Nodes), int(s.Graph.Summary.Roles[partition.Train]))
	if err != nil {
		return err
	}
	if err := t.prepare(); err != nil || int64(len(nodes.IDs)) == s.Graph.Nodes {
		return err
	}
	s.Pre = t.pre // two hops lead out of the subgraph
	if t.twoHops != nil {
		t.twoHops, s.labelled, err = s.TwoHops(ctx, graph.Identity(nodes.X.Cols()), true)
	} else {
		t.exact, _, err = s.TwoHops(ctx, t.basis(), false)
	}
	return err
}

// fit returns W_O of a model, fitted in the subgraph or imported, and takes it through its hops on T.
func (s *tablesHolder) fit(ctx context.Context, name string, progress Progress) (*search.Result, error) {
	start := time.Now()
	f, err := s.fitSample(ctx, name, progress)
	if err == nil {
		err = s.Walk(ctx, f.Model)
	}
	if err != nil {
		return nil, err
	}
	f.Seconds = time.Since(start).Seconds()
	return f, nil
}

// fitSample takes an imported model, or fits it to a sample of T: to labelled rows, or in the subgraph.
func (s *tablesHolder) fitSample(ctx context.Context, name string, progress Progress) (f *search.Result, err error) {
	if given, ok := s.options.Weights[name]; ok {
		return &search.Result{Model: given}, acceptable(given, s.Graph.Summary.Width, len(s.Classes), s.task)
	}
	read, all := len(s.subgraph.original.Nodes), s.Graph.Nodes
	if s.labelled != nil && name == modelSGC && (s.options.Hops == 0 || s.options.Hops == 2) {
		read, all = len(s.labelled.Labels), s.Graph.Summary.Roles[partition.Train]
		f, err = s.fitLabelled(ctx, progress)
	} else {
		f, err = s.subgraph.whole.fit(ctx, s.subgraph, name, progress)
	}
	if err == nil && int64(read) < all {
		f.Read = read
	}
	return f, err
}

// fitLabelled fits an sgc to the labelled rows and chooses its weight decay on the validation nodes, frozen on T.
func (s *tablesHolder) fitLabelled(ctx context.Context, progress Progress) (*search.Result, error) {
	all := fit.Problem{Design: fit.Explicit{X: s.labelled.X}, Labels: s.labelled.Labels, Classes: len(s.Classes)}
	frozen := func(ctx context.Context, m infer.Model) (float64, error) {
		onT, err := s.TablesOf(ctx, m)
		if err != nil {
			return 0, err
		}
		return search.Accuracy(eval.Plain(m.Frozen(onT, s.Pre)), s.task.judges), nil
	}
	return s.task.chooseLinear(ctx, fit.NewShape(modelSGC, s.options.Hidden), all, s.options.decays(modelSGC), frozen,
		progress, "fitting sgc on the original graph")
}

// condense makes S of the subgraph, and M for all of T (docs/algorithm.md, section 5).
func (s *tablesHolder) condense(ctx context.Context, whole []*search.Result, progress Progress) (condensation, error) {
	if err := s.Pick(ctx); err != nil {
		return nil, err
	}
	t := s.subgraph
	t.stored, s.labelled = s.Subgraph, nil
	var m *original.Mapping
	solve := func(c *clusterGraph) (rows *graph.CSR, err error) {
		d := c.dictionary()
		if m, err = s.Solve(ctx, d.Parts, d.Clusters, t.options.Entries); err == nil {
			rows = m.Subgraph
		}
		return rows, err
	}
	c, err := t.newClustering(solve, progress).make(ctx, models(whole), "condensing the graph", progress)
	if err != nil {
		return nil, err
	}
	onT := *c.Condensation
	onT.M, t.twoHops = m.OnT, nil
	onS := original.NewFrozen(c.models, c.onS)
	if s.options.Propagate {
		err = s.Propagate(ctx, onS, c.fitter.Table)
	}
	out := &frozenTables{graphParts{Condensation: &onT, stored: m.Rows, size: m.Size}, onS, c.growth(), nil}
	if s.options.Spread {
		out.teacher = c.clusterMethod
	}
	return out, err
}

func (s *tablesHolder) own(ctx context.Context) (ownData, error) {
	return inMemory{s.subgraph}.own(ctx)
}

// deploy freezes a model on T: its tables are at hand, as are tables of propagation if the run makes any.
func (s *tablesHolder) deploy(f *search.Result) (*deploy.Deployment, []string, error) {
	p, err := s.task.frozen(frozenOf(s.OnT), f.Model)
	return p, s.task.kinds(), err
}

// frozenTables is a condensed graph whose tables are made: S, or the nodes of T that are read.
type frozenTables struct {
	graphParts
	of      *original.Frozen
	grown   *artifact.Growth // of S
	teacher *clusterMethod   // S in the subgraph, where the run asks for its spread
}

func frozenOf(of *original.Frozen) *frozenTables {
	return &frozenTables{graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}}, of, nil, nil}
}

func (f *frozenTables) growth() *artifact.Growth { return f.grown }

// spread measures how the subgraph's labelled nodes lie around S; where features are dense, by the edges of all of T.
// The fits are judged in the subgraph, as no stage has made their tables.
func (f *frozenTables) spread(ctx context.Context, progress Progress) (*artifact.Spread, error) {
	t, c := *f.teacher.task, *f.teacher
	t.stored, c.task, c.mapping = nil, &t, solveRows
	return c.spread(ctx, progress)
}

func (f *frozenTables) tables(m infer.Model) (*infer.Tables, error) { return f.of.Tables(m), nil }

func (f *frozenTables) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return f.of.Propagation(kind, m, alpha), nil
}
