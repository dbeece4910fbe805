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

// tablesHolder is the [holder] of a T in tables of an engine.
type tablesHolder struct {
	*original.Tables
	rows     original.RowData
	options  Options
	progress Progress
	task     *task
	models   []*search.Result
	subgraph *task // the subgraph of T in which models are fitted; nil until one is
}

// newTablesHolder reads T, fits the preprocessing, and makes the task of the nodes that are held out.
func newTablesHolder(ctx context.Context, e stage.Engine, d original.RowData, o Options,
	progress Progress) (*tablesHolder, error) {
	start := time.Now()
	t, err := original.Read(ctx, e, d)
	if err != nil {
		return nil, err
	}
	s := &tablesHolder{Tables: t, rows: d, options: o, progress: progress}
	if s.rows.Weights != nil {
		if s.options.Weights, err = s.rows.Weights(s.Graph.Summary.Width, len(s.Classes)); err != nil {
			return nil, err
		}
	}
	if err := s.Prepare(ctx, s.choices()); err != nil {
		return nil, err
	}
	s.task = s.newTask(s.Data, s.Original)
	if err := s.task.divide(s.Labelled.Labels, int(s.Graph.Nodes),
		int(s.Graph.Summary.Roles[partition.Train])); err != nil {
		return nil, err
	}
	s.task.seconds = time.Since(start).Seconds()
	return s, nil
}

// choices are the options of the run that its tables depend on.
func (s *tablesHolder) choices() original.Options {
	o := s.options
	return original.Options{Seed: o.Seed, Preprocess: o.Preprocess, Unscaled: len(o.Weights) > 0, Basis: o.projection,
		Subgraph: o.Subgraph, Entries: o.Entries, Propagate: o.Propagate}
}

// newTask makes a task of nodes that are held out, attached to some nodes of T.
func (s *tablesHolder) newTask(d *dataset.Dataset, nodes *dataset.Original) *task {
	o := s.options
	o.Costs = false // they are of a whole M and of T, which are not in memory
	method, _ := o.method()
	t := &task{
		options: o,
		holder:  s,
		facts: artifact.Data{Name: s.rows.Name, Fingerprint: s.Fingerprint, Nodes: int(s.Graph.Nodes),
			Edges: int(s.Graph.Entries / 2), Features: s.Graph.Summary.Width, Classes: s.Classes},
		method:      method,
		schema:      s.rows.Schema,
		named:       s.rows.Named,
		data:        d,
		original:    nodes,
		pre:         s.Pre,
		label:       o.Label(),
		whole:       newMemo(),
		sampledFrom: sampledFrom,
		sampledRows: sampledRows,
	}
	t.attachHeldOut()
	return t
}

