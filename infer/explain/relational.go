package explain

import "rivulet/infer"

// relational is a model whose layers read the relations of edges. The arrival reads its neighbours' rows at each
// layer, and no other arrival.
type relational struct{ *infer.Parts }

func (f relational) parts() *infer.Parts { return f.Parts }
func (f relational) reach() int          { return 0 }

// linearise has, with γ^L the class's unit vector and γ^{l−1} = 1[p^{l−1}>0]∘γ^l Wᵀ,
//
//	logit = Σ_l γ^l·(a·u_l + b) + γ¹·xW
func (f relational) linearise(p *place, classes []int, out []linear) {
	layers, blocks := f.Network.Layers, f.Network.Architecture.Blocks()
	open := f.pass(p)
	for k, class := range classes {
		l := &out[k]
		for range p.among(0) {
			l.among = append(l.among, 0)
		}
		gamma := make([]float64, layers[len(layers)-1].Width())
		gamma[class] = 1
		for n := len(layers) - 1; n >= 0; n-- {
			for c, by := range gamma {
				if by == 0 {
					continue
				}
				l.bias += by * float64(layers[n].Bias[c])
				l.read.add(f.U[n]+c, by)
				if n == 0 {
					l.own.add(c, by)
				}
			}
			if n == 0 {
				break
			}
			before := make([]float64, layers[n-1].Width())
			w := layers[n].Block(0, blocks)
			for c := range before {
				if open[n-1][c] {
					for k, v := range w.Row(c) {
						before[c] += float64(v) * gamma[k]
					}
				}
			}
			gamma = before
		}
	}
}

// pass takes the arrival through the hidden layers, and returns the mask of each: 1 where p > 0, else 0.
func (f relational) pass(p *place) (open [][]bool) {
	layers, blocks := f.Network.Layers, f.Network.Architecture.Blocks()
	h := p.projected(0)
	for n := range layers[:len(layers)-1] {
		if n > 0 {
			next := make([]float64, layers[n].Width())
			addTransformed(next, h, layers[n].Block(0, blocks), 1)
			h = next
		}
		lets := make([]bool, len(h))
		for c, v := range p.read(0, f.Tables, f.U[n], f.U[n]+len(h)) {
			h[c] = max(0, h[c]+v+float64(layers[n].Bias[c]))
			lets[c] = h[c] > 0
		}
		open = append(open, lets)
	}
	return open
}
