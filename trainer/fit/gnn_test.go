package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

const (
	modelGCN   = "gcn"
	modelSAGE  = "sage"
	modelAPPNP = "appnp"
	modelCheby = "cheby"
)

// models are the architectures that are fitted here, with the number of their layers: what a test calls a model.
var models = []string{modelGCN, modelSAGE, modelAPPNP, modelCheby, "gcn of 3", "sage of 4"}

// shapeOf is the architecture and the number of layers of a model.
func shapeOf(model string) (name string, layers int) {
	name, number, _ := strings.Cut(model, " of ")
	layers, _ = strconv.Atoi(number)
	return name, max(2, layers)
}

// tiny is a problem with everything that may occur: an operator that is not symmetric, nodes without a label, weights.
func tiny(rng *rand.Rand, model string) GNNProblem {
	const n, d, hidden, classes = 7, 5, 6, 3
	name, layers := shapeOf(model)
	p := GNNProblem{Shape: Shape{Model: name, Layers: layers, Hidden: hidden, Alpha: 0.15, Hops: 4}, Classes: classes,
		Propagated: Explicit{X: convert.Dense(convert.Normal(rng, n, d, 1))},
		Self:       Explicit{X: convert.Dense(convert.Normal(rng, n, d, 1))},
		Hop:        convert.Sparse(convert.Normal(rng, n, n, 0.4), n, n),
	}
	for i := range n {
		p.Labels = append(p.Labels, int32(i%(classes+1))-1)
		p.Weights = append(p.Weights, float32(1+rng.IntN(3)))
	}
	return p
}

// build makes a network whose biases are not 0.
func build(p *GNNProblem, seed uint64) *network {
	rng := rand.New(rand.NewPCG(seed, 1))
	arch, err := architecture.Lookup(p.Model)
	if err != nil {
		panic(err)
	}
	n := newNetwork(p, arch, rng)
	for _, w := range n.params() {
		for k := range w.value.Data {
			w.value.Data[k] += float32(0.3 * rng.NormFloat64())
		}
	}
	return n
}

// dropped is X with a mask, entry by entry.
func dropped(x *graph.Dense, rate float64, seed uint64) reference.Matrix {
	m := newMask(rate, seed)
	return reference.At(x.Rows, x.Cols, func(i, k int) float64 {
		return float64(x.Row(i)[k]) * float64(m.scale) * float64(m.keeps(i*x.Cols+k))
	})
}

// logits are those of a model as section 3 has it, in float64, from its parameters in the network's order.
func (o oracle) logits(w []reference.Matrix) reference.Matrix {
	pre := o.inputs[0].Mul(w[0])
	rest := w[1:]
	if len(o.inputs) == 2 {
		pre, rest = pre.Plus(1, o.inputs[1].Mul(w[1])), w[2:]
	}
	pre = pre.AddRow(rest[0][0])
	rest = rest[1:]
	for layer := 2; ; layer++ {
		hidden := reference.At(len(pre), pre.Cols(), func(i, k int) float64 {
			return max(pre[i][k], 0) * o.keeps[layer-2][i][k]
		})
		if o.problem.Model == modelAPPNP {
			return o.restarted(hidden, rest)
		}
		pre = o.hop.Mul(hidden.Mul(rest[0]))
		if rest = rest[1:]; o.problem.Model == modelSAGE || o.problem.Model == modelCheby {
			pre, rest = pre.Plus(1, hidden.Mul(rest[0])), rest[1:]
		}
		if pre, rest = pre.AddRow(rest[0][0]), rest[1:]; layer == len(o.keeps)+1 {
			return pre
		}
	}
}

// restarted is the last layer of APPNP.
func (o oracle) restarted(hidden reference.Matrix, w []reference.Matrix) reference.Matrix {
	start := hidden.Mul(w[0]).AddRow(w[1][0])
	z, alpha := start, float64(o.problem.Alpha)
	for range o.problem.Hops {
		z = o.hop.Mul(z).Times(1-alpha).Plus(alpha, start)
	}
	return z
}

