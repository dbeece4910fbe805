package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
	"weak"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/target"
	"rivulet/schema"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
	"rivulet/trainer/links"
	"rivulet/trainer/sample"
	"rivulet/trainer/tables"
)

// task is a data set made ready for training: T, its preprocessing, the support nodes and the test nodes.
type task struct {
	options  Options
	holder   holder
	facts    artifact.Data  // the manifest's facts of the data; its nodes and edges are T's
	schema   *schema.Schema // of named features; nil if they have positions only
	method   Method
	data     *dataset.Dataset
	original *dataset.Original
	units    []float64               // of messages, one an output ([condense.Support.Units]); nil: the task is classes
	links    *links.Problem          // of a task of links; nil: the task is another one
	bins     *graph.Bins             // of T's edges by weight or relation; nil: all weigh 1 and have none
	operator weak.Pointer[graph.CSR] // Â of T while somebody reads it: [task.hat]
	pre      *preprocess.Parameters
	x        *features.FactoredFeatures // pre(X) of T
	inputs   preprocess.Inputs          // the same, seen through weights
	twoHops  *graph.Dense               // Â²·pre(X) of T, N×d, of dense features until S is made of it; else nil
	meeting  []float32                  // how often an arrival meets each node of T: [tables.MeetingWeights]
	stored   storedTables               // tables of T's nodes that are made already; nil: they are made here
	exact    *graph.Dense               // points of T's nodes by the edges of a larger graph, of which T is a part; or nil
	labelled []int32                    // nodes of T that have a class
	groups   *condense.Groups           // of T's nodes, within which clusters are: classes, or classes of a type
	share    []int                      // synthetic nodes of each group, N' in all
	nodes    int                        // N'
	label    string                     // the method's name in results
	whole    *memo
	seconds  float64                        // wall clock of getting ready
	named    func(id string) []schema.Field // values of a node by name; nil: features have positions only
	// sampledRows is the number of labelled rows above which linear models are compared on a sample of so many.
	sampledRows int
	// sampledFrom is the number of nodes above which models with hidden layers are compared on a sample of T.
	sampledFrom int
	arrivals    *arrivals // nodes to answer; nil: they are read when they are answered
	// support are the validation nodes in graph batches, test the test nodes by mode of batch, all attached to T.
	// judges are the support nodes by which fits are chosen: all, or some at even distances if there are many. test is
	// made when it is first asked for.
	support *eval.Set
	judges  *eval.Set
	test    func() map[string]*eval.Set
}

// Modes of a batch.
const (
	GraphBatch = eval.GraphBatch
	NodeBatch  = eval.NodeBatch
)

var modes = []string{GraphBatch, NodeBatch}

