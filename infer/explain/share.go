package explain

import (
	"cmp"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// frozen is a frozen deployment whose logits are taken apart (docs/algorithm.md, section 10).
type frozen interface {
	parts() *infer.Parts
	// reach is how many edges of ã away an arrival may be that has a part in a logit.
	reach() int
	// linearise sets, for the logit of each class, the coefficients of the arrival's terms.
	linearise(p *place, classes []int, out []linear)
}

// frozenOf returns the model of these parts; nil of none.
func frozenOf(p *infer.Parts) frozen {
	switch {
	case p == nil:
		return nil
	case p.Network.Architecture.Relational():
		return relational{p}
	case p.Network.Architecture.Convolves():
		return newConvolution(p)
	case p.Network.Architecture.Mix != nil:
		return newMixture(p)
	}
	return newRestart(p)
}

// linear are the coefficients of one logit, with relus, degrees, norm and returning messages held fixed: logit = bias +
// own·(x W less its centring) + Σ_j read·(row of the tables of neighbour j) + Σ among.
type linear struct {
	bias      float64
	own, read weights
	among     []float64 // per neighbour in ã
}

func (l *linear) reset() { *l = linear{own: l.own[:0], read: l.read[:0], among: l.among[:0]} }

// weights are the columns of a row that are read, and their factors.
type weights []struct {
	col int
	by  float64
}

func (w *weights) add(col int, by float64) {
	*w = append(*w, struct {
		col int
		by  float64
	}{col, by})
}

func (w weights) dot(row []float32) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v.by * float64(row[v.col])
	}
	return sum
}

// decomposition is one arrival that is taken apart. Its memory is used again by the next one.
type decomposition struct {
	place   place
	classes [2]int
	lines   [2]linear
	count   int // lines: 1 if there is no runner-up

	project *preprocess.Projection
	tables  *graph.Dense
	nodes   int // of S
	expert  expertLines
	cols    []int32   // features that are not 0
	vals    []float64 // the same over the row's norm
}

func (s *decomposition) begin(x *Explainer, b *attach.Batch, rows [][]attach.Row, i, class, other int) {
	model := x.model
	s.project, s.tables, s.nodes = model.parts().Project, model.parts().Tables, x.nodes
	s.classes, s.count = [2]int{class, other}, 2
	if other < 0 {
		s.count = 1
	}
	s.place.begin(b, rows, i, model.reach(), s.project)
	for k := range s.count {
		s.lines[k].reset()
	}
	model.linearise(&s.place, s.classes[:s.count], s.lines[:s.count])
	s.cols, s.vals = s.place.members[0].cols, s.place.members[0].vals
	s.expert.begin(x.predictor.Expert, &s.place, s.classes[:s.count])
}

// figure makes a figure from a number of each line.
func (s *decomposition) figure(of func(l *linear) float64) Figure {
	class := of(&s.lines[0])
	if s.count == 1 {
		return Figure{class, class}
	}
	return Figure{class, class - of(&s.lines[1])}
}

func (s *decomposition) bias() Figure {
	f := s.figure(func(l *linear) float64 { return l.bias })
	f.add(s.expert.figure(func(l *linear) float64 { return l.bias }))
	return f
}

func (s *decomposition) centring() Figure {
	f := s.figure(func(l *linear) float64 { return -l.own.dot(s.project.Offset) })
	f.add(s.expert.figure(func(l *linear) float64 { return -l.own.dot(s.expert.project.Offset) }))
	return f
}

// feature is the share of the arrival's non-zero feature number at.
func (s *decomposition) feature(at int) Figure {
	f := featureOf(s.lines[:s.count], s.project, s.cols[at], s.vals[at])
	f.add(featureOf(s.expert.lines, s.expert.project, s.cols[at], s.vals[at]))
	return f
}

// featureOf is the share of one feature with value x in the lines' projections; nothing if there are no lines.
func featureOf(lines []linear, project *preprocess.Projection, col int32, x float64) Figure {
	if len(lines) == 0 {
		return Figure{}
	}
	row := project.Weight.Row(int(col))
	class := x * lines[0].own.dot(row)
	if len(lines) == 1 {
		return Figure{class, class}
	}
	return Figure{class, class - x*lines[1].own.dot(row)}
}

// node is the share of one synthetic node with a weight.
func (s *decomposition) node(node int32, weight float32) Figure {
	row, m := s.tables.Row(int(node)), float64(weight)
	class := m * s.lines[0].read.dot(row)
	if s.count == 1 {
		return Figure{class, class}
	}
	return Figure{class, class - m*s.lines[1].read.dot(row)}
}

// neighbour is the share of a neighbour with a row of M.
func (s *decomposition) neighbour(row *attach.Row) (sum Figure) {
	if !row.Known {
		return sum
	}
	for p, node := range row.Cols {
		sum.add(s.node(node, row.Vals[p]))
	}
	return sum
}

// through is neighbour by synthetic nodes, largest share of the margin first.
func (s *decomposition) through(row *attach.Row) []Through {
	if !row.Known {
		return nil
	}
	var out []Through
	for p, node := range row.Cols {
		out = append(out, Through{int(node) % s.nodes, s.node(node, row.Vals[p])}) // of any bin
	}
	slices.SortFunc(out, func(a, b Through) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Share.Margin), math.Abs(a.Share.Margin)), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// arrival is the share of the arrival at a place in the row of ã.
