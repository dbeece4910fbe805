package explain

import (
	"math"

	"rivulet/graph"
	"rivulet/infer"
)

// Models with linear hops are taken apart a class at a time, as no class reads another.

// mixture is a linear model: logits = Σ_t w_t h^t + b.
type mixture struct {
	*infer.Parts
	hops int
	all  []float32 // w_0 … w_K
	bias []float32 // C
}

func newMixture(p *infer.Parts) *mixture {
	m := p.Network
	return &mixture{p, m.Hops, m.Architecture.Mix(m.Alpha, m.Hops), m.Layers[0].Bias}
}

func (f *mixture) parts() *infer.Parts { return f.Parts }
func (f *mixture) reach() int          { return f.hops }

// linearise has, with g_t the share of h^t in the logit, g_K = w_K and g_t = w_t + q² g_{t+1},
//
//	logit = Σ_t g_{t+1}[q a·u_t + q² Σ_m (a·c^m)∘h^{t−m} + q ã(q h^t)] + g_0 z + b
func (f *mixture) linearise(p *place, classes []int, out []linear) {
	last, q := f.hops, p.q(0)
	g := p.floats(last + 1)
	for t := last; t >= 0; t-- {
		g[t] = float64(f.all[t])
		if t < last {
			g[t] += q * q * g[t+1]
		}
	}
	for k, class := range classes {
		l, h := &out[k], p.hops(f, class)
		l.bias = float64(f.bias[class])
		l.own.add(class, g[0])
		for t := range last {
			l.read.add(f.U[t]+class, q*g[t+1])
		}
		for way := 1; way < last; way++ {
			back := 0.0
			for t := way; t < last; t++ {
				back += g[t+1] * h[0][t-way]
			}
			l.read.add(f.C+way-1, q*q*back)
		}
		for at, j := range p.among(0) {
			sum, of := 0.0, p.index[j]
			for t := range last {
				sum += g[t+1] * h[of][t]
			}
			l.among = append(l.among, p.weight(0, at)*q*p.q(of)*sum)
		}
	}
}

// q is a member's D_i^-½.
func (p *place) q(m int) float64 { return 1 / math.Sqrt(1+p.degree(m)) }

// hops are h^0, h^1, … of a class for each member, as far as the first member reads them: h^0 … h^{K−2} of itself, h^0
// … h^{K−far} of a member that is far hops away.
func (p *place) hops(f *mixture, class int) [][]float64 {
	last := f.hops
	h := make([][]float64, len(p.members))
	for m := range h {
		h[m] = append(p.floats(last)[:0], p.column(m, class))
	}
	for t := range last - 1 { // to h^{t+1}
		for m := range p.members {
			if far := p.members[m].far; far > last-t-1 || far == 0 && t+1 > last-2 {
				continue
			}
			q, at := p.q(m), f.U[t]+class
			next := p.read(m, f.Tables, at, at+1)[0] + q*h[m][t]
			for at, j := range p.among(m) {
				next += p.weight(m, at) * p.q(p.index[j]) * h[p.index[j]][t]
			}
			if t > 0 {
				for way, c := range p.read(m, f.Tables, f.C, f.C+t) {
					next += q * c * h[m][t-way-1]
				}
			}
			h[m] = append(h[m], q*next)
		}
	}
	return h
}

// restart is a perceptron of two layers whose answers are spread by hops with a restart: APPNP.
type restart struct {
	*infer.Parts
	hops   int
	alpha  float32
	w2     *graph.Dense // h×C
	b1, b2 []float32    // h, C
}

func newRestart(p *infer.Parts) *restart {
	m := p.Network
	return &restart{p, m.Hops, m.Alpha, m.Layers[1].Self, m.Layers[0].Bias, m.Layers[1].Bias}
}

func (f *restart) parts() *infer.Parts { return f.Parts }
func (f *restart) reach() int          { return f.hops }

// linearise has, with g_K = 1, g_t = (1−α)q² g_{t+1} and the perceptron's relu held,
//
//	logit = (1−α) Σ_t g_{t+1}[q a·u_t + (1−α)q²(a·c)h^{t−1} + q ã(q h^t)] + (g_0 + α Σ_{t>0} g_t) h⁰
func (f *restart) linearise(p *place, classes []int, out []linear) {
	last, q, keep := f.hops, p.q(0), float64(1-f.alpha)
	g, own := p.floats(last+1), 0.0
	g[last] = 1
	for t := last - 1; t >= 0; t-- {
		g[t] = keep * q * q * g[t+1]
		own += float64(f.alpha) * g[t+1]
	}
	own += g[0]
	hidden := make([][]float64, len(p.members))
	for m := range hidden {
		hidden[m] = p.projected(m)
		for k, b := range f.b1 {
			hidden[m][k] = max(hidden[m][k]+float64(b), 0)
		}
	}
	for k, class := range classes {
		l, h := &out[k], f.states(p, hidden, class)
		l.bias = own * float64(f.b2[class])
		for unit, v := range hidden[0] {
			if v > 0 {
				through := own * float64(f.w2.Row(unit)[class])
				l.bias += through * float64(f.b1[unit])
				l.own.add(unit, through)
			}
		}
		back := 0.0
		for t := range last {
			l.read.add(f.U[t]+class, keep*q*g[t+1])
			if t > 0 {
				back += g[t+1] * h[0][t-1]
			}
		}
		l.read.add(f.C, keep*keep*q*q*back)
		for at, j := range p.among(0) {
			sum, of := 0.0, p.index[j]
			for t := range last {
				sum += g[t+1] * h[of][t]
			}
			l.among = append(l.among, p.weight(0, at)*keep*q*p.q(of)*sum)
		}
	}
}

// states are h^0, h^1, … of a class for each member; the first member reads h^0 … h^{K−far} of them.
func (f *restart) states(p *place, hidden [][]float64, class int) [][]float64 {
	last, keep, alpha := f.hops, float64(1-f.alpha), float64(f.alpha)
	h, back := make([][]float64, len(p.members)), make([]float64, len(p.members))
	for m := range h {
		first := float64(f.b2[class])
		for unit, v := range hidden[m] {
			first += v * float64(f.w2.Row(unit)[class])
		}
		h[m], back[m] = append(p.floats(last)[:0], first), p.read(m, f.Tables, f.C, f.C+1)[0]
	}
	for t := range last - 1 { // to h^{t+1}
		for m := range p.members {
			if p.members[m].far > last-t-1 {
				continue
			}
			q, at := p.q(m), f.U[t]+class
			next := p.read(m, f.Tables, at, at+1)[0] + q*h[m][t]
			for at, j := range p.among(m) {
				next += p.weight(m, at) * p.q(p.index[j]) * h[p.index[j]][t]
			}
			if t > 0 {
				next += keep * q * back[m] * h[m][t-1]
			}
			h[m] = append(h[m], keep*q*next+alpha*h[m][0])
		}
	}
	return h
}
