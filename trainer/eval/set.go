package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
)

// Modes of a batch: whether edges among its arrivals count.
const (
	GraphBatch = "graph"
	NodeBatch  = "node"
)

// Set is a list of batches with the classes of their nodes.
type Set struct {
	Batches []*attach.Batch
	Labels  [][]int32 // class of each node of each batch
	// Targets are the numbers or labels of each node of each batch, n×outputs; nil: the task is classes.
	Targets []*graph.Dense
	Task    target.Task
	// Queries are the neighbours that were held out, of a task of links; nil: the task is another one.
	Queries *target.Queries

	name   func(batch, i int) string // id of a node; nil: not known
	attach func(k int) *attach.Batch // makes Batches[k] again; nil if the batches came attached
}

// Attach joins batches of nodes (dataset indices) to T.
func Attach(d *dataset.Dataset, original *dataset.Original, batches [][]int32, mode *attach.Mode) *Set {
	ids := d.IDs // a set does not hold the edges of T's nodes
	s := &Set{Task: d.Task, name: func(batch, i int) string { return ids[batches[batch][i]] }}
	for _, nodes := range batches {
		s.Labels = append(s.Labels, graph.Pick(d.Labels, nodes))
		s.Batches = append(s.Batches, d.Attach(original, nodes, mode))
		if d.Targets != nil {
			s.Targets = append(s.Targets, d.Targets.Take(nodes))
		}
	}
	return s
}

// Empty returns a set of the same nodes without batches.
func (s *Set) Empty() *Set {
	return &Set{Labels: s.Labels, Targets: s.Targets, Task: s.Task, Queries: s.Queries, name: s.name}
}

// Apart returns graph batches as node batches, of the same features and edges to T.
func (s *Set) Apart() *Set {
	out := s.Empty()
	for _, b := range s.Batches {
		out.Batches = append(out.Batches, &attach.Batch{X: b.X, R: b.R, Known: b.Known, Weights: b.Weights})
	}
	return out
}

// InSlots returns the same batches on T with each edge in the columns of its slot, as frozen tables of T are read.
func (s *Set) InSlots(slots graph.Slots) *Set {
	out := s.Empty()
	for _, b := range s.Batches {
		out.Batches = append(out.Batches, b.InSlots(&slots))
	}
	return out
}

// On returns the same batches attached to S through M (N×N'): r = aM, by the slots of tables.
// When time or memory of the result is measured, attachment through the rows of M, which are in memory, is done again
// and counts as part of inference.
func (s *Set) On(m *graph.CSR, slots graph.Slots) *Set {
	out := s.Empty()
	out.attach = func(k int) *attach.Batch {
		b := &attach.Batch{X: s.Batches[k].X, Adj: s.Batches[k].Adj}
		b.AttachThrough(s.Batches[k].R, m, &slots)
		return b
	}
	for k := range s.Batches {
		out.Batches = append(out.Batches, out.attach(k))
	}
	return out
}

// Len returns the number of nodes.
func (s *Set) Len() int {
	n := 0
	for _, labels := range s.Labels {
		n += len(labels)
	}
	return n
}

// batch returns Batches[k], attached anew if the set is on S.
func (s *Set) batch(k int) *attach.Batch {
	if s.attach == nil {
		return s.Batches[k]
	}
	return s.attach(k)
}

// Predictor answers attached batches: an *infer.Predictor, or a version that serves.
type Predictor interface {
	Predict(b *attach.Batch) (logits, probabilities *graph.Dense)
}

// Answer holds a predictor's output for every node of a set, in order.
type Answer struct {
	Task          target.Task
	Class         []int32        // predicted ([target.Task.Class])
	Logits        []*graph.Dense // a batch each, n×C
	Probabilities []*graph.Dense
	// MsPerBatch is the mean time of a batch but the first, as [Time] measures it; 0 if that takes more batches.
	MsPerBatch float64
}

// Run predicts every batch of a set once.
func Run(p Predictor, s *Set) *Answer {
	a := &Answer{Task: s.Task}
	var start time.Time
	for k := range s.Batches {
		if k == 1 { // the first one warms up
			start = time.Now()
		}
		a.Add(p.Predict(s.batch(k)))
	}
	if n := len(s.Batches) - 1; n >= timedBatches && time.Since(start) >= timedAtLeast {
		a.MsPerBatch = milliseconds(time.Since(start), n)
	}
	return a
}

