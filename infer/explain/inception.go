package explain

import (
	"rivulet/infer"
	"rivulet/infer/architecture"
)

// inception is a model that reads each hop by a layer of its own, in the order of its deployment: the last hop first.
type inception struct {
	*infer.Parts
	*architecture.Operator
	hops, width int
	head        *architecture.Layer
}

func newInception(p *infer.Parts) *inception {
	layers := p.Network.Layers
	return &inception{p, p.Network.Architecture.Operator, p.Network.Hops, layers[0].Width(), &layers[len(layers)-1]}
}

func (f *inception) parts() *infer.Parts { return f.Parts }
func (f *inception) reach() int          { return f.hops }

// linearise has, with p_t = h^t's last columns + b_t and γ_t = 1[p_t > 0]∘V_t of the class,
//
//	logit = b + Σ_t γ_t·(b_t + h^t)    h^t = out(a·u_{t−1} + ã(in h^{t−1})) + in out (a·c) h^{t−2}
//
// h^0 is the arrival's own, and of the others h^{t−2} is held.
func (f *inception) linearise(p *place, classes []int, out []linear) {
	members := f.walk(p)
	me := &members[0]
	for k, class := range classes {
		l := &out[k]
		for range p.among(0) {
			l.among = append(l.among, 0)
		}
		l.bias = float64(f.head.Bias[class])
		for t := range f.hops + 1 {
			for c := range f.width {
				col := (f.hops-t)*f.width + c
				b := float64(f.Network.Layers[t].Bias[c])
				if me.h[t][col]+b <= 0 {
					continue
				}
				by := float64(f.head.Self.Row(t*f.width + c)[class])
				if l.bias += by * b; t == 0 {
					l.own.add(col, by)
					continue
				}
				l.read.add(f.U[t-1]+col, by*me.out)
				if t > 1 {
					l.read.add(f.C, by*me.in*me.out*me.h[t-2][col])
				}
				for at, j := range p.among(0) {
					other := &members[p.index[j]]
					l.among[at] += by * me.out * p.weight(0, at) * other.in * other.h[t-1][col]
				}
			}
		}
	}
}

// hopPass is a member on its way through the hops.
type hopPass struct {
	in, out float64
	h       [][]float64 // h^0, …
}

// walk takes the members through the hops, each as far as the first one reads it.
func (f *inception) walk(p *place) []hopPass {
	members := make([]hopPass, len(p.members))
	for m := range members {
		members[m].in, members[m].out = f.Scales(p.degree(m))
		members[m].h = [][]float64{p.projected(m)}
	}
	for t := range f.hops {
		width := (f.hops - t) * f.width
		for m := range members {
			if p.members[m].far > f.hops-1-t {
				continue
			}
			me := &members[m]
			next := p.read(m, f.Tables, f.U[t], f.U[t]+width)
			for at, j := range p.among(m) {
				other := &members[p.index[j]]
				for c := range next {
					next[c] += p.weight(m, at) * other.in * other.h[t][c]
				}
			}
			back := 0.0
			if t > 0 {
				back = me.in * p.read(m, f.Tables, f.C, f.C+1)[0]
			}
			for c := range next {
				if t > 0 {
					next[c] += back * me.h[t-1][c]
				}
				next[c] *= me.out
			}
			me.h = append(me.h, next)
		}
	}
	return members
}
