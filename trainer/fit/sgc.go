package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
)

// Problem is a weighted classification: row i of the design has class Labels[i].
type Problem struct {
	Design  Design
	Labels  []int32   // n, each 0…Classes-1
	Weights []float32 // n, ω_i ≥ 0; nil: all 1
	Classes int
	// Spread is the covariance of what each row stands for; nil: it stands for itself. Labels are then classes.
	Spread *Spread
	// Soft are labels in place of Labels, with Directions (V, r×d) of its Spread; nil: Labels are.
	Soft       *SoftLabels
	Directions *graph.Dense
	// Targets are numbers in place of Labels, or 1 for each label that a row has and else 0, as Task says: n×Classes. The
	// targets of a synthetic node are the means of its cluster. nil: rows have classes.
	Targets *graph.Dense
	Task    target.Task
	// Report is told of every iteration of a fit; nil: nobody is told.
	Report func(Iteration)
}

// Iteration is the state of a fit after one of its steps.
type Iteration struct {
	Number, Most int // steps taken, and the most that there can be
	Loss         float64
}

// Sample is the problem on n rows drawn without replacement; false, and the problem itself, where it has no more
// rows or its rows are not at hand one by one.
func (p Problem) Sample(n int, rng *rand.Rand) (Problem, bool) {
	design, ok := p.Design.(Explicit)
	if !ok || len(p.Labels) <= n {
		return p, false
	}
	rows := make([]int32, n)
	for k, i := range rng.Perm(len(p.Labels))[:n] {
		rows[k] = int32(i)
	}
	slices.Sort(rows)
	out := Problem{Design: Explicit{X: design.X.Take(rows)}, Labels: graph.Pick(p.Labels, rows), Classes: p.Classes,
		Report: p.Report}
	if p.Weights != nil {
		out.Weights = graph.Pick(p.Weights, rows)
	}
	if p.Targets != nil {
		out.Targets, out.Task = p.Targets.Take(rows), p.Task
	}
	return out, true
}

// DecayOfAll returns the weight decay of a fit of all rows with the same effect as decay has with some of them: the
// loss is a mean over rows, so the weight decay falls as their number grows.
func DecayOfAll(decay float64, some, all int) float64 { return decay * (float64(some) / float64(all)) }

// Limits of the L-BFGS fit.
const (
	maxIterations = 300
	patience      = 5
	history       = 15
)

// Tolerances: a fit ends when patience iterations lower the loss by less than this share of it.
const (
	// Final is for weights that are kept. The gradient is float32 at heart: with less they change and get no better.
	Final = 1e-6
	// Rough is for the comparison of weight decays.
	Rough = 1e-4
)

// SGC fits W and b for one weight decay by the loss of the problem's task; numbers by ridge regression. start is where
// to begin (a fit with a larger weight decay, or of fewer rows), nil for zeros. It ends early, with an error, where ctx
// does.
func SGC(ctx context.Context, p Problem, weightDecay, tolerance float64,
	start *architecture.Layer) (*architecture.Layer, error) {
	if p.Task.Regression() {
		return ridge(ctx, p, weightDecay, tolerance, start)
	}
	return minimise(ctx, p, weightDecay, tolerance, start)
}

// minimise finds the least loss by L-BFGS.
func minimise(ctx context.Context, p Problem, weightDecay, tolerance float64,
	start *architecture.Layer) (*architecture.Layer,
	error) {
	n, d := p.Design.Dims()
	if (p.Soft == nil && len(p.Labels) != n) || (p.Weights != nil && len(p.Weights) != n) {
		panic(fmt.Sprintf("fit: %d rows, %d labels, %d weights", n, len(p.Labels), len(p.Weights)))
	}
	obj := newObjective(p, weightDecay)
	x0 := make([]float64, (d+1)*p.Classes)
	if start != nil {
		pack(x0, start)
	}
	problem := optimize.Problem{Func: obj.loss, Grad: obj.gradient, Status: func() (optimize.Status, error) {
		return optimize.NotTerminated, ctx.Err()
	}}
	settings := &optimize.Settings{MajorIterations: maxIterations, GradientThreshold: 1e-6,
		Converger: &optimize.FunctionConverge{Relative: tolerance, Absolute: 1e-9, Iterations: patience}}
	if p.Report != nil {
		settings.Recorder = recorder(p.Report)
	}
	result, err := optimize.Minimize(problem, x0, settings, &optimize.LBFGS{Store: history})
	// A line search that cannot improve in float32 has arrived; anything else is an error.
	if err != nil && (result == nil || !stalled(err)) {
		return nil, fmt.Errorf("fitting SGC with weight decay %g: %w", weightDecay, err)
	}
	if math.IsNaN(result.F) || math.IsInf(result.F, 0) {
		return nil, fmt.Errorf("fitting SGC with weight decay %g: the loss became %v", weightDecay, result.F)
	}
	return obj.unpack(result.X), nil
}

// recorder passes on gonum's reports of its iterations.
type recorder func(Iteration)

