package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/schema"
	"rivulet/trainer/features"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// RowData is a data set as rows, which need not fit into memory.
type RowData struct {
	Name         string
	Nodes, Edges stage.Source
	Count        int64    // nodes, whatever their role
	Features     int      // columns of a row in memory: d, or what sparse features take
	Classes      []string // nil: the labels of the training nodes in the order that tables give them
	BagOfWords   bool
	Schema       *schema.Schema
	// Weights gives the models to use as W_O, by name, for so many features and classes, once these are known; nil: those
	// of [Options.Weights].
	Weights func(features, classes int) (map[string]infer.Model, error)

	dropUnknown bool // edges to and from ids that no node has are dropped and counted, and are no error

	named func(id string) []schema.Field // values of a node by name; nil: they are not at hand
}

// Bounds of what a staged run brings from the tables into the memory of this process. They are the same for
// every engine, and so are the samples.
const (
	// stagedLabelled is the memory of the labelled rows to which W_O is fitted and in which clusters are found.
	stagedLabelled = 256 << 20
	// stagedJudges and stagedTest are the most nodes that are held out.
	stagedJudges = 5000
	stagedTest   = 10000
)

// tablesHolder is the [holder] of a T in tables of an engine.
type tablesHolder struct {
	engine   stage.Engine
	source   RowData
	options  Options
	progress Progress

	graph       *solved.Graph
	fingerprint string
	classes     []string
	pre         *preprocess.Parameters // its scale is known once features are propagated
	preparing   solved.FeatureScaling
	sides       stage.Sides  // of preprocessing: factor, offset
	bounds      []float64    // of the columns of x̄
	basis       *graph.Dense // on which points are projected; nil: they are Â²·pre(X) itself
	s1, s2      stage.Table  // sums of the hops
	held        *heldOutNodes
	labelled    *labelledRows
	models      []*stagedModel
	task        *task
	subgraph    *task         // of the subgraph of T in which models are fitted; nil until one is
	labelsOnT   *infer.Tables // the hops of label propagation on the nodes of T that are read
}

// open reads T, fits the preprocessing, and makes the task of the nodes that are held out.
func (s *tablesHolder) open(ctx context.Context) (*task, error) {
	start := time.Now()
	for _, step := range []func(context.Context) error{s.read, s.preprocess, s.propagate, s.holdOut} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.task.seconds = time.Since(start).Seconds()
	return s.task, nil
}

// read makes the tables of the graph.
func (s *tablesHolder) read(ctx context.Context) (err error) {
	blocks := solved.Blocks(s.source.Count, s.source.Features)
	if s.graph, err = solved.Read(ctx, s.engine, s.source.Nodes, s.source.Edges,
		solved.BlockOptions{Blocks: blocks, DropUnknown: s.source.dropUnknown}); err != nil {
		return err
	}
	g := s.graph
	if g.Unknown > 0 && g.Entries == 0 {
		return fmt.Errorf("no edge between nodes of T is left: %d edges are to or from ids that no node has: are the ids of both tables "+
			"written in one form?", g.Unknown)
	}
	for role, name := range map[solved.Role]string{solved.Train: "training", solved.Validation: "validation"} {
		if g.Summary.Roles[role] == 0 {
			return fmt.Errorf("no %s nodes", name)
		}
	}
	s.classes = g.Summary.AllClasses(s.source.Classes)
	if s.source.Weights != nil {
		if s.options.Weights, err = s.source.Weights(g.Summary.Width, len(s.classes)); err != nil {
			return err
		}
	}
	hashes, err := s.run(ctx, stage.NewSpec(solved.StagePrint, struct{}{}, nil, 1), g.Names, g.Features,
		g.HeldFeatures, g.Tiles, g.Held)
	if err != nil {
		return err
	}
	records, err := s.records(ctx, hashes[0])
	s.fingerprint = solved.Fingerprint(blocks, records)
	return err
}

func (s *tablesHolder) run(ctx context.Context, spec stage.Spec, inputs ...stage.Table) ([]stage.Table, error) {
	return s.engine.Run(ctx, spec, inputs...)
}

