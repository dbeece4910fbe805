package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
)

// GNNProblem is the classification of a graph's n nodes by a model with hidden layers. T and S pose the same problem;
// OnOriginal and OnSynthetic make it from their data (gnn_problem.go).
type GNNProblem struct {
	Shape             // of an architecture that is not linear
	Classes    int    // C
	Propagated Design // P·pre(X), n rows: the first layer's input from neighbours; not read for appnp
	Self       Design // pre(X), n rows: its input from the node itself; not read for gcn
	// n×n, the P of every later layer; rows that no labelled node depends on may be empty; or [Po | Pi]
	Hop     *graph.CSR
	Labels  []int32   // n, −1: none
	Weights []float32 // n, ω_i ≥ 0, read where there is a label; nil: all 1
	// Soft are probabilities of the classes, n×C, to be met in place of the labels, which are not read; nil: none.
	Soft *graph.Dense
	// Targets are the targets of the nodes that have a label, n×C ([GNNProblem.Of]); nil: labels are classes.
	Targets *graph.Dense
	Task    target.Task
	// draw draws inputs and soft labels of an epoch anew, by a seed; nil: they stay.
	draw func(seed uint64) (inputs [2]Design, soft *graph.Dense)
	// nodes are the nodes of the graph that the problem is posed on which are its rows; nil: all.
	nodes []int32
}

// Of returns the problem for the targets of all nodes of a task, or the means of a cluster; nil: labels are classes.
func (p GNNProblem) Of(task target.Task, targets *graph.Dense) GNNProblem {
	if p.Task, p.Targets = task, targets; targets != nil && p.nodes != nil {
		p.Targets = targets.Take(p.nodes)
	}
	return p
}

// GNNOptions say how a model is fitted.
type GNNOptions struct {
	WeightDecay  float64 // wd of the weights
	LearningRate float64 // of Adam, > 0
	Dropout      float64 // share of the hidden layer that is left out in an epoch, 0 ≤ … < 1
	InputDropout float64 // the same for the features
	Epochs       int     // at most so many steps; at least 1
	Every        int     // epochs from one validation to the next; at least 1
	Patience     int     // validations without a better one after which the fit ends; at least 1
	Seed         uint64  // of the start and of dropout
	// Start are the weights to begin with, of a model of the problem's shape; nil: they are drawn.
	Start infer.Model
	// Report is told of every epoch, with the accuracy of the last validation, NaN before the first; nil: nobody is told.
	Report func(Checkpoint)
}

// DefaultGNNOptions are the options of docs/algorithm.md, section 3, for a weight decay.
func DefaultGNNOptions(weightDecay float64, seed uint64) GNNOptions {
	return GNNOptions{WeightDecay: weightDecay, LearningRate: 0.01, Dropout: 0.5, InputDropout: 0.5,
		Epochs: 300, Every: 10, Patience: 5, Seed: seed}
}

// Validate checks ranges; the error names the option and its value.
func (o GNNOptions) Validate() error {
	switch {
	case !(o.WeightDecay >= 0) || math.IsInf(o.WeightDecay, 0):
		return fmt.Errorf("weight decay is %g, want a number of 0 or more", o.WeightDecay)
	case !(o.LearningRate > 0) || math.IsInf(o.LearningRate, 0):
		return fmt.Errorf("learning rate is %g, want a number above 0", o.LearningRate)
	case !(o.Dropout >= 0 && o.Dropout < 1):
		return fmt.Errorf("dropout is %g, want 0 or more and less than 1", o.Dropout)
	case !(o.InputDropout >= 0 && o.InputDropout < 1):
		return fmt.Errorf("input dropout is %g, want 0 or more and less than 1", o.InputDropout)
	case o.Epochs < 1:
		return fmt.Errorf("epochs is %d, want at least 1", o.Epochs)
	case o.Every < 1:
		return fmt.Errorf("every is %d, want at least 1", o.Every)
	case o.Patience < 1:
		return fmt.Errorf("patience is %d, want at least 1", o.Patience)
	}
	return nil
}

// Checkpoint is the state of a fit at one of its validations.
type Checkpoint struct {
	Epoch    int     // steps taken
	Loss     float64 // of the last step's forward pass, dropout and weight decay included
	Accuracy float64 // from the validation function
}

// Trace is the course of a fit.
type Trace struct {
	Checkpoints []Checkpoint
	Best        Checkpoint // the one whose weights were returned
}