// oracle is a problem in float64 with the dropout of one epoch.
type oracle struct {
	problem *GNNProblem
	inputs  []reference.Matrix
	hop     reference.Matrix
	keeps   []reference.Matrix // factors of each hidden layer
}

func newOracle(p *GNNProblem, o GNNOptions, epoch uint64) oracle {
	out := oracle{problem: p, hop: convert.FromCSR(p.Hop)}
	for _, f := range map[string][]Design{modelGCN: {p.Propagated}, modelAPPNP: {p.Self},
		modelSAGE: {p.Propagated, p.Self}, modelCheby: {p.Propagated, p.Self}}[p.Model] {
		out.inputs = append(out.inputs, dropped(f.(Explicit).X, o.InputDropout, stream(o.Seed, epoch, streamInputs)))
	}
	for layer := range uint64(p.Layers - 1) {
		m := newMask(o.Dropout, stream(o.Seed, epoch, streamHidden+layer))
		out.keeps = append(out.keeps, reference.At(p.Hop.Rows, p.Hidden, func(i, k int) float64 {
			return float64(m.scale) * float64(m.keeps(i*p.Hidden+k))
		}))
	}
	return out
}

func (o oracle) loss(w []reference.Matrix) float64 {
	sum, total := 0.0, 0.0
	for i, row := range o.logits(w) {
		if y := o.problem.Labels[i]; y >= 0 {
			sum += float64(o.problem.Weights[i]) * reference.CrossEntropy(row, int(y))
			total += float64(o.problem.Weights[i])
		}
	}
	return sum / total
}

// Section 3: logits, loss and every gradient of every model against central differences in float64, under dropout.
func TestSection3GradientsAgainstFiniteDifferences(t *testing.T) {
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint64().Draw(t, "seed")
				o := GNNOptions{Seed: seed, Dropout: rapid.SampledFrom([]float64{0, 0.3, 0.5}).Draw(t, "dropout"),
					InputDropout: rapid.SampledFrom([]float64{0, 0.3, 0.5}).Draw(t, "input dropout")}
				p := tiny(rand.New(rand.NewPCG(seed, 0)), model)
				n, want := build(&p, seed), newOracle(&p, o, 3)
				var w []reference.Matrix
				for _, v := range n.params() {
					w = append(w, convert.Matrix(v.value))
				}
				logits := n.forward(context.Background(), o, 3)
				if gap := convert.Gap(convert.Matrix(logits), want.logits(w)); gap > 1e-4 {
					t.Fatalf("logits are off by %g", gap)
				}
				if got := newTargets(&p).loss(logits); math.Abs(got-want.loss(w)) > 1e-4*max(1, got) {
					t.Fatalf("loss %v, want %v", got, want.loss(w))
				}
				n.backward(context.Background(), logits)
				for k, v := range n.params() {
					if gap := convert.Gap(convert.Matrix(v.grad), want.numerical(w, k)); gap > 1e-3 {
						t.Fatalf("gradient of parameter %d is off by %g", k, gap)
					}
				}
			})
		})
	}
}

// numerical is ∂loss/∂w[at] by central differences. The step is small, so that hardly any relu turns over in it.
func (o oracle) numerical(w []reference.Matrix, at int) reference.Matrix {
	const h = 1e-7
	return reference.At(len(w[at]), w[at].Cols(), func(i, k int) float64 {
		v := w[at][i][k]
		w[at][i][k] = v + h
		up := o.loss(w)
		w[at][i][k] = v - h
		down := o.loss(w)
		w[at][i][k] = v
		return (up - down) / (2 * h)
	})
}

