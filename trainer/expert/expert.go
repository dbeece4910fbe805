// Package expert fits perceptrons of an arrival's own features (perceptron.go), and chooses the exponents with which
// one of them answers beside a model on S (docs/algorithm.md, section 11), on support nodes that both have answered.
// evidence.go has a rival: own features times the classes of an arrival's neighbours.
package expert

import (
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/perceptron"
)

// Support are the support nodes twice: as they are, attached to S, and without edges.
type Support struct {
	Labels     []int32
	Neighbours []int
	Features   []graph.Features
	Models     []Logits
	Own        *graph.Dense // logits of own features
}

// Logits are a model's logits on S.
type Logits struct{ Attached, Alone *graph.Dense }

// exponents are the candidates for the exponents of an expert, smallest first.
var exponents = []float32{0, .25, .5, 1, 2, 4, 8, 16}

// MinGain is the accuracy in points that an expert must gain on the support nodes of a kind to be used for it. It must
// also gain more nodes than the standard error of their number, √(gained + lost).
const MinGain = 0.5

// Logits returns a perceptron's logits.
func (s *Support) Logits(p *perceptron.Perceptron) *graph.Dense {
	var parts []*graph.Dense
	for _, x := range s.Features {
		parts = append(parts, p.Logits(x))
	}
	return graph.Stack(parts...)
}

// Choice is the choice of exponents beside a model.
type Choice struct {
	artifact.OwnInfo
	Right int // support nodes that are right, as they are and without edges
}

// Choose returns the exponents beside a model. Those of arrivals without neighbours are chosen on all support nodes
// with their edges removed, the others on the support nodes that have so many neighbours. Where these are too few to
// tell, the exponent of all nodes with neighbours is taken.
func (s *Support) Choose(model int, always bool) (c Choice) {
	m := &s.Models[model]
	var all, few, many, attached []int
	for i, n := range s.Neighbours {
		all = append(all, i)
		if n > 0 {
			attached = append(attached, i)
		}
		if n > perceptron.FewNeighbours {
			many = append(many, i)
		} else if n > 0 {
			few = append(few, i)
		}
	}
	together := s.judge(m.Attached, attached) // nodes with neighbours, few or many
	take := func(logits *graph.Dense, nodes []int) (exponent float32, gain int) {
		k, at := s.judge(logits, nodes), 0 // the exponent 0, unless another one gains
		switch {
		case always || k.clear():
			at, gain = k.best, k.better-k.worse
		case logits == m.Attached && together.clear() && k.right[together.best] >= k.right[0]:
			at = together.best // the nodes are too few to tell, and lose nothing by it
			gain = k.right[at] - k.right[0]
		}
		c.Right += k.right[at]
		return exponents[at], gain
	}
	e := &c.Exponents
	var alone, some, more int
	e.None, alone = take(m.Alone, all)
	e.Few, some = take(m.Attached, few)
	e.Many, more = take(m.Attached, many)
	c.Gain, c.GainAlone = Points(some+more, len(all)), Points(alone, len(all))
	return c
}

// Points is a share in percent.
func Points(part, all int) float64 { return 100 * float64(part) / float64(max(1, all)) }

// trial is the result of the candidates for an exponent on some nodes.
type trial struct {
	nodes int
	right []int // nodes that are right by each exponent
	best  int   // the exponent of the most of them, the smallest among equals
	// better and worse count the nodes that are right with the exponent only, and without it only. The exponent of one
	// half of the nodes is chosen on the other half, so that the choice does not flatter itself.
	better, worse int
}

// clear reports whether an exponent gains enough.
func (k *trial) clear() bool {
	gain := k.better - k.worse
	return Points(gain, k.nodes) > MinGain && float64(gain) > math.Sqrt(float64(k.better+k.worse))
}

// judge tries all exponents on some nodes.
func (s *Support) judge(logits *graph.Dense, nodes []int) *trial {
	k := &trial{nodes: len(nodes), right: make([]int, len(exponents))}
	right := make([][]bool, len(exponents)) // of each exponent, of each node
	var halves [2][]int                     // right ones of each half
	halves[0], halves[1] = make([]int, len(exponents)), make([]int, len(exponents))
	row := make([]float32, logits.Cols)
	for e, a := range exponents {
		right[e] = make([]bool, len(nodes))
		for at, i := range nodes {
			copy(row, logits.Row(i))
			graph.Axpy(row, a, s.Own.Row(i))
			if right[e][at] = graph.ArgMax(row) == int(s.Labels[i]); right[e][at] {
				k.right[e]++
				halves[at%2][e]++
			}
		}
	}
	most := func(counts []int) int { return slices.Index(counts, slices.Max(counts)) } // the first among equals
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
