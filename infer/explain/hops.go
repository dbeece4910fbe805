package explain

import (
	"math"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// place is an arrival with the arrivals of its batch that it can read. In a node batch it is alone.
type place struct {
	b       *attach.Batch
	project *preprocess.Projection
	reader  attach.Attacher
	looked  [][]attach.Row // rows of the members, as they were looked up
	members []member       // the arrival first, then others from near to far
	index   map[int32]int
	memory  []float64 // the block that floats cuts from
	used    int
}

// member is an arrival in a place.
type member struct {
	i, far int
	rows   []attach.Row // of the neighbours, as tables are read
	cols   []int32      // features that are not 0
	vals   []float64    // over the row's norm
}

// mix sets the coefficients of a class of a model logits = Σ_t w_t h^t + b. A class reads no other one. With g_t the
// share of h^t in the logit, g_K = w_K and g_t = w_t + q² g_{t+1},
//
//	logit = Σ_t g_{t+1}[q a·u_t + q² Σ_m (a·c^m)∘h^{t−m} + q ã(q h^t)] + g_0 z + b
func (p *place) mix(of *infer.Parts, l *linear) {
	last, q := len(of.Mix)-1, p.q(0)
	g := p.floats(last + 1)
	for t := last; t >= 0; t-- {
		g[t] = float64(of.Mix[t])
		if t < last {
			g[t] += q * q * g[t+1]
		}
	}
	h := p.hops(of, l.class)
	l.by = g[0]
	for t := range last {
		l.read = append(l.read, coefficient{of.U[t] + l.class, q * g[t+1]})
	}
	for way := 1; way < last; way++ {
		back := 0.0
		for t := way; t < last; t++ {
			back += g[t+1] * h[0][t-way]
		}
		l.read = append(l.read, coefficient{of.C + way - 1, q * q * back})
	}
	for at, j := range p.among(0) {
		sum, member := 0.0, p.index[j]
		for t := range last {
			sum += g[t+1] * h[member][t]
		}
		l.among = append(l.among, p.weight(0, at)*q*p.q(member)*sum)
	}
}

// q is a member's D_i^-½.
func (p *place) q(m int) float64 { return 1 / math.Sqrt(1+float64(p.b.Degree(p.members[m].i))) }

// hops are h^0, h^1, … of a class for each member, as far as the first member reads them: h^0 … h^{K−2} of itself, h^0
// … h^{K−far} of a member that is far hops away.
func (p *place) hops(of *infer.Parts, class int) [][]float64 {
	last := len(of.Mix) - 1
	h := make([][]float64, len(p.members))
	for m := range h {
		h[m] = append(p.floats(last)[:0], p.column(m, class))
	}
	for t := range last - 1 { // to h^{t+1}
		for m := range p.members {
			if far := p.members[m].far; far > last-t-1 || far == 0 && t+1 > last-2 {
				continue
			}
			q, at := p.q(m), of.U[t]+class
			next := p.read(m, of.Tables, at, at+1)[0] + q*h[m][t]
			for at, j := range p.among(m) {
				next += p.weight(m, at) * p.q(p.index[j]) * h[p.index[j]][t]
			}
			if t > 0 {
				for way, c := range p.read(m, of.Tables, of.C, of.C+t) {
					next += q * c * h[m][t-way-1]
				}
			}
			h[m] = append(h[m], q*next)
		}
	}
	return h
}

// begin puts arrival i of a batch into the place, and the arrivals that are at most reach edges of ã away.
func (p *place) begin(x *Explainer, b *attach.Batch, rows [][]attach.Row, i int) {
	p.b, p.project, p.members, p.looked, p.used = b, x.linear.Project, p.members[:0], p.looked[:0], 0
	clear(p.index)
	p.join(i, 0)
	if b.Adj != nil {
		if p.index == nil {
			p.index = make(map[int32]int)
		}
		p.index[int32(i)] = 0
		for m := 0; m < len(p.members) && p.members[m].far < x.reach; m++ {
			for _, j := range p.among(m) {
				if _, in := p.index[j]; !in {
					p.index[j] = len(p.members)
					p.join(int(j), p.members[m].far+1)
				}
			}
		}
	}
	for m := range p.members {
		p.looked = append(p.looked, rows[p.members[m].i])
	}
	for m, of := range p.reader.Read(p.looked, &x.slots, x.nodes) {
		p.members[m].rows = of
	}
}

// end lets go of the batch and the model.
func (p *place) end() {
	p.b, p.project = nil, nil
	clear(p.looked)
	for m := range p.members {
		p.members[m].rows = nil
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
	norm := divisor(p.project, p.b, i)
	p.b.X.Each(i, func(c int, v float32) {
		if v != 0 {
			m.cols, m.vals = append(m.cols, int32(c)), append(m.vals, float64(v)/norm)
		}
	})
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

// column is column c of a member's x·W, less its centring.
func (p *place) column(m, c int) float64 {
	of, sum := &p.members[m], 0.0
	for k, f := range of.cols {
		sum += of.vals[k] * float64(p.project.Weight.Row(int(f))[c])
	}
	return sum - float64(p.project.Offset[c])
}

// read is a·tables of a member, columns lo to hi.
func (p *place) read(m int, tables *graph.Dense, lo, hi int) []float64 {
	out := p.floats(hi - lo)
	for k := range p.members[m].rows {
		row := &p.members[m].rows[k]
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

// divisor is the number by which the features of arrival i are divided before they are projected.
func divisor(project *preprocess.Projection, b *attach.Batch, i int) float64 {
	if b.X.Sparse != nil {
		return project.Divisor(b.X.Sparse.Row(i))
	}
	return project.Divisor(nil, b.X.Dense.Row(i))
}