// easy is a graph of communities whose nodes' features lean to their class.
func easy(model string) (p GNNProblem, right func(infer.Model) (float64, error)) {
	const n, d, classes = 60, 8, 3
	rng := rand.New(rand.NewPCG(2, 0))
	adj := reference.New(n, n)
	for i := range n {
		for j := range i {
			if rng.Float64() < map[bool]float64{true: 0.3, false: 0.02}[i%classes == j%classes] {
				adj[i][j], adj[j][i] = 1, 1
			}
		}
	}
	x := convert.Normal(rng, n, d, 1)
	labels := make([]int32, n)
	for i := range x {
		labels[i] = int32(i % classes)
		x[i][i%classes] += 1
	}
	training := slices.Clone(labels)
	for i := n / 2; i < n; i++ {
		training[i] = -1
	}
	name, layers := shapeOf(model)
	op := hopOf(Shape{Model: name}, convert.Pattern(adj))
	p = GNNProblem{Shape: Shape{Model: name, Layers: layers, Hidden: 16, Alpha: 0.1, Hops: 5}, Classes: classes,
		Labels: training, Hop: op,
		Propagated: Explicit{X: convert.Dense(convert.FromCSR(op).Mul(x))}, Self: Explicit{X: convert.Dense(x)}}
	return p, func(m infer.Model) (float64, error) {
		batch := &attach.Batch{X: graph.Features{Dense: graph.NewDense(1, d)}, R: convert.Sparse(nil, 1, n),
			Known: []int32{0}}
		deployed := m.Joint(convert.Pattern(adj), preprocess.Ready(convert.Dense(x)),
			&preprocess.Parameters{Kind: preprocess.None, Scale: 1})
		logits := deployed.(infer.NodeLogits).GraphLogits(batch)
		hits := 0
		for i := n / 2; i < n; i++ {
			if int32(graph.ArgMax(logits.Row(i))) == labels[i] {
				hits++
			}
		}
		return 100 * float64(hits) / (n / 2), nil
	}
}

// The weights that come out are those of infer's model: deployed by it, they classify nodes that had no label.
func TestFitLearns(t *testing.T) {
	for _, model := range models {
		p, right := easy(model)
		o := DefaultGNNOptions(1e-3, 1)
		m, trace, err := GNN(t.Context(), p, o, right)
		expect.OK(t, err)
		if name, layers := shapeOf(model); m.Name() != name || m.Depth() != layers {
			t.Errorf("%s came out as %s of %d layers", model, m.Name(), len(m.Layers))
		}
		accuracy, _ := right(m)
		if accuracy < 85 || accuracy != trace.Best.Accuracy {
			t.Errorf("%s: accuracy %.1f, in its trace %.1f, want at least 85", model, accuracy, trace.Best.Accuracy)
		}
	}
}

// The same problem and options give the same bits, however many processors share the work.
func TestFitIsReproducible(t *testing.T) {
	for _, model := range models {
		var first []infer.Param
		for _, processors := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(processors)
			p, right := easy(model)
			o := DefaultGNNOptions(1e-3, 9)
			o.Epochs = 15
			m, _, err := GNN(t.Context(), p, o, right)
			runtime.GOMAXPROCS(before)
			expect.OK(t, err)
			if first == nil {
				first = m.Params()
			}
			if diff := cmp.Diff(first, m.Params()); diff != "" {
				t.Fatalf("%s on %d processors: %s", model, processors, diff)
			}
			o.Seed++
			other, _, err := GNN(t.Context(), p, o, right)
			expect.OK(t, err)
			if cmp.Equal(first, other.Params()) {
				t.Fatalf("%s: another seed gives the same weights", model)
			}
		}
	}
}