// fit returns W_O of a model, or the imported one, and takes it through its hops on T.
func (s *tablesHolder) fit(ctx context.Context, name string, _ Progress) (*search.Result, error) {
	start := time.Now()
	f, err := s.weights(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := s.Walk(ctx, f.Model, len(s.models) == 0 || s.options.Propagate); err != nil {
		return nil, err
	}
	s.models = append(s.models, f)
	f.Seconds = time.Since(start).Seconds()
	return f, nil
}

// weights fits a model, or takes the imported one.
func (s *tablesHolder) weights(ctx context.Context, name string) (*search.Result, error) {
	if given, ok := s.options.Weights[name]; ok {
		return &search.Result{Model: given}, acceptable(given, s.Graph.Summary.Width, len(s.Classes), s.task)
	}
	if name == modelSGC && (s.options.Hops == 0 || s.options.Hops == 2) && !s.Projected() {
		whole, err := s.Fits(ctx)
		if err != nil {
			return nil, err
		}
		if !whole {
			f, err := s.fitLabelled(ctx)
			if n := len(s.Labelled.Labels); err == nil && int64(n) < s.Graph.Summary.Roles[partition.Train] {
				f.Read = n
			}
			return f, err
		}
	}
	f, err := s.fitSubgraph(ctx, name)
	if err != nil {
		return nil, err
	}
	if n := len(s.subgraph.original.Nodes); int64(n) < s.Graph.Nodes {
		f.Read = n
	}
	return f, nil
}

// fitLabelled fits W_O of an sgc of two hops to the labelled rows and chooses its weight decay on the validation nodes,
// frozen on T.
func (s *tablesHolder) fitLabelled(ctx context.Context) (*search.Result, error) {
	all := fit.Problem{Design: fit.Explicit{X: s.Labelled.X}, Labels: s.Labelled.Labels, Classes: len(s.Classes)}
	frozen := func(ctx context.Context, m infer.Model) (float64, error) {
		onT, err := s.Fetch(ctx, m.Layers[0].Self)
		if err != nil {
			return 0, err
		}
		return search.Accuracy(eval.Plain(m.Frozen(onT, s.Pre)), s.task.judges), nil
	}
	return s.task.chooseLinear(ctx, fit.NewShape(modelSGC, s.options.Hidden), all, s.options.decays(), frozen, s.progress,
		"fitting sgc on the original graph")
}

// fitSubgraph fits a model in a subgraph of T that fits into memory.
func (s *tablesHolder) fitSubgraph(ctx context.Context, name string) (*search.Result, error) {
	if s.subgraph == nil {
		t, err := s.bringSubgraph(ctx)
		if err != nil {
			return nil, fmt.Errorf("the subgraph in which %s is fitted: %w", name, err)
		}
		s.subgraph = t
	}
	return s.subgraph.whole.fit(ctx, s.subgraph, name, s.progress)
}

// bringSubgraph makes the task whose T is a subgraph of T.
func (s *tablesHolder) bringSubgraph(ctx context.Context) (*task, error) {
	d, nodes, err := s.Subgraph(ctx)
	if err != nil {
		return nil, err
	}
	t := s.newTask(d, nodes)
	t.hat = graph.Normalised(nodes.Adj)
	t.x, t.inputs = features.Factor(nodes.X, s.Pre), s.Pre.Raw(nodes.X)
	if t.labelled = sample.Labelled(nodes.Labels); len(t.labelled) == 0 {
		return nil, fmt.Errorf("no labelled training node is in the sample of %d nodes", len(nodes.Labels))
	}
	return t, nil
}

// condense makes S and M (docs/algorithm.md, section 5), and the tables of propagation.
func (s *tablesHolder) condense(ctx context.Context, _ []*search.Result, _ Progress) (condensation, error) {
	t := s.task
	c, err := s.Condense(ctx, func(points *graph.Dense, labels []int32) *condense.Clusters {
		return condense.Cluster(points, labels, t.share, t.rng(purposeClusters))
	})
	if err != nil {
		return nil, err
	}
	out := s.frozen(s.OnS)
	out.Synthetic, out.M, out.stored, out.size, out.grown = c.Synthetic, c.M, c.Rows, c.Size, s.Growth(c)
	return out, nil
}

// deploy freezes a model on T: its tables are at hand, as are tables of propagation if the run makes any.
func (s *tablesHolder) deploy(f *search.Result) (*deploy.Deployment, []string, error) {
	p, err := s.task.frozen(s.frozen(s.OnT), f.Model)
	return p, s.options.kinds(), err
}

// frozenTables is a condensed graph whose tables are made: S, or the nodes of T that are read.
type frozenTables struct {
	graphParts
	of    *original.Frozen
	grown *artifact.Growth // of S
}

func (s *tablesHolder) frozen(of *original.Frozen) *frozenTables {
	return &frozenTables{graphParts: graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}},
		of: of}
}

func (f *frozenTables) tables(m infer.Model) (*infer.Tables, error) { return f.of.Tables(m), nil }

func (f *frozenTables) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return f.of.Propagation(kind, m, alpha), nil
}

func (f *frozenTables) growth() *artifact.Growth { return f.grown }
