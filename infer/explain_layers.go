package infer

import "rivulet/graph"

// Models whose layers read neighbours are taken apart from the last layer to the first, with their relus held as
// they are.

func (f *frozenConvolution) parts() (*Projection, *graph.Dense) { return f.project, f.tables }
func (f *frozenConvolution) reach() int                         { return len(f.layers) }

// table is where u_l begins in a row of the tables; [frozenConvolution.way] is where c_l does, l from 1.
func (f *frozenConvolution) table(l int) int {
	if l == 0 {
		return 0
	}
	at := f.layers[0].width() + f.back()
	for _, before := range f.layers[1:l] {
		at += before.width()
	}
	return at
}

func (f *frozenConvolution) way(l int) int {
	at := f.layers[0].width()
	for _, before := range f.layers[:l-1] {
		at += before.width()
	}
	return at
}

// passed is a member on its way through the layers, as [frozenConvolution.Logits] has it.
type passed struct {
	in, out float64
	z       [][]float64 // z^l and what follows it in a row of h^{l−1}·w, of layers 1, 2, …
	open    [][]bool    // where h^l is not 0
	ways    [][]float64 // what (a·c_l) is multiplied by in D^l
	back    []float64   // D^{l−1} of the layer that comes
}

// linearise has, with γ^L the class's unit vector, λ^l = out γ^l and γ^{l−1} = 1[p^{l−1}>0]∘(([in λ^l] Wnᵀ) + γ^l Wsᵀ),
//
//	logit = Σ_l λ^l·(a·u_{l−1} + ã(in z^l)) + (Wn λ^l)·D^{l−1} + γ^l·b, and of the first layer [in λ¹]·z¹ + γ¹·x Ws
//
// D^{l−1} = (a·c_{l−1})∘way, with the way held, is linear in what the neighbours have.
func (f *frozenConvolution) linearise(p *place, classes []int, out []linear) {
	members := f.pass(p)
	for k, class := range classes {
		l := &out[k]
		for range p.among(0) {
			l.among = append(l.among, 0)
		}
		gamma := make([]float64, f.last().width())
		gamma[class] = 1
		for n := len(f.layers) - 1; n >= 0; n-- {
			gamma = f.unfold(p, members, l, n, gamma)
		}
		for c, by := range gamma {
			if by != 0 {
				l.own.add(c, by)
			}
		}
	}
}

// unfold adds what a layer gets from neighbours, from the batch and from its bias, and returns the coefficients of
// the states before it; before the first layer those of x·w.
func (f *frozenConvolution) unfold(p *place, members []passed, l *linear, n int, gamma []float64) []float64 {
	of, me := f.layers[n], &members[0]
	for c, v := range gamma {
		l.bias += v * float64(of.bias[c])
		if by := me.out * v; by != 0 {
			l.read.add(f.table(n)+c, by)
		}
	}
	for at, j := range p.among(0) {
		other := &members[p.index[j]]
		for c, v := range gamma {
			l.among[at] += me.out * v * other.in * other.z[n][c]
		}
	}
	if n > 0 {
		for c, way := range me.ways[n-1] {
			by := 0.0
			for k, w := range of.w.Row(c)[:len(gamma)] {
				by += float64(w) * me.out * gamma[k]
			}
			if by *= way; by != 0 {
				l.read.add(f.way(n)+c, by)
			}
		}
	}
	row := make([]float64, of.w.Cols)
	for c, v := range gamma {
		if f.Loops {
			row[c] += me.in * me.out * v
		}
		if of.self < len(row) {
			row[of.self+c] += v
		}
	}
	if n == 0 {
		return row
	}
	before := make([]float64, of.w.Rows)
	for c := range before {
		if me.open[n-1][c] {
			for k, w := range of.w.Row(c) {
				before[c] += float64(w) * row[k]
			}
		}
	}
	return before
}

// pass takes the members through the hidden layers, each as far as the first one reads it.
func (f *frozenConvolution) pass(p *place) []passed {
	out := make([]passed, len(p.members))
	for m := range out {
		out[m].in, out[m].out = f.Scales(p.degree(m))
		out[m].z = [][]float64{p.projected(m)}
	}
	for n := range len(f.layers) - 1 {
		for m := range out {
			if p.members[m].far <= len(f.layers)-1-n {
				f.hide(p, out, m, n)
			}
		}
	}
	return out
}

// hide takes a member through hidden layer n.
func (f *frozenConvolution) hide(p *place, members []passed, m, n int) {
	me, l, after := &members[m], f.layers[n], f.layers[n+1]
	width, z := l.width(), me.z[n]
	h := p.read(m, f.tables, f.table(n), f.table(n)+width)
	ways := make([]float64, width)
	if n > 0 {
		addTransformed(h, me.back, l.w, 1)
		f.through(p, me, m, n, ways)
	}
	for c := range h {
		ways[c] += me.in * z[c]
		if f.Loops {
			h[c] += me.in * z[c]
		}
	}
	for _, j := range p.among(m) {
		other := &members[p.index[j]]
		for c := range h {
			h[c] += other.in * other.z[n][c]
		}
	}
	open := make([]bool, width)
	for c, b := range l.bias {
		h[c] = h[c]*me.out + float64(b)
		if l.self < len(z) {
			h[c] += z[l.self+c]
		}
		h[c] = max(h[c], 0)
		open[c] = h[c] > 0
	}
	me.back = p.read(m, f.tables, f.way(n+1), f.way(n+1)+width)
	for c, way := range ways {
		me.back[c] *= way
	}
	next := make([]float64, after.w.Cols)
	addTransformed(next, h, after.w, 1)
	me.z, me.open, me.ways = append(me.z, next), append(me.open, open), append(me.ways, ways)
}

// through adds D^{l−1} Ws/(a·c̄), or with self-loops D^{l−1} Wn/k, to the way back, as [arriving.through] does.
func (f *frozenConvolution) through(p *place, me *passed, m, n int, ways []float64) {
	w, divisor := f.layers[n].w, float64(p.b.Known[p.members[m].i])
	if own := f.layers[n].own; own != nil {
		at := f.layers[0].width() + f.back() - 1
		w, divisor = own, p.read(m, f.tables, at, at+1)[0]
	}
	if divisor != 0 {
		addTransformed(ways, me.back, w, 1/divisor)
	}
}

// addTransformed adds x·w·by to the leading columns that y has.
func addTransformed(y, x []float64, w *graph.Dense, by float64) {
	for k, v := range x {
		if v == 0 {
			continue
		}
		for c, weight := range w.Row(k)[:len(y)] {
			y[c] += v * float64(weight) * by
		}
	}
}
