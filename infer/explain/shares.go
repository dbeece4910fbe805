package explain

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"rivulet/infer"
	"rivulet/infer/attach"
)

// linear are the coefficients of one logit of a linear model:
//
//	logit = bias + by·(x W less its centring)_class + Σ_j read·(row of the tables of neighbour j) + Σ among
//
// Degrees, the norm of the features and what comes back to the arrival through its neighbours are held as they are.
type linear struct {
	bias  float64
	class int     // the column of x W that is the logit's
	by    float64 // its factor
	read  []coefficient
	among []float64 // share of each neighbour in ã
}

func (l *linear) reset() { *l = linear{read: l.read[:0], among: l.among[:0]} }

// coefficient is the factor of a column of the tables.
type coefficient struct {
	col int
	by  float64
}

// shares takes one arrival apart. Its memory is used again by the next one.
type shares struct {
	parts *infer.Parts
	nodes int // of S
	place place
	lines [2]linear
	count int // of lines: 1 if there is no runner-up
}

var sharesPool = sync.Pool{New: func() any { return new(shares) }}

// begin takes arrival i of a batch apart, for the logits of a class and of another one; −1: there is no other.
func (s *shares) begin(x *Explainer, b *attach.Batch, rows [][]attach.Row, i, class, other int) {
	s.parts, s.nodes, s.count = x.linear, x.nodes, 2
	if other < 0 {
		s.count = 1
	}
	s.place.begin(x, b, rows, i)
	for k, class := range [2]int{class, other} {
		l := &s.lines[k]
		if l.reset(); class < 0 {
			break
		}
		l.class, l.bias = class, float64(s.parts.Bias[class])
		if s.parts.Mix != nil {
			s.place.mix(s.parts, l)
			continue
		}
		// A relational model of one layer: logit = x W + a·u + b, and no other arrival is read.
		l.by, l.read = 1, append(l.read, coefficient{class, 1})
		for range s.place.among(0) {
			l.among = append(l.among, 0)
		}
	}
}

// end lets go of the batch and the model, while the memory waits for another arrival.
func (s *shares) end() { s.parts = nil; s.place.end() }

// figure makes a figure from a number of each line.
func (s *shares) figure(of func(l *linear) float64) Figure {
	f := Figure{Class: of(&s.lines[0])}
	if f.Margin = f.Class; s.count > 1 {
		f.Margin -= of(&s.lines[1])
	}
	return f
}

func (s *shares) bias() Figure { return s.figure(func(l *linear) float64 { return l.bias }) }

func (s *shares) centring() Figure {
	return s.figure(func(l *linear) float64 { return -l.by * float64(s.parts.Project.Offset[l.class]) })
}

// features are the columns of the arrival's features that are not 0.
func (s *shares) features() []int32 { return s.place.members[0].cols }

// feature is the share of non-zero feature number at.
func (s *shares) feature(at int) Figure {
	of := &s.place.members[0]
	row, v := s.parts.Project.Weight.Row(int(of.cols[at])), of.vals[at]
	return s.figure(func(l *linear) float64 { return v * l.by * float64(row[l.class]) })
}

// node is the share of one synthetic node with a weight.
func (s *shares) node(node int32, weight float32) Figure {
	row := s.parts.Tables.Row(int(node))
	return s.figure(func(l *linear) float64 {
		sum := 0.0
		for _, c := range l.read {
			sum += c.by * float64(row[c.col])
		}
		return float64(weight) * sum
	})
}

// neighbour is the share of a neighbour with a row of M.
func (s *shares) neighbour(row *attach.Row) (sum Figure) {
	if row.Known {
		for p, node := range row.Cols {
			sum.add(s.node(node, row.Vals[p]))
		}
	}
	return sum
}

// through is neighbour by synthetic nodes, each once, largest share of the margin first.
func (s *shares) through(row *attach.Row) (out []Through) {
	if !row.Known {
		return nil
	}
	place := map[int]int{} // an edge of several slots reads a node in each
	for p, node := range row.Cols {
		of := int(node) % s.nodes
		at, there := place[of]
		if !there {
			at, place[of] = len(out), len(out)
			out = append(out, Through{Node: of})
		}
		out[at].Share.add(s.node(node, row.Vals[p]))
	}
	slices.SortFunc(out, func(a, b Through) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Share.Margin), math.Abs(a.Share.Margin)), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// arrival is the share of the arrival at a place in the row of ã.
func (s *shares) arrival(at int) Figure {
	return s.figure(func(l *linear) float64 { return l.among[at] })
}