// Weight decay is on the weights and not on the biases: under a crushing one the weights vanish and the biases give the
// classes their shares.
func TestSection3GNNBiasIsFree(t *testing.T) {
	for _, model := range models {
		p, _ := easy(model)
		for i := range p.Labels {
			p.Labels[i] = []int32{0, 0, 0, 1}[i%4] // no class 2
		}
		o := DefaultGNNOptions(10, 1)
		o.Epochs, o.LearningRate = 1500, 0.02
		m, _, err := GNN(t.Context(), p, o, func() func(infer.Model) (float64, error) {
			calls := 0.0
			return func(infer.Model) (float64, error) { calls++; return calls, nil } // the last is the best
		}())
		expect.OK(t, err)
		for _, w := range m.Params() {
			if strings.Contains(w.Name, "weight") && slices.Max(w.Value.Data) > 0.05 {
				t.Errorf("%s: %s is up to %g", model, w.Name, slices.Max(w.Value.Data))
			}
			if !strings.Contains(w.Name, "bias") || w.Value.Cols != p.Classes {
				continue
			}
			if odds := math.Exp(float64(w.Value.Data[0] - w.Value.Data[1])); math.Abs(odds-3) > 0.3 {
				t.Errorf("%s: odds of the classes are %.2f, want 3", model, odds)
			}
		}
	}
}

// The first highest accuracy is kept, and patience counts from it.
func TestFitKeepsTheBest(t *testing.T) {
	p, _ := easy(modelGCN)
	answers := []float64{10, 30, 30, 20, 25, 99}
	var seen [][]float32
	o := DefaultGNNOptions(1e-3, 1)
	o.Every, o.Patience = 2, 3
	m, trace, err := GNN(t.Context(), p, o, func(m infer.Model) (float64, error) {
		seen = append(seen, slices.Clone(m.Layers[0].Neighbours.Data))
		return answers[len(seen)-1], nil
	})
	expect.OK(t, err)
	if len(seen) != 5 || trace.Best.Epoch != 4 || len(trace.Checkpoints) != 5 || trace.Checkpoints[4].Epoch != 10 {
		t.Errorf("%d validations, best at epoch %d: %+v", len(seen), trace.Best.Epoch, trace.Checkpoints)
	}
	if diff := cmp.Diff(seen[1], m.Layers[0].Neighbours.Data); diff != "" {
		t.Errorf("not the weights of the best: %s", diff)
	}
}

// The last epoch is validated even where it is not a multiple.
func TestFitValidatesTheLastEpoch(t *testing.T) {
	p, right := easy(modelGCN)
	o := DefaultGNNOptions(1e-3, 1)
	o.Epochs, o.Every = 7, 5
	_, trace, err := GNN(t.Context(), p, o, right)
	expect.OK(t, err)
	if len(trace.Checkpoints) != 2 || trace.Checkpoints[1].Epoch != 7 {
		t.Errorf("validated at %+v, want epochs 5 and 7", trace.Checkpoints)
	}
}

