package original

import (
	"context"
	"fmt"
	"maps"
	"math"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/trainer/features"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// Bounds of the data that a staged run brings from the tables into this process's memory. They are the same for every
// engine, and so are the samples.
const (
	// stagedLabelled is the memory of the labelled rows to which W_O is fitted and in which clusters are found.
	stagedLabelled = 256 << 20
	// stagedJudges and stagedTest are the most nodes that are held out.
	stagedJudges = 5000
	stagedTest   = 10000
)

// Options are the choices of a run that its tables depend on.
type Options struct {
	Seed uint64
	// Preprocess is the kind of preprocessing, or auto.
	Preprocess string
	// Unscaled leaves the global scale at 1, as imported weights want it.
	Unscaled bool
	// Basis returns the matrix on which points of d features are projected; nil: they are not.
	Basis func(d int) *graph.Dense
	// Subgraph is the memory of a subgraph of T in bytes; 0: 128 MB.
	Subgraph int64
	// Entries is k, the most entries of a row of M.
	Entries int
	// Propagate has [Tables.Condense] make the tables of label and error propagation, too.
	Propagate bool
}

// Tables is T as tables of an engine, and the parts of it that a run has brought into memory.
type Tables struct {
	engine  stage.Engine
	source  RowData
	options Options

	Graph       *partition.Graph
	Fingerprint string
	Classes     []string
	Pre         *preprocess.Parameters
	preparing   solved.FeatureScaling
	sides       stage.Sides  // of preprocessing: factor, offset
	bounds      []float64    // of the columns of x̄
	basis       *graph.Dense // on which points are projected; nil: they are Â²·pre(X) itself
	s1, s2      stage.Table  // sums of the hops

	// Data are the nodes held out, numbered first, and behind them the nodes of T to which they have edges. Original
	// has of these only their number.
	Data     *dataset.Dataset
	Original *dataset.Original
	held     *heldOutNodes
	// Labelled are rows of labelled nodes of T. [Tables.Condense] lets go of their features.
	Labelled *LabelledRows

	models   []*model
	OnT, OnS *Frozen // tables of the nodes of T that are read, and of S
}

// Read makes the tables of the graph.
func Read(ctx context.Context, e stage.Engine, d RowData) (*Tables, error) {
	t := &Tables{engine: e, source: d, OnT: &Frozen{}, OnS: &Frozen{}}
	return t, t.read(ctx)
}

// Prepare fits the preprocessing, brings labelled rows of Â²·pre(X) and the nodes that are held out.
func (t *Tables) Prepare(ctx context.Context, o Options) error {
	t.options = o
	for _, step := range []func(context.Context) error{t.preprocess, t.propagate, t.holdOut} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Take takes the preprocessing of an artifact in place of fitting one, and brings the nodes that are held out.
func (t *Tables) Take(ctx context.Context, pre *preprocess.Parameters, o Options) error {
	t.options, t.Pre = o, pre
	unscaled := *pre
	unscaled.Scale = 1
	t.bound(pre.Kind)
	t.sides = preprocessSides(&unscaled, t.Graph.Summary.Width)
	return t.holdOut(ctx)
}

// read makes the tables of the graph.
func (t *Tables) read(ctx context.Context) (err error) {
	blocks := partition.Blocks(t.source.Count, t.source.Features)
	if t.Graph, err = partition.Read(ctx, t.engine, t.source.Nodes, t.source.Edges,
		partition.BlockOptions{Blocks: blocks, DropUnknown: t.source.dropUnknown}); err != nil {
		return err
	}
	g := t.Graph
	if g.Unknown > 0 && g.Entries == 0 {
		return fmt.Errorf("no edge between nodes of T is left: %d edges are to or from ids that no node has: "+
			"are the ids of both tables "+
			"written in one form?", g.Unknown)
	}
	for role, name := range map[partition.Role]string{partition.Train: "training", partition.Validation: "validation"} {
		if g.Summary.Roles[role] == 0 {
			return fmt.Errorf("no %s nodes", name)
		}
	}
	t.Classes = g.Summary.AllClasses(t.source.Classes)
	_, records, err := t.sums(ctx, stage.NewSpec(partition.StagePrint, struct{}{}, nil, 1), 0, g.Names, g.Features,
		g.HeldFeatures, g.Tiles, g.Held)
	t.Fingerprint = partition.Fingerprint(blocks, records)
	return err
}

func (t *Tables) run(ctx context.Context, spec stage.Spec, inputs ...stage.Table) ([]stage.Table, error) {
	return t.engine.Run(ctx, spec, inputs...)
}

// sums runs a stage, of whose outputs one is small: it returns that one's records, too.
func (t *Tables) sums(ctx context.Context, spec stage.Spec, small int, inputs ...stage.Table) ([]stage.Table,
	[]stage.Record, error) {
	made, err := t.run(ctx, spec, inputs...)
	if err != nil {
		return nil, nil, err
	}
	records, err := t.records(ctx, made[small])
	return made, records, err
}

// records are the records of a small table.
func (t *Tables) records(ctx context.Context, from stage.Table) ([]stage.Record, error) {
	var out []stage.Record
	for r, err := range t.engine.Read(ctx, from) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// preprocess fits the preprocessing, without its scale.
func (t *Tables) preprocess(ctx context.Context) error {
	g := t.Graph
	kind := features.KindOf(t.options.Preprocess, t.source.BagOfWords, t.source.Schema)
	t.bound(kind)
	_, records, err := t.sums(ctx, stage.NewSpec(solved.StageMoments, t.preparing,
		stage.Sides{solved.SideLargest: wire.AppendDoubles(nil, t.bounds)}, 1), 0, g.Features)
	if err != nil {
		return err
	}
	mean, variance, err := solved.Moments(records, t.bounds)
	if err != nil {
		return err
	}
	t.Pre = features.Moments(kind, mean, variance, t.source.Schema)
	t.sides = preprocessSides(t.Pre, g.Summary.Width)
	return nil
}

// bound sets the largest values of the columns of x̄ for a kind of preprocessing.
func (t *Tables) bound(kind string) {
	t.preparing = solved.FeatureScaling{Kind: kind}
	t.bounds = make([]float64, t.Graph.Summary.Width)
	for k, l := range t.Graph.Summary.Largest {
		if t.bounds[k] = float64(l); kind == preprocess.L2Center || kind == preprocess.L1 {
			t.bounds[k] = 1
		}
		t.bounds[k] *= 1 + 1e-6
	}
}

// preprocessSides are the sides of a preprocessing of d features, whose scale is 1.
func preprocessSides(pre *preprocess.Parameters, d int) stage.Sides {
	factor, offset := features.Vectors(pre, d)
	return stage.Sides{
		solved.SideFactor: wire.AppendFloats(nil, factor),
		solved.SideOffset: wire.AppendFloats(nil, offset),
	}
}

// Projected reports whether the hops propagate a projection of the features: sparse features of d columns would be
// dense after a hop.
func (t *Tables) Projected() bool { return t.basis != nil && t.Graph.Summary.Sparse }

// hopping returns the options and sides of the stages that propagate features, and bounds of the propagated columns.
func (t *Tables) hopping() (solved.FeatureScaling, stage.Sides, []float64) {
	factor, offset := features.Vectors(t.Pre, len(t.bounds))
	largest := make([]float64, len(t.bounds))
	for k, bound := range t.bounds {
		largest[k] = (bound*math.Abs(float64(factor[k])) + math.Abs(float64(offset[k]))) * (1 + 1e-5)
	}
	preparing, sides := t.preparing, stage.Sides{}
	if t.Projected() {
		preparing.Projected = true
		columns := make([]float64, t.basis.Cols)
		for k, l := range largest {
			for c, v := range t.basis.Row(k) {
				columns[c] += float64(l*math.Abs(float64(v))) * (1 + 1e-5)
			}
		}
		largest, sides[solved.SideBasis] = columns, wire.AppendDense(nil, t.basis)
	}
	sides[solved.SideLargest] = wire.AppendDoubles(nil, largest)
	return preparing, t.with(sides), largest
}

// with returns the sides of the preprocessing with more.
func (t *Tables) with(more stage.Sides) stage.Sides {
	out := maps.Clone(t.sides)
	maps.Copy(out, more)
	return out
}

// propagate makes the sums of two hops, brings the labelled rows of Â²·pre(X) and gives the preprocessing its
// scale.
func (t *Tables) propagate(ctx context.Context) error {
	g := t.Graph
	t.basis = t.options.Basis(g.Summary.Width)
	preparing, sides, largest := t.hopping()
	for hop, sums := range []*stage.Table{&t.s1, &t.s2} {
		if err := t.hop(ctx, hop, sums); err != nil {
			return err
		}
	}
	wanted := int64(stagedLabelled / (4 * max(1, len(largest))))
	o := solved.RowsOptions{FeatureScaling: preparing,
		Labelled: solved.SampleOf(t.options.Seed, g.Summary.Roles[partition.Train], wanted)}
	made, records, err := t.sums(ctx, stage.NewSpec(solved.StageRows, o, sides, 2), 1, g.Names, g.Features, g.Degrees,
		t.s1,
		t.s2)
	if err != nil {
		return err
	}
	if t.Labelled, err = t.readLabelled(ctx, made[0]); err != nil {
		return err
	}
	scale, err := solved.SquaresScale(largest)
	if err != nil {
		return err
	}
	var total stage.Sum
	for _, r := range records {
		if err := total.Plus(stage.ReadSum(r.Payload)); err != nil {
			return err
		}
	}
	_, offset := features.Vectors(t.Pre, g.Summary.Width)
	norm := math.Sqrt(total.Value(scale) / float64(g.Nodes)) // of a projection: as long in the mean
	if t.Pre.Scale, err = features.GlobalScale(t.Pre, norm, offset); err != nil {
		return err
	}
	if t.options.Unscaled {
		t.Pre.Scale = 1
	}
	for k := range t.Labelled.X.Data {
		t.Labelled.X.Data[k] *= t.Pre.Scale
	}
	return nil
}

// hop makes the sums of a hop of features: 0, or 1 after it.
func (t *Tables) hop(ctx context.Context, hop int, sums *stage.Table) error {
	g := t.Graph
	preparing, sides, _ := t.hopping()
	o := solved.HopOptions{FeatureScaling: preparing, Hop: hop, Terms: g.HighestDegree + 1}
	from := []stage.Table{g.Features, g.Degrees}
	if hop > 0 {
		from = append(from, t.s1)
	}
	made, err := stage.Hop(ctx, t.engine, stage.NewSpec(solved.StageSend, o, sides, 1),
		stage.NewSpec(solved.StageReceive, o, sides, 1), g.Tiles, from, []stage.Table{g.Degrees})
	if err != nil {
		return err
	}
	*sums = made[0]
	return nil
}

// classIndex maps the names of classes to their numbers.
func (t *Tables) classIndex() map[string]int32 {
	index := make(map[string]int32, len(t.Classes))
	for k, name := range t.Classes {
		index[name] = int32(k)
	}
	return index
}