// GNN fits the weights of a model with hidden layers: full-batch Adam on
//
//	Σ_i ω_i CE(softmax(o_i), y_i) / Σ_i ω_i + wd Σ ‖W‖²        over labelled i; biases are free
//
// o the model's logits with dropout (see doc.go). validate is called with the weights every few epochs, and after the
// last one; GNN keeps the weights with the highest accuracy that it returns, of equals the first. The model that it is
// given is valid until it returns. The same problem and options give the same weights on all processors.
//
// It ends with an error if the problem's model is not known, no node has a label, an option is out of range, validate
// fails, the loss is no longer a number, or ctx ends, which is checked between the products of an epoch. Inputs, Hop
// and labels of different sizes are a programming error and panic.
func GNN(ctx context.Context, p GNNProblem, o GNNOptions,
	validate func(infer.Model) (accuracy float64, err error)) (infer.Model, Trace, error) {
	var trace Trace
	if err := o.Validate(); err != nil {
		return nil, trace, fmt.Errorf("fitting %s: %w", p.Model, err)
	}
	if _, err := architecture.Lookup(p.Model); err != nil {
		return nil, trace, fmt.Errorf("fitting: %w", err)
	}
	arch := p.architecture() // of the data's relations
	if p.Layers = max(p.Layers, arch.Fewest); p.Layers > arch.Most || arch.Linear() {
		return nil, trace, fmt.Errorf("fitting %s: no network of %d layers, it has %d to %d", p.Model, p.Layers,
			arch.Fewest, arch.Most)
	}
	targets := newTargets(&p)
	if targets == nil {
		return nil, trace, fmt.Errorf("fitting %s: no node has a label and a weight", p.Model)
	}
	n := newNetwork(&p, arch, rand.New(rand.NewPCG(o.Seed, streamStart)))
	if o.Start != nil {
		n.begin(o.Start)
	}
	model, trace, err := descend(ctx, n, targets, o, validate)
	if err != nil {
		return nil, trace, fmt.Errorf("fitting %s with weight decay %g: %w", p.Model, o.WeightDecay, err)
	}
	return model, trace, nil
}

// Streams of random numbers.
const (
	streamStart = iota + 1
	streamInputs
	streamHidden // and the next ones, one a hidden layer
	streamDraws  = 1 << 16
)

// descend takes steps until the epochs or the patience end, and returns the best model.
func descend(ctx context.Context, n *network, y *targets, o GNNOptions,
	validate func(infer.Model) (float64, error)) (infer.Model, Trace, error) {
	var trace Trace
	var best infer.Model
	at := Checkpoint{Accuracy: math.NaN()}
	for at.Epoch < o.Epochs {
		at.Epoch++
		var err error
		if at.Loss, err = n.epoch(ctx, y, o, at.Epoch); err != nil {
			return nil, trace, err
		}
		if at.Epoch%o.Every == 0 || at.Epoch == o.Epochs {
			if at.Accuracy, err = validate(n.model(false)); err != nil {
				return nil, trace, fmt.Errorf("epoch %d: validating: %w", at.Epoch, err)
			}
			if math.IsNaN(at.Accuracy) {
				return nil, trace, errors.New("validation gives an accuracy that is not a number")
			}
			trace.Checkpoints = append(trace.Checkpoints, at)
			if best == nil || at.Accuracy > trace.Best.Accuracy {
				best, trace.Best = n.model(true), at
			}
		}
		if o.Report != nil {
			o.Report(at)
		}
		if best != nil && at.Epoch-trace.Best.Epoch >= o.Patience*o.Every {
			break
		}
	}
	return best, trace, nil
}

// epoch takes a step and returns the loss before it, weight decay included.
func (n *network) epoch(ctx context.Context, y *targets, o GNNOptions, epoch int) (float64, error) {
	if draw := n.problem.draw; draw != nil {
		var inputs [2]Design
		inputs, y.soft = draw(stream(o.Seed, uint64(epoch), streamDraws))
		n.inputs = n.reads(inputs)
	}
	logits := n.forward(ctx, o, uint64(epoch))
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	loss := y.loss(logits) // logits become the gradient
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("epoch %d: the loss became %v", epoch, loss)
	}
	n.backward(ctx, logits)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	loss += o.WeightDecay * n.squares()
	for _, p := range n.params() {
		p.step(o.LearningRate, o.WeightDecay)
	}
	return loss, nil
}

// targets are the labelled nodes with their shares of the loss.
type targets struct {
	labels []int32
	share  []float32    // ω_i/Σω
	soft   *graph.Dense // rows to be met in place of labels; nil: none
	task   target.Task
}

// newTargets is nil where nothing has a share.
func newTargets(p *GNNProblem) *targets {
	if len(p.Labels) != p.Hop.Rows || (p.Weights != nil && len(p.Weights) != p.Hop.Rows) {
		panic(fmt.Sprintf("fit: %d labels and %d weights of %d nodes", len(p.Labels), len(p.Weights), p.Hop.Rows))
	}
	t := &targets{labels: p.Labels, share: make([]float32, len(p.Labels)), soft: cmp.Or(p.Soft, p.Targets), task: p.Task}
	total := 0.0
	for i, y := range p.Labels {
		if y < 0 && p.Soft == nil {
			continue
		}
		t.share[i] = 1
		if p.Weights != nil {
			t.share[i] = p.Weights[i]
		}
		total += float64(t.share[i])
	}
	if total <= 0 {
		return nil
	}
	for i := range t.share {
		t.share[i] = float32(float64(t.share[i]) / total)
	}
	return t
}

// loss is the weighted mean of the task's loss; logits become its gradient.
func (t *targets) loss(logits *graph.Dense) float64 {
	if t.soft != nil {
		return t.task.Loss(logits, t.soft, t.share)
	}
	return target.ClassLoss(logits, t.labels, func(i int) float64 { return float64(t.share[i]) }, 1, nil)
}