// Add appends the answer to the next batch.
func (a *Answer) Add(logits, probabilities *graph.Dense) {
	a.Logits = append(a.Logits, logits)
	a.Probabilities = append(a.Probabilities, probabilities)
	for i := range probabilities.Rows {
		a.Class = append(a.Class, int32(a.Task.Class(probabilities.Row(i))))
	}
}

// Squared is the largest output of a node of which squares are added up, as of validation nodes for M. Numbers to be
// predicted may be larger: outputs of a node are then refused beyond a thousand times the largest of its set.
const Squared = 1e18

// Finite returns an error that names a node of a set whose output, of a predictor, is NaN, infinite or beyond a bound.
// A consumer makes a dead letter of an arrival whose output is not finite. role says which nodes these are. One such
// node may make the outputs of others in its batch infinite: the one that is named has such an output alone, too.
func (a *Answer) Finite(p Predictor, s *Set, role string, bound float32) error {
	for _, targets := range s.Targets {
		for _, v := range targets.Data {
			bound = max(bound, min(1e3*max(v, -v), math.MaxFloat32))
		}
	}
	for b, out := range a.Logits {
		first := slices.IndexFunc(out.Data, func(v float32) bool { return beyond(v, bound) })
		if first < 0 {
			continue
		}
		node, value, batch := first/out.Cols, out.Data[first], s.batch(b)
		for i := node; i < out.Rows; i++ {
			if !slices.ContainsFunc(out.Row(i), func(v float32) bool { return beyond(v, bound) }) {
				continue
			}
			logits, _ := p.Predict(alone(batch, i))
			if at := slices.IndexFunc(logits.Data, func(v float32) bool { return beyond(v, bound) }); at >= 0 {
				node, value = i, logits.Data[at]
				break
			}
		}
		name := ""
		if s.name != nil {
			name = fmt.Sprintf(" %.100q", s.name(b, node))
		}
		return fmt.Errorf("%s node%s: the model's output is %v, because its features or the weights of its edges are "+
			"too far from those of training: correct them, or leave the node out", role, name, value)
	}
	return nil
}

// beyond reports whether a value is NaN, or beyond a bound.
func beyond(v, bound float32) bool { return !(v >= -bound && v <= bound) }

// alone returns a batch of arrival i alone.
func alone(b *attach.Batch, i int) *attach.Batch {
	of := []int32{int32(i)}
	out := &attach.Batch{X: b.X.Take(of), R: b.Sparse().Take(of), Known: b.Known[i : i+1]}
	if b.Weights != nil {
		out.Weights = b.Weights[i : i+1]
	}
	return out
}

// Accuracy returns the share of nodes whose class is their label, in percent; 0 for an empty set.
func (a *Answer) Accuracy(s *Set) float64 {
	right, at := 0, 0
	for _, labels := range s.Labels {
		for _, y := range labels {
			if a.Class[at] == y {
				right++
			}
			at++
		}
	}
	return 100 * float64(right) / float64(max(1, at))
}

// Regrouped has test nodes of a data set in other batches than usual, to see whether that changes their classes.
type Regrouped struct {
	set   *Set
	order []int // place of each node among the test nodes
}

// regroupSeed is the same for all runs: the other batches are the same for every method, seed and size.
const regroupSeed = 1

// Regroup shuffles the test nodes into batches of a tenth of the size. Nodes for two batches are enough.
func Regroup(d *dataset.Dataset, original *dataset.Original, size int, mode *attach.Mode) *Regrouped {
	order := rand.New(rand.NewPCG(regroupSeed, 0)).Perm(len(d.Test))
	g := &Regrouped{order: order[:min(len(order), 2*size)]}
	g.set = Attach(d, original, dataset.Batches(graph.Pick(d.Test, g.order), max(1, size/10)), mode)
	return g
}

// Changed returns the share of the nodes whose class differs from that in the usual batches, in percent. on attaches
// batches on T to the graph of the deployment.
func (g *Regrouped) Changed(p Predictor, on func(*Set) *Set, classes []int32) float64 {
	return 100 - Equal(Run(p, on(g.set)).Class, graph.Pick(classes, g.order))
}