// records are those of a small table.
func (s *tablesHolder) records(ctx context.Context, t stage.Table) ([]stage.Record, error) {
	var out []stage.Record
	for r, err := range s.engine.Read(ctx, t) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// preprocess fits the preprocessing, but for its scale.
func (s *tablesHolder) preprocess(ctx context.Context) error {
	g := s.graph
	kind := features.KindOf(s.options.Preprocess, s.source.BagOfWords, s.source.Schema)
	s.bound(kind)
	sums, err := s.run(ctx, stage.NewSpec(solved.StageMoments, s.preparing,
		stage.Sides{solved.SideLargest: solved.AppendDoubles(s.bounds)}, 1), g.Features)
	if err != nil {
		return err
	}
	records, err := s.records(ctx, sums[0])
	if err != nil {
		return err
	}
	mean, variance, err := solved.Moments(records, s.bounds)
	if err != nil {
		return err
	}
	s.pre = features.Moments(kind, mean, variance, s.source.Schema)
	s.sides = preprocessSides(s.pre, g.Summary.Width)
	return nil
}

// bound sets the largest values of the columns of x̄ for a kind of preprocessing.
func (s *tablesHolder) bound(kind string) {
	s.preparing = solved.FeatureScaling{Kind: kind}
	s.bounds = make([]float64, s.graph.Summary.Width)
	for k, l := range s.graph.Summary.Largest {
		if s.bounds[k] = float64(l); kind == preprocess.L2Center || kind == preprocess.L1 {
			s.bounds[k] = 1
		}
		s.bounds[k] *= 1 + 1e-6
	}
}

// preprocessSides are the sides of a preprocessing of d features, whose scale is 1.
func preprocessSides(pre *preprocess.Parameters, d int) stage.Sides {
	factor, offset := features.Vectors(pre, d)
	return stage.Sides{
		solved.SideFactor: solved.AppendVector(factor),
		solved.SideOffset: solved.AppendVector(offset),
	}
}

// projected reports whether the hops are those of a projection of the features: sparse features of d columns would be
// dense after a hop.
func (s *tablesHolder) projected() bool { return s.basis != nil && s.graph.Summary.Sparse }

// hopping returns the options and sides of the stages that propagate features, and bounds of the propagated columns.
func (s *tablesHolder) hopping() (solved.FeatureScaling, stage.Sides, []float64) {
	factor, offset := features.Vectors(s.pre, len(s.bounds))
	largest := make([]float64, len(s.bounds))
	for k, bound := range s.bounds {
		largest[k] = (bound*math.Abs(float64(factor[k])) + math.Abs(float64(offset[k]))) * (1 + 1e-5)
	}
	preparing, sides := s.preparing, stage.Sides{}
	if s.projected() {
		preparing.Projected = true
		columns := make([]float64, s.basis.Cols)
		for k, l := range largest {
			for c, v := range s.basis.Row(k) {
				columns[c] += float64(l*math.Abs(float64(v))) * (1 + 1e-5)
			}
		}
		largest, sides[solved.SideBasis] = columns, solved.AppendMatrix(s.basis)
	}
	sides[solved.SideLargest] = solved.AppendDoubles(largest)
	return preparing, s.with(sides), largest
}

// with returns the sides of the preprocessing with more.
func (s *tablesHolder) with(more stage.Sides) stage.Sides {
	out := stage.Sides{}
	for _, sides := range []stage.Sides{s.sides, more} {
		for name, content := range sides {
			out[name] = content
		}
	}
	return out
}

// propagate makes the sums of two hops, brings the labelled rows of Â²·pre(X) and gives the preprocessing its
// scale.
func (s *tablesHolder) propagate(ctx context.Context) error {
	g := s.graph
	s.basis = s.options.projection(g.Summary.Width)
	preparing, sides, largest := s.hopping()
	for hop, sums := range []*stage.Table{&s.s1, &s.s2} {
		if err := s.hop(ctx, hop, sums); err != nil {
			return err
		}
	}
	wanted := int64(stagedLabelled / (4 * max(1, len(largest))))
	o := solved.RowsOptions{
		FeatureScaling: preparing,
		Labelled:       solved.SampleOf(s.options.Seed, g.Summary.Roles[solved.Train], wanted),
	}
	made, err := s.run(ctx, stage.NewSpec(solved.StageRows, o, sides, 2), g.Names, g.Features, g.Degrees, s.s1,
		s.s2)
	if err != nil {
		return err
	}
	if s.labelled, err = s.readLabelled(ctx, made[0]); err != nil {
		return err
	}
	scale, err := solved.SquaresScale(largest)
	if err != nil {
		return err
	}
	records, err := s.records(ctx, made[1])
	if err != nil {
		return err
	}
	var total stage.Sum
	for _, r := range records {
		if err := total.Plus(stage.ReadSum(r.Payload)); err != nil {
			return err
		}
	}
	_, offset := features.Vectors(s.pre, g.Summary.Width)
	norm := math.Sqrt(total.Value(scale) / float64(g.Nodes)) // of a projection: as long in the mean
	if s.pre.Scale, err = features.GlobalScale(s.pre, norm, offset); err != nil {
		return err
	}
	if len(s.options.Weights) > 0 {
		s.pre.Scale = 1 // as in [Train]
	}
	for k := range s.labelled.x.Data {
		s.labelled.x.Data[k] *= s.pre.Scale
	}
	return nil
}

// hop makes the sums of a hop of features: 0, or 1 after it.
func (s *tablesHolder) hop(ctx context.Context, hop int, sums *stage.Table) error {
	g := s.graph
	preparing, sides, _ := s.hopping()
	o := solved.HopOptions{FeatureScaling: preparing, Hop: hop, Terms: g.HighestDegree + 1}
	from := []stage.Table{g.Features, g.Degrees}
	if hop > 0 {
		from = append(from, s.s1)
	}
	made, err := stage.Hop(ctx, s.engine, stage.NewSpec(solved.StageSend, o, sides, 1),
		stage.NewSpec(solved.StageReceive, o, sides, 1), g.Tiles, from, []stage.Table{g.Degrees})
	if err != nil {
		return err
	}
	*sums = made[0]
	return nil
}

// classIndex maps the names of classes to their numbers.
func (s *tablesHolder) classIndex() map[string]int32 {
	index := make(map[string]int32, len(s.classes))
	for k, name := range s.classes {
		index[name] = int32(k)
	}
	return index
}

// labelledRows are rows of Â²·pre(X) of labelled nodes, or of its projection where that is propagated.
type labelledRows struct {
	nodes  []solved.Number
	labels []int32
	rows   []int64 // of the data
	x      *graph.Dense
}

// inOrder returns the labels in the order of the data, and that order. It moves the rows of x to it.
func (l *labelledRows) inOrder(x *graph.Dense) (labels, order []int32) {
	order = make([]int32, len(l.rows))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(l.rows[a], l.rows[b]) })
	moved, first := make([]bool, len(order)), make([]float32, x.Cols)
	for start := range order { // a cycle of moves at a time: a copy of all rows may be large
		if moved[start] {
			continue
		}
		copy(first, x.Row(start))
		at := start
		for next := int(order[at]); next != start; at, next = next, int(order[next]) {
			copy(x.Row(at), x.Row(next))
			moved[at] = true
		}
		copy(x.Row(at), first)
		moved[at] = true
	}
	return take(l.labels, order), order
}

func (s *tablesHolder) readLabelled(ctx context.Context, t stage.Table) (*labelledRows, error) {
	index := s.classIndex()
	out := &labelledRows{x: &graph.Dense{}}
	for r, err := range s.engine.Read(ctx, t) {
		if err != nil {
			return nil, err
		}
		rows, err := solved.ReadLabelled(r.Payload)
		if err != nil {
			return nil, err
		}
		for k, place := range rows.Places {
			out.nodes = append(out.nodes, solved.Number{Block: r.Key, Place: place})
			out.labels = append(out.labels, index[rows.Labels[k]])
		}
		out.rows = append(out.rows, rows.Rows...)
		out.x.Cols, out.x.Data = rows.X.Cols, append(out.x.Data, rows.X.Data...)
	}
	out.x.Rows = len(out.nodes)
	return out, nil
}