// Init does nothing.
func (recorder) Init() error { return nil }

// Record reports an iteration that is complete.
func (r recorder) Record(at *optimize.Location, did optimize.Operation, stats *optimize.Stats) error {
	if did == optimize.MajorIteration && stats.MajorIterations > 0 {
		r(Iteration{stats.MajorIterations, maxIterations, at.F})
	}
	return nil
}

func stalled(err error) bool {
	return errors.Is(err, optimize.ErrLinesearcherFailure) || errors.Is(err, optimize.ErrNonDescentDirection) ||
		errors.Is(err, optimize.ErrNoProgress) || errors.Is(err, optimize.ErrLinesearcherBound)
}

// objective is the loss and its gradient; gonum asks for both at the same place, so the last answer is kept.
type objective struct {
	Problem
	features    int
	weightDecay float64
	total       float64      // Σω
	rows        *softmax     // of a design with rows at hand; else nil
	linear      *graph.Dense // VᵀΓ, of soft labels; nil: there are none
	at          []float64
	value       float64
	grad        []float64
}

func newObjective(p Problem, weightDecay float64) *objective {
	n, d := p.Design.Dims()
	o := &objective{Problem: p, features: d, weightDecay: weightDecay, grad: make([]float64, (d+1)*p.Classes)}
	for i := range n {
		o.total += o.weight(i)
	}
	if p.Soft != nil {
		o.linear = gemm.Mul(gemm.Of(p.Directions).T(), gemm.Of(p.Soft.Spread))
	}
	if design, ok := p.Design.(Explicit); ok && p.Spread == nil && p.targets() == nil {
		share := make([]float32, len(p.Labels))
		for i := range share {
			share[i] = float32(o.weight(i) / o.total)
		}
		o.rows = newSoftmax(&p, design.X, share)
	}
	return o
}

// targets are the logits that a fit aims at, n×C; nil: rows have classes.
func (p *Problem) targets() *graph.Dense {
	if p.Soft != nil {
		return p.Soft.Means
	}
	return p.Targets
}

func (o *objective) weight(i int) float64 {
	if o.Weights == nil {
		return 1
	}
	return float64(o.Weights[i])
}

func (o *objective) loss(x []float64) float64 {
	o.evaluate(x)
	return o.value
}

func (o *objective) gradient(grad, x []float64) {
	o.evaluate(x)
	copy(grad, o.grad)
}

// evaluate computes CE + wd·‖W‖² and its gradient.
func (o *objective) evaluate(x []float64) {
	if slices.Equal(x, o.at) {
		return
	}
	o.at = append(o.at[:0], x...)
	if o.rows != nil {
		o.value = o.rows.evaluate(x, o.grad)
	} else {
		o.value = o.products(x)
	}
	for k, w := range x[:o.features*o.Classes] {
		o.value += o.weightDecay * w * w
		o.grad[k] += 2 * o.weightDecay * w
		if o.linear != nil {
			o.value -= float64(o.linear.Data[k]) * w
			o.grad[k] -= float64(o.linear.Data[k])
		}
	}
}

// products computes CE and its gradient Fᵀ(ω∘(softmax − onehot))/Σω by the products of a design.
func (o *objective) products(x []float64) float64 {
	model := o.unpack(x)
	logits := o.Design.Forward(model.Self)
	graph.ParallelRows(logits.Rows, len(logits.Data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			graph.Add(logits.Row(i), model.Bias)
		}
	})
	var sw *graph.Dense
	if o.Spread != nil {
		sw = o.Spread.widen(logits, o.Labels, model.Self)
	}
	bias := o.grad[len(x)-o.Classes:]
	clear(bias)
	loss := 0.0
	if o.targets() == nil {
		loss = target.ClassLoss(logits, o.Labels, o.weight, o.total, bias) / o.total
	} else {
		share := make([]float32, logits.Rows)
		for i := range share {
			share[i] = float32(o.weight(i) / o.total)
		}
		loss = o.Task.Loss(logits, o.targets(), share)
		for c, v := range columnSums(logits).Data {
			bias[c] = float64(v)
		}
	}
	for k, v := range o.Design.Adjoint(logits).Data {
		o.grad[k] = float64(v)
	}
	if o.Spread != nil {
		o.Spread.gradient(o.grad, logits, o.Labels, sw)
	}
	return loss
}

// pack and unpack: W row-major, then b.
func pack(x []float64, m *architecture.Layer) {
	for k, v := range m.Self.Data {
		x[k] = float64(v)
	}
	for c, v := range m.Bias {
		x[len(m.Self.Data)+c] = float64(v)
	}
}

func (o *objective) unpack(x []float64) *architecture.Layer {
	m := &architecture.Layer{Self: graph.NewDense(o.features, o.Classes), Bias: make([]float32, o.Classes)}
	for k := range m.Self.Data {
		m.Self.Data[k] = float32(x[k])
	}
	for c := range m.Bias {
		m.Bias[c] = float32(x[len(m.Self.Data)+c])
	}
	return m
}