func (s *decomposition) arrival(at int) Figure {
	return s.figure(func(l *linear) float64 { return l.among[at] })
}

// place is an arrival with the arrivals of its batch that it can read. In a node batch it is alone.
type place struct {
	b       *attach.Batch
	rows    [][]attach.Row
	project *preprocess.Projection
	members []member // the arrival first, then others from near to far
	index   map[int32]int
	memory  []float64 // the block that floats cuts from
	used    int
}

// floats returns n zeros, which are the place's until the next arrival begins.
func (p *place) floats(n int) []float64 {
	if p.used+n > len(p.memory) {
		p.memory, p.used = make([]float64, 2*len(p.memory)+n), 0
	}
	out := p.memory[p.used : p.used+n : p.used+n]
	p.used += n
	clear(out)
	return out
}

// member is an arrival in a place.
type member struct {
	i, far int
	cols   []int32   // features that are not 0
	vals   []float64 // over the row's norm
}

func (p *place) begin(b *attach.Batch, rows [][]attach.Row, i, reach int, project *preprocess.Projection) {
	p.b, p.rows, p.project, p.members, p.used = b, rows, project, p.members[:0], 0
	clear(p.index)
	p.join(i, 0)
	if b.Adj == nil {
		return
	}
	if p.index == nil {
		p.index = make(map[int32]int)
	}
	p.index[int32(i)] = 0
	for m := 0; m < len(p.members) && p.members[m].far < reach; m++ {
		for _, j := range p.among(m) {
			if _, in := p.index[j]; !in {
				p.index[j] = len(p.members)
				p.join(int(j), p.members[m].far+1)
			}
		}
	}
}

// join adds arrival i, in the memory of an earlier member.
func (p *place) join(i, far int) {
	if len(p.members) < cap(p.members) {
		p.members = p.members[:len(p.members)+1]
	} else {
		p.members = append(p.members, member{})
	}
	m := &p.members[len(p.members)-1]
	m.i, m.far, m.cols, m.vals = i, far, m.cols[:0], m.vals[:0]
	norm := p.divisor(i)
	if p.b.X.Sparse == nil {
		for c, v := range p.b.X.Dense.Row(i) {
			if v != 0 {
				m.cols, m.vals = append(m.cols, int32(c)), append(m.vals, float64(v)/norm)
			}
		}
		return
	}
	cols, vals := p.b.X.Sparse.Row(i)
	for k, c := range cols {
		switch {
		case vals == nil:
			m.cols, m.vals = append(m.cols, c), append(m.vals, 1/norm)
		case vals[k] != 0:
			m.cols, m.vals = append(m.cols, c), append(m.vals, float64(vals[k])/norm)
		}
	}
}

// divisor is the number by which the features of arrival i are divided.
func (p *place) divisor(i int) float64 {
	if p.b.X.Sparse != nil {
		return p.project.Divisor(p.b.X.Sparse.Row(i))
	}
	return p.project.Divisor(nil, p.b.X.Dense.Row(i))
}

// among are a member's neighbours in ã.
func (p *place) among(m int) []int32 {
	if p.b.Adj == nil {
		return nil
	}
	cols, _ := p.b.Adj.Row(p.members[m].i)
	return cols
}

// weight is that of the edge at a place in a member's row of ã.
func (p *place) weight(m, at int) float64 {
	if _, weights := p.b.Adj.Row(p.members[m].i); weights != nil {
		return float64(weights[at])
	}
	return 1
}

// degree is a member's deg_i.
func (p *place) degree(m int) float64 { return float64(p.b.Degree(p.members[m].i)) }

// column is column c of a member's x·W, less its centring.
func (p *place) column(m, c int) float64 {
	of, sum := &p.members[m], 0.0
	for k, f := range of.cols {
		sum += of.vals[k] * float64(p.project.Weight.Row(int(f))[c])
	}
	return sum - float64(p.project.Offset[c])
}

// projected is a member's whole row of x·W, less its centring.
func (p *place) projected(m int) []float64 {
	of, out := &p.members[m], p.floats(p.project.Width())
	for k, f := range of.cols {
		for c, w := range p.project.Weight.Row(int(f))[:len(out)] {
			out[c] += of.vals[k] * float64(w)
		}
	}
	for c, offset := range p.project.Offset {
		out[c] -= float64(offset)
	}
	return out
}

// read is a·tables of a member, columns lo to hi.
func (p *place) read(m int, tables *graph.Dense, lo, hi int) []float64 {
	out := p.floats(hi - lo)
	for k := range p.rows[p.members[m].i] {
		row := &p.rows[p.members[m].i][k]
		if !row.Known {
			continue
		}
		for e, node := range row.Cols {
			for c, v := range tables.Row(int(node))[lo:hi] {
				out[c] += float64(row.Vals[e]) * float64(v)
			}
		}
	}
	return out
}

// notZero are the features of arrival i that are not 0.
func notZero(b *attach.Batch, i int) (cols []int32, vals []float32) {
	b.X.Each(i, func(c int, v float32) {
		if v != 0 {
			cols, vals = append(cols, int32(c)), append(vals, v)
		}
	})
	return cols, vals
}