func TestFitErrors(t *testing.T) {
	p, right := easy(modelSAGE)
	for want, change := range map[string]func(o *GNNOptions, p *GNNProblem){
		`"gat"`:                    func(_ *GNNOptions, p *GNNProblem) { p.Model = "gat" },
		"sgc: no network of 2":     func(_ *GNNOptions, p *GNNProblem) { p.Model = "sgc" },
		"no network of 9 layers":   func(_ *GNNOptions, p *GNNProblem) { p.Layers = 9 },
		"weight decay is -1":       func(o *GNNOptions, _ *GNNProblem) { o.WeightDecay = -1 },
		"learning rate is 0":       func(o *GNNOptions, _ *GNNProblem) { o.LearningRate = 0 },
		"dropout is 1":             func(o *GNNOptions, _ *GNNProblem) { o.Dropout = 1 },
		"input dropout is NaN":     func(o *GNNOptions, _ *GNNProblem) { o.InputDropout = math.NaN() },
		"epochs is 0":              func(o *GNNOptions, _ *GNNProblem) { o.Epochs = 0 },
		"every is 0":               func(o *GNNOptions, _ *GNNProblem) { o.Every = 0 },
		"patience is 0":            func(o *GNNOptions, _ *GNNProblem) { o.Patience = 0 },
		"epoch 2: the loss became": func(o *GNNOptions, _ *GNNProblem) { o.LearningRate = 1e30 },
		"no node has a label":      func(_ *GNNOptions, p *GNNProblem) { p.Labels = slices.Repeat([]int32{-1}, 60) },
	} {
		o, changed := DefaultGNNOptions(1e-3, 1), p
		change(&o, &changed)
		if _, _, err := GNN(t.Context(), changed, o, right); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestFitPassesErrorsOn(t *testing.T) {
	p, right := easy(modelSAGE)
	o := DefaultGNNOptions(1e-3, 1)
	broken := errors.New("broken")
	if _, _, err := GNN(t.Context(), p, o, func(infer.Model) (float64, error) { return 0, broken }); !errors.Is(err,
		broken) {
		t.Errorf("error %v, want that of the validation", err)
	}
	if _, _, err := GNN(t.Context(), p, o, func(infer.Model) (float64, error) { return math.NaN(), nil }); err == nil {
		t.Error("an accuracy that is not a number passes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, _, err := GNN(ctx, p, o, func(m infer.Model) (float64, error) { calls++; cancel(); return right(m) })
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("error %v after %d validations, want that of the context after 1", err, calls)
	}
}

// Weights that a fit begins with are those of the model, whatever was drawn; what it returns begins where they end.
func TestStartIsWhereAFitBegins(t *testing.T) {
	for _, model := range models {
		p := tiny(rand.New(rand.NewPCG(3, 0)), model)
		from := build(&p, 7)
		var first infer.Model
		o := GNNOptions{LearningRate: 1e-12, Epochs: 1, Every: 1, Patience: 1, Seed: 9, Start: from.model(true)}
		m, _, err := GNN(t.Context(), p, o, func(m infer.Model) (float64, error) { first = m; return 1, nil })
		expect.OK(t, err)
		for k, w := range m.Params() {
			if gap := convert.Gap(convert.Matrix(w.Value), convert.Matrix(from.model(true).Params()[k].Value)); gap > 1e-6 {
				t.Errorf("%s: %s is off by %g", model, w.Name, gap)
			}
		}
		if first.Name() != m.Name() {
			t.Errorf("%s: validated %s", model, first.Name())
		}
	}
}

// A report of each epoch, with the accuracy of the last validation.
func TestEveryEpochIsReported(t *testing.T) {
	p := tiny(rand.New(rand.NewPCG(4, 0)), modelGCN)
	var seen []Checkpoint
	validated := 0.0
	o := DefaultGNNOptions(1e-3, 1)
	o.Epochs, o.Every, o.Report = 5, 2, func(c Checkpoint) { seen = append(seen, c) }
	_, trace, err := GNN(t.Context(), p, o, func(infer.Model) (float64, error) { validated++; return validated, nil })
	expect.OK(t, err)
	if len(seen) != 5 || !math.IsNaN(seen[0].Accuracy) || seen[2].Accuracy != 1 || seen[4].Accuracy != 3 {
		t.Errorf("reported %+v", seen)
	}
	for _, c := range trace.Checkpoints {
		if seen[c.Epoch-1] != c {
			t.Errorf("epoch %d was reported as %+v, and is %+v", c.Epoch, seen[c.Epoch-1], c)
		}
	}
}

// P·pre(X) computed once gives the products of that which is computed in every epoch.
func TestKeptSumsAreTheirProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, x, pre, _, _ := original(t)
		labels := make([]int32, len(adj))
		p := OnOriginalKept(shape(modelGCN, 4), convert.Pattern(adj), x, labels, 2)
		checkProducts(t, "kept", p.Propagated, operator(modelGCN, adj).Mul(pre))
		if gap := convert.Gap(convert.FromCSR(p.Hop), operator(modelGCN, adj)); gap > 1e-6 {
			t.Fatalf("P is off by %g", gap)
		}
	})
	for _, model := range []string{modelSAGE, modelCheby, modelAPPNP} {
		if ReadsHopsOnly(shape(model, 4)) {
			t.Errorf("%s reads the node itself", model)
		}
	}
}