// newTask makes a data set ready. It holds the data in another order ([dataset.Dataset.OriginalFirst]) and not d, whose
// memory is free if the caller does not hold it either.
func newTask(d *dataset.Dataset, o Options) (*task, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if len(d.Validation) == 0 {
		return nil, errors.New("no validation nodes: hyperparameters are chosen on them")
	}
	fingerprint := cmp.Or(o.fingerprint, d.Fingerprint()) // of the columns, if features have names
	named := features.Named(d.IDs, d.Columns)
	start := time.Now()
	o.Schema.Zero = !features.Centres(o.Preprocess)
	own := d.Columns != nil
	d, s, err := features.Encode(d, o.Keep, o.Schema)
	if err != nil {
		return nil, err
	}
	o.Keep = s // X is of its positions
	if own {   // of features that were made here
		d = d.MoveOriginalFirst()
	} else {
		d = d.OriginalFirst()
	}
	var problem *links.Problem
	if d.Task == target.Links {
		if problem, d, err = links.Prepare(d, o.rng(purposeHeldOut)); err != nil {
			return nil, err
		}
	}
	m, _ := o.method()
	t := &task{options: o, method: m, data: d, original: d.Original(), label: o.Label(), whole: newMemo(), schema: s,
		links: problem, named: named, sampledRows: sampledRows, sampledFrom: sampledFrom}
	if o.Choose {
		t.options.Models = t.readable(o.Models)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.bins = graph.NewBins(t.original.Adj, weightBins); t.bins != nil {
		if err := t.checkWeights(); err != nil {
			return nil, err
		}
	} else if d.Adj.Val != nil { // T has no edge, and consumers read each edge of an arrival as 1
		plain, adj := *d, *d.Adj
		adj.Val, plain.Adj = nil, &adj
		d, t.data = &plain, &plain
	}
	if t.related() {
		t.bins = d.By
	}
	t.labelled = sample.Labelled(t.original.Labels)
	if err := t.readTargets(); err != nil {
		return nil, err
	}
	t.holder = inMemory{t}
	t.facts = artifact.Data{Name: d.Name, Fingerprint: fingerprint, Nodes: t.original.Adj.Rows,
		Edges: t.read().NNZ() / 2, Features: t.original.X.Cols(), Classes: d.Classes}
	if err := t.divideNodes(); err != nil {
		return nil, err
	}
	if !o.noValidation { // else validation nodes are nodes of T, and arrive again
		if t.arrivals, err = t.readArrivals(context.Background()); err != nil {
			return nil, err
		}
		t.data = t.data.HeldOut()
	}
	t.meeting = tables.MeetingWeights(t.original.Adj)
	if err := t.prepare(); err != nil {
		return nil, err
	}
	t.attachHeldOut()
	t.seconds = time.Since(start).Seconds()
	return t, nil
}

// prepare fits the preprocessing of T.
func (t *task) prepare() (err error) {
	if t.pre, t.twoHops, err = features.FitTwoHops(t.options.Preprocess, t.original.X, t.data.BagOfWords, t.schema,
		t.hat()); err != nil {
		return fmt.Errorf("fitting the preprocessing: %w", err)
	}
	if len(t.options.Weights) > 0 {
		t.pre.Scale, t.twoHops = 1, nil
	}
	t.x = features.Factor(t.original.X, t.pre)
	t.inputs = t.pre.Raw(t.original.X)
	runtime.GC() // Â and the blocks of its hops are as large as the graph: they go before a fit needs as much
	return nil
}

// hat returns Â of T. It takes twice the memory of T's edges, and is made again where nobody holds it any more: an sgc
// on dense features, whose Â²X is at hand, does not read it after the preprocessing is fitted.
func (t *task) hat() *graph.CSR {
	if known := t.operator.Value(); known != nil {
		return known
	}
	hat := graph.Normalised(t.original.Adj)
	t.operator = weak.Make(hat)
	return hat
}

// weightBins is the number of bins of weights, with tables for each: with four of equal shares of weight, frozen
// predictions are within half a point of arrivals that are truly joined alone, also where a few edges are heavy.
const weightBins = 4

// attachHeldOut attaches the support nodes to T, and the test nodes when they are first asked for.
func (t *task) attachHeldOut() {
	mode := GraphBatch
	if t.options.noValidation { // their edges to each other are edges of T
		mode = NodeBatch
	}
	t.support = t.set(t.data.Validation, mode)
	if t.judges = t.support; len(t.data.Validation) > judgingNodes {
		t.judges = t.set(sample.Evenly(t.data.Validation, judgingNodes), mode)
	}
	t.test = sync.OnceValue(func() map[string]*eval.Set {
		whole := t.set(t.data.Test, GraphBatch)
		return map[string]*eval.Set{GraphBatch: whole, NodeBatch: whole.Apart()}
	})
}

// supportBatch are the support nodes, all of them at once, attached to T.
func (t *task) supportBatch() *attach.Batch {
	return t.data.Attach(t.original, t.data.Validation, !t.options.noValidation)
}

// judgingNodes is the number of nodes that tell accuracies apart to half a point; more of a large T would take long.
const judgingNodes = 5000

// with returns the same data for another run, which shares the results for T alone.
func (t *task) with(o Options, known *memo) (*task, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	out := *t
	out.holder = inMemory{&out}
	out.options, out.label, out.whole = o, o.Label(), known
	out.method, _ = o.method()
	if err := out.check(); err != nil {
		return nil, err
	}
	return &out, out.divideNodes()
}

// divideNodes gives each group of T's nodes its synthetic nodes.
func (t *task) divideNodes() error {
	if len(t.labelled) == 0 {
		return errors.New("no labelled training nodes")
	}
	types, met := t.data.TypesOfT(t.original)
	t.groups = condense.NewGroups(t.original.Labels, t.classes(), types, met)
	return t.divide(len(t.original.Labels), len(sample.Labelled(t.groups.Of)))
}

// divide gives each group its synthetic nodes. T has so many nodes, of which so many are in a group; those at hand may
// be a sample.
func (t *task) divide(nodes, grouped int) (err error) {
	present := map[int32]bool{}
	for _, y := range graph.Pick(t.groups.Of, sample.Labelled(t.groups.Of)) {
		present[y] = true
	}
	kinds := len(present) // of labels, which all nodes share as one class, S needs as many nodes as of so many classes
	if t.data.Task == target.Labels {
		kinds = t.classes()
	}
	types := 0
	if t.related() {
		types = len(t.data.By.Types)
	}
	if t.nodes = t.options.syntheticNodes(nodes, grouped, kinds, types); t.links != nil && t.options.Nodes == 0 &&
		t.options.Ratio == 0 {
		t.nodes = links.NodesOf(nodes)
	}
	if t.share, err = t.groups.Budget(t.nodes); err != nil && t.options.Ratio > 0 {
		return fmt.Errorf("ratio %g of %d: %w", t.options.Ratio, nodes, err)
	}
	return err
}

// set cuts nodes of the data set into batches on T.
func (t *task) set(nodes []int32, mode string) *eval.Set {
	s := eval.Attach(t.data, t.original, dataset.Batches(nodes, t.options.Batch), mode == GraphBatch)
	if t.links != nil {
		s.Queries = t.links.Queries(nodes)
	}
	return s
}

// Purposes of random streams.
const (
	purposeProjection = iota + 1
	purposeClusters
	purposeOrders
	purposeRows
	purposeNodes
	purposeMap
	purposeOwn
	purposeHeldOut
)

// rng returns a separate random stream for each purpose, so that one more draw in one place moves nothing
// elsewhere.
func (o *Options) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, purpose)) }

func (t *task) rng(purpose uint64) *rand.Rand { return t.options.rng(purpose) }

func (t *task) classes() int { return len(t.data.Classes) }
