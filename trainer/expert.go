package trainer

import (
	"context"
	"fmt"
	"math"
	"time"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Values of [Options.Own].
const (
	OwnAuto   = "auto"   // where validation gains by more than a margin
	OwnAlways = "always" // with the exponents that validation likes best, 0 among them
	OwnNever  = "never"
)

// ownExponents are the candidates for the exponents of an expert, smallest first.
var ownExponents = []float32{0, .25, .5, 1, 2, 4, 8, 16}

// expertDecay is the weight decay of an expert with a hidden layer.
const expertDecay = 3e-3

// ownGain is the accuracy in points that an expert must gain on the support nodes of a kind to be used for it. It must
// also gain more nodes than the standard error of their number, √(gained + lost).
const ownGain = 0.5

// chooseExperts fits perceptrons of own features and chooses, for each model on S, the exponents with which one of them
// answers beside it (docs/algorithm.md, section 11). All models share the perceptron that is best beside the first.
func (t *task) chooseExperts(ctx context.Context, r *recipe, progress Progress) error {
	if t.options.Own == OwnNever || t.method.Comparison || len(r.placed) == 0 {
		return nil
	}
	start := time.Now()
	nodes := t.gatherSupport(r.placed)
	best, err := t.fitOwn(ctx, 0, nil, progress)
	if err != nil {
		return err
	}
	hidden, err := t.fitOwn(ctx, ownHidden, []float64{expertDecay}, progress)
	if err != nil {
		return err
	}
	nodes.own = nodes.logits(best.Perceptron)
	right := nodes.choose(0, t.options.Own).right
	nodes.own = nodes.logits(hidden.Perceptron)
	if more := nodes.choose(0, t.options.Own).right - right; points(more, 2*len(nodes.labels)) > ownGain {
		best = hidden // which takes several times as long to answer
	}
	nodes.own = nodes.logits(best.Perceptron)
	for k, p := range r.placed {
		c := nodes.choose(k, t.options.Own)
		const what = "choosing the exponents of own features"
		progress.Step(fmt.Sprintf("%s: %s %+.2f, without neighbours %+.2f points", what, p.model.Name(), c.info.Gain,
			c.info.GainAlone), k+1, len(r.placed))
		if c.info.Exponents != (infer.Exponents{}) {
			p.expert = &infer.Expert{Perceptron: best.Perceptron, Exponents: c.info.Exponents}
			p.own = c.info
		}
	}
	r.seconds += time.Since(start).Seconds()
	return ctx.Err()
}

// supportNodes are the support nodes twice: as they are, attached to S, and without edges.
type supportNodes struct {
	labels   []int32
	degrees  []float32
	features []graph.Features
	models   []supportLogits
	own      *graph.Dense // logits of own features
}

// supportLogits are a model's logits on S.
type supportLogits struct{ attached, alone *graph.Dense }

// gatherSupport answers the support nodes by models on S.
func (t *task) gatherSupport(placed []*deployedModel) *supportNodes {
	s := &supportNodes{}
	for k, p := range placed {
		on := p.on(t.support)
		without := &eval.Set{Labels: on.Labels}
		for i, b := range on.Batches {
			if k == 0 {
				s.features = append(s.features, b.X)
				s.labels = append(s.labels, on.Labels[i]...)
				for j := range b.Len() {
					s.degrees = append(s.degrees, b.Degree(j))
				}
			}
			without.Batches = append(without.Batches, withoutEdges(b.X, p.through.Cols))
		}
		d := plain(p.quickest())
		s.models = append(s.models, supportLogits{stack(eval.Run(d, on).Logits...), stack(eval.Run(d, without).Logits...)})
	}
	return s
}

// stack returns all rows, one part after the other.
func stack(parts ...*graph.Dense) *graph.Dense {
	out := &graph.Dense{}
	for _, p := range parts {
		out.Rows, out.Cols, out.Data = out.Rows+p.Rows, p.Cols, append(out.Data, p.Data...)
	}
	return out
}

// logits returns a perceptron's logits.
func (s *supportNodes) logits(p *infer.Perceptron) *graph.Dense {
	var parts []*graph.Dense
	for _, x := range s.features {
		parts = append(parts, p.Logits(x))
	}
	return stack(parts...)
}

// expertChoice is the choice of exponents beside a model.
type expertChoice struct {
	info  artifact.OwnInfo
	right int // support nodes that are right, as they are and without edges
}

// choose returns the exponents beside a model. Those of arrivals without neighbours are chosen on all support nodes
// with their edges removed, the others on the support nodes that have so many neighbours. Where these are too few to
// tell, the exponent of all nodes with neighbours is taken.
func (s *supportNodes) choose(model int, mode string) (c expertChoice) {
	m := &s.models[model]
	var all, few, many, attached []int
	for i, degree := range s.degrees {
		all = append(all, i)
		if degree > 0 {
			attached = append(attached, i)
		}
		if degree > infer.FewNeighbours {
			many = append(many, i)
		} else if degree > 0 {
			few = append(few, i)
		}
	}
	together := s.judge(m.attached, attached) // nodes with neighbours, few or many
	take := func(logits *graph.Dense, nodes []int) (exponent float32, gain int) {
		k, at := s.judge(logits, nodes), 0 // the exponent 0, unless another one gains
		switch {
		case mode == OwnAlways || k.clear():
			at, gain = k.best, k.better-k.worse
		case logits == m.attached && together.clear() && k.right[together.best] >= k.right[0]:
			at = together.best // the nodes are too few to tell, and lose nothing by it
			gain = k.right[at] - k.right[0]
		}
		c.right += k.right[at]
		return ownExponents[at], gain
	}
	e := &c.info.Exponents
	var alone, some, more int
	e.None, alone = take(m.alone, all)
	e.Few, some = take(m.attached, few)
	e.Many, more = take(m.attached, many)
	c.info.Gain, c.info.GainAlone = points(some+more, len(all)), points(alone, len(all))
	return c
}

// points is a share in percent.
func points(part, all int) float64 { return 100 * float64(part) / float64(max(1, all)) }

// exponentTrial is how the candidates for an exponent do on some nodes.
type exponentTrial struct {
	nodes int
	right []int // nodes that are right by each exponent
	best  int   // the exponent of the most of them, the smallest among equals
	// better and worse count the nodes that are right with the exponent only, and without it only. The exponent of one
	// half of the nodes is chosen on the other half, so that the choice does not flatter itself.
	better, worse int
}

// clear reports whether an exponent gains enough.
func (k *exponentTrial) clear() bool {
	gain := k.better - k.worse
	return points(gain, k.nodes) > ownGain && float64(gain) > math.Sqrt(float64(k.better+k.worse))
}

// judge tries all exponents on some nodes.
func (s *supportNodes) judge(logits *graph.Dense, nodes []int) *exponentTrial {
	k := &exponentTrial{nodes: len(nodes), right: make([]int, len(ownExponents))}
	right := make([][]bool, len(ownExponents)) // of each exponent, of each node
	var halves [2][]int                        // right ones of each half
	halves[0], halves[1] = make([]int, len(ownExponents)), make([]int, len(ownExponents))
	row := make([]float32, logits.Cols)
	for e, a := range ownExponents {
		right[e] = make([]bool, len(nodes))
		for at, i := range nodes {
			copy(row, logits.Row(i))
			graph.Axpy(row, a, s.own.Row(i))
			if right[e][at] = infer.ArgMax(row) == int(s.labels[i]); right[e][at] {
				k.right[e]++
				halves[at%2][e]++
			}
		}
	}
	k.best = most(k.right)
	chosen := [2]int{most(halves[1]), most(halves[0])}
	for at := range nodes {
		switch with, without := right[chosen[at%2]][at], right[0][at]; {
		case with && !without:
			k.better++
		case without && !with:
			k.worse++
		}
	}
	return k
}

// most returns the place of the largest number, the first among equals.
func most(counts []int) int {
	best := 0
	for k, n := range counts {
		if n > counts[best] {
			best = k
		}
	}
	return best
}
