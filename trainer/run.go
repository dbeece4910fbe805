package trainer

import (
	"cmp"
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

// A run is three values: T, the held-out nodes, and the options. A method is a function of them ([Condenser]),
// and what comes after it is functions of them and of its [Result].

// T is the graph that is condensed, and what follows from it alone: runs with other methods, sizes and seeds share it.
type T struct {
	*dataset.Original
	Preprocess *preprocess.Parameters

	task     target.Task
	facts    artifact.Data  // of the manifest; its nodes and edges are T's
	schema   *schema.Schema // of named features; nil if they have positions only
	units    []float64      // of messages, one an output ([condense.Support.Units]); nil: the task is classes
	links    *links.Problem // of a task of links; nil: the task is another one
	slots    graph.Slots    // of edges
	labelled []int32        // nodes that have a class
	groups   *condense.Groups
	meeting  []float32 // how often an arrival meets each node: [tables.MeetingWeights]

	operator weak.Pointer[graph.CSR]    // Â while somebody reads it: [T.hat]
	x        *features.FactoredFeatures // pre(X)
	inputs   preprocess.Inputs          // the same, seen through weights
	twoHops  *graph.Dense               // Â²·pre(X), N×d, of dense features until S is made of it; else nil
	stored   storedTables               // tables of T's nodes that are made already; nil: they are made here
	exact    *graph.Dense               // points of T's nodes by the edges of a larger graph, of which T is a part; or nil
}

// Held are the nodes outside T: validation nodes, by which everything is chosen, and test nodes, which measure.
type Held struct {
	t     *T
	data  *dataset.Dataset               // without the edges of T's nodes, which are in T
	batch int                            // nodes of a batch
	named func(id string) []schema.Field // values of a node by name; nil: features have positions only
	again bool                           // the data have no validation nodes: some nodes of T arrive again
	mode  *attach.Mode                   // of the support nodes
	test  func() map[string]*eval.Set    // the test nodes by mode of batch; made when they are first asked for
	// support are the validation nodes in graph batches, judges those of them by which fits are chosen: all, or some at
	// even distances if there are many.
	support  *eval.Set
	judges   *eval.Set
	arrivals *arrivals // nodes to answer; nil: they are read when they are answered
}

// Run has the options of a run, and what follows from them for a T.
type Run struct {
	Options
	Progress Progress

	method  Method
	share   []int // synthetic nodes of each group, N' in all
	size    int   // N'
	known   *memo // results that depend on T and the seed alone
	holder  holder
	seconds float64 // wall clock of getting T ready
	last    bool    // no other run reads T
	// sampledRows is the number of labelled rows above which linear models are compared on a sample of so many.
	sampledRows int
	// sampledFrom is the number of nodes above which models with hidden layers are compared on a sample of T.
	sampledFrom int
}

// Modes of a batch.
const (
	GraphBatch = eval.GraphBatch
	NodeBatch  = eval.NodeBatch
)

var modes = []*attach.Mode{attach.Graph, attach.Node}

// prepare makes a data set ready. It holds the data in another order ([dataset.Dataset.OriginalFirst]) and not d, whose
// memory is free if the caller does not hold it either.
func prepare(d *dataset.Dataset, o Options, progress Progress) (*T, *Held, *Run, error) {
	if err := o.Validate(); err != nil {
		return nil, nil, nil, err
	}
	if len(d.Validation) == 0 {
		return nil, nil, nil, errors.New("no validation nodes: hyperparameters are chosen on them")
	}
	start := time.Now()
	t, h, err := divided(d, &o)
	if err != nil {
		return nil, nil, nil, err
	}
	r, err := newRun(t, h, o, newMemo(), progress)
	if err != nil {
		return nil, nil, nil, err
	}
	if !o.noValidation { // else the support nodes are nodes of T
		if h.arrivals, err = h.readArrivals(h.neighbours); err != nil {
			return nil, nil, nil, err
		}
		h.data = h.data.HeldOut()
	}
	t.meeting = tables.MeetingWeights(t.Adj)
	if err := t.fitPreprocessing(&o, h.data.BagOfWords); err != nil {
		return nil, nil, nil, err
	}
	h.attach()
	r.seconds = time.Since(start).Seconds()
	return t, h, r, nil
}

// divided cuts T out of a data set. It completes the options: with the schema, and the models that read the edges.
func divided(d *dataset.Dataset, o *Options) (*T, *Held, error) {
	facts := artifact.Data{Name: d.Name, Fingerprint: cmp.Or(o.fingerprint, d.Fingerprint())} // of columns with names
	named, own := features.Named(d.IDs, d.Columns), d.Columns != nil
	o.Schema.Zero = !features.Centres(o.Preprocess)
	d, s, err := features.Encode(d, o.Keep, o.Schema)
	if err != nil {
		return nil, nil, err
	}
	o.Keep = s // X is of its positions
	if own {   // of features that were made here
		d = d.MoveOriginalFirst()
	} else {
		d = d.OriginalFirst()
	}
	var problem *links.Problem
	if d.Task.Truth() == target.Neighbours {
		if problem, d, err = links.Prepare(d, o.rng(purposeHeldOut), o.rng(purposeVectors)); err != nil {
			return nil, nil, err
		}
	}
	t := &T{Original: d.Original(), task: d.Task, schema: s, links: problem}
	if o.Choose {
		o.Models = readable(d.By, o.Models)
	}
	if err := o.check(d); err != nil {
		return nil, nil, err
	}
	if t.slots = d.Slots(); !t.slots.Relational() {
		t.slots = graph.WeightSlots(t.Adj, weightBins)
	}
	if !t.slots.Weighted && d.Adj.Val != nil { // T has no edge, and consumers read each edge of an arrival as 1
		plain, adj := *d, *d.Adj
		adj.Val, plain.Adj = nil, &adj
		d = &plain
	}
	t.labelled = sample.Labelled(t.Labels)
	facts.Nodes, facts.Edges, facts.Features, facts.Classes = t.Adj.Rows, t.Edges.NNZ()/2, t.X.Cols(), d.Classes
	t.facts = facts
	if err := t.readTargets(d); err != nil {
		return nil, nil, err
	}
	if len(t.labelled) == 0 {
		return nil, nil, errors.New("no labelled training nodes")
	}
	types, met := d.TypesOfT(t.Original)
	t.groups = condense.NewGroups(t.Labels, t.Classes(), types, met)
	return t, &Held{t: t, data: d, batch: o.Batch, named: named, again: o.noValidation}, nil
}

// newRun returns a run on a T; known are the results of runs with its seed.
func newRun(t *T, h *Held, o Options, known *memo, progress Progress) (*Run, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.check(h.data); err != nil {
		return nil, err
	}
	m, _ := o.method()
	r := &Run{Options: o, Progress: progress, method: m, known: known, sampledRows: sampledRows, sampledFrom: sampledFrom}
	r.holder = inMemory{t, h, r}
	return r, r.divide(t, len(t.Labels), len(sample.Labelled(t.groups.Of)))
}

// fitPreprocessing fits the preprocessing of T.
func (t *T) fitPreprocessing(o *Options, bagOfWords bool) (err error) {
	if t.Preprocess, t.twoHops, err = features.FitTwoHops(o.Preprocess, t.X, bagOfWords, t.schema,
		t.hat()); err != nil {
		return fmt.Errorf("fitting the preprocessing: %w", err)
	}
	if len(o.Weights) > 0 {
		t.Preprocess.Scale, t.twoHops = 1, nil
	}
	t.x = features.Factor(t.X, t.Preprocess)
	t.inputs = t.Preprocess.Raw(t.X)
	runtime.GC() // Â and the blocks of its hops are as large as the graph: they go before a fit needs as much
	return nil
}

// hat returns Â of T. It takes twice the memory of T's edges, and is made again where nobody holds it any more: an sgc
// on dense features, whose Â²X is at hand, does not read it after the preprocessing is fitted.
func (t *T) hat() *graph.CSR {
	if known := t.operator.Value(); known != nil {
		return known
	}
	hat := graph.Normalised(t.Adj)
	t.operator = weak.Make(hat)
	return hat
}

// Classes returns the number of classes, or of outputs of another task.
func (t *T) Classes() int { return len(t.facts.Classes) }

// weightBins is the number of bins of weights, with tables for each: with four of equal shares of weight, frozen
// predictions are within half a point of arrivals that are truly joined alone, also where a few edges are heavy.
const weightBins = 4

// attach attaches the support nodes to T, and the test nodes when they are first asked for.
func (h *Held) attach() {
	h.mode = attach.Graph
	if h.again { // their edges to each other are edges of T
		h.mode = attach.Node
	}
	h.support = h.set(h.data.Validation, h.mode)
	if h.judges = h.support; len(h.data.Validation) > judgingNodes {
		h.judges = h.set(sample.Evenly(h.data.Validation, judgingNodes), h.mode)
	}
	h.test = sync.OnceValue(func() map[string]*eval.Set {
		whole := h.set(h.data.Test, attach.Graph)
		return map[string]*eval.Set{GraphBatch: whole, NodeBatch: whole.Apart()}
	})
}

// Support returns the support nodes, all of them at once, attached to T.
func (h *Held) Support() *attach.Batch {
	return h.data.Attach(h.t.Original, h.data.Validation, h.mode)
}

// judgingNodes is the number of nodes that tell accuracies apart to half a point; more of a large T would take long.
const judgingNodes = 5000

// set cuts nodes of the data set into batches on T.
func (h *Held) set(nodes []int32, mode *attach.Mode) *eval.Set {
	s := eval.Attach(h.data, h.t.Original, dataset.Batches(nodes, h.batch), mode)
	if h.t.links != nil {
		s.Queries = h.t.links.Queries(nodes)
	}
	return s
}

// divide gives each group of T's nodes its synthetic nodes. T has so many nodes, of which so many are in a group; those
// at hand may be a sample.
func (r *Run) divide(t *T, nodes, grouped int) (err error) {
	present := map[int32]bool{}
	for _, y := range graph.Pick(t.groups.Of, sample.Labelled(t.groups.Of)) {
		present[y] = true
	}
	kinds := t.task.Groups(len(present), t.Classes())
	r.size = r.syntheticNodes(nodes, grouped, kinds, len(t.slots.Types))
	if t.links != nil && r.Nodes == 0 && r.Ratio == 0 {
		r.size = links.NodesOf(nodes)
	}
	if r.share, err = t.groups.Budget(r.size); err != nil && r.Ratio > 0 {
		return fmt.Errorf("ratio %g of %d: %w", r.Ratio, nodes, err)
	}
	return err
}

// release drops Â²X, which is as large as T's features and not read once S is made, unless other runs read T.
func (r *Run) release(t *T) {
	if r.last {
		t.twoHops = nil
	}
}

// Share returns the synthetic nodes of each class, N' in all.
func (r *Run) Share() []int { return r.share }

// Rand returns the random stream of clusters and choices of nodes.
func (r *Run) Rand() *rand.Rand { return r.rng(purposeClusters) }

// quiet returns the run without reports.
func (r *Run) quiet() *Run {
	out := *r
	out.Progress = Silent{}
	return &out
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
	purposeVectors
)

// rng returns a separate random stream for each purpose, so that one more draw in one place moves nothing
// elsewhere.
func (o *Options) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, purpose)) }
