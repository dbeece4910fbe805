package mcond

import "math"

// cosineEpsilon keeps the cosine of a zero gradient finite.
const cosineEpsilon = 1e-6

// gradientMatch is L_gra (the paper's Eq. 5, Jin et al.'s class-wise matching): the gradient of the relay's
// cross-entropy over the rows of one class, G_c = Z_cᵀ(softmax(Z_cW + b) − Y_c)/n_c, on T and on S, and the cosine
// distances of its columns:
//
//	L_gra = Σ_c w_c Σ_k (1 − cos(G_c[:,k], T_c[:,k])),    w_c = n'_c / max n'
//
// Rows of T and of S are sorted by class. W and all gradients are kept transposed, C×p.
type gradientMatch[F number] struct {
	classes int
	zt      *matrix[F] // labelled rows of Â²X, sorted by class
	labelsT []int32
	ofT     []int // classes+1: rows of each class in zt
	labelsS []int32
	ofS     []int // classes+1: rows of each class in Z'
	weight  []F   // w_c

	errorsT *matrix[F] // rows of zt × C
	errorsS *matrix[F] // m×C: softmax − onehot
	want    *matrix[F] // C·C×p: T_cᵀ, class by class
	got, dg *matrix[F] // C×p
	dv      *matrix[F] // m×C
}

func newMatching[F number](zt *matrix[F], labelsT, labelsS []int32, classes int) *gradientMatch[F] {
	g := &gradientMatch[F]{classes: classes, zt: zt, labelsT: labelsT, labelsS: labelsS,
		ofT: ranges(labelsT, classes), ofS: ranges(labelsS, classes), weight: make([]F, classes),
		errorsT: newMatrix[F](zt.rows, classes), errorsS: newMatrix[F](len(labelsS), classes),
		want: newMatrix[F](classes*classes, zt.cols), got: newMatrix[F](classes, zt.cols), dg: newMatrix[F](classes, zt.cols),
		dv: newMatrix[F](len(labelsS), classes)}
	most := 0
	for c := range classes {
		most = max(most, g.ofS[c+1]-g.ofS[c])
	}
	for c := range classes {
		g.weight[c] = F(g.ofS[c+1]-g.ofS[c]) / F(most)
	}
	return g
}

// ranges returns the first rows of each class in ascending labels, and their number at the end.
func ranges(labels []int32, classes int) []int {
	of := make([]int, classes+1)
	for _, y := range labels {
		of[y+1]++
	}
	for c := range classes {
		of[c+1] += of[c]
	}
	return of
}

// loss returns L_gra for Z' and the relay, and adds ∂L_gra/∂Z' to dz:
//
//	∂L/∂Z'_i = (1/n'_c) [Ḡ(p_i − y_i) + W(diag p_i − p_i p_iᵀ) Ḡᵀ Z'_i],   Ḡ = ∂L/∂G_c
func (g *gradientMatch[F]) loss(z *matrix[F], r *relay[F], dz *matrix[F]) float64 {
	g.original(r)
	r.errors(z, g.labelsS, g.errorsS)
	loss := 0.0
	for c := range g.classes {
		lo, hi := g.ofS[c], g.ofS[c+1]
		if lo == hi {
			continue
		}
		share := 1 / F(hi-lo)
		zc, ec := z.slice(lo, hi), g.errorsS.slice(lo, hi)
		gemm(transposed, plain, share, ec, zc, 0, g.got)
		loss += float64(g.weight[c]) * g.distance(c)
		for k := range g.dg.data {
			g.dg.data[k] *= g.weight[c]
		}
		dzc, v := dz.slice(lo, hi), g.dv.slice(lo, hi)
		gemm(plain, plain, share, ec, g.dg, 1, dzc)
		gemm(plain, transposed, share, zc, g.dg, 0, v)
		for i := range v.rows {
			softmaxBack(v.row(i), ec.row(i), int(g.labelsS[lo+i]))
		}
		gemm(plain, plain, 1, v, r.w, 1, dzc)
	}
	return loss
}

// softmaxBack sets v = (diag p − ppᵀ)v for p = e + onehot(y).
func softmaxBack[F number](v, e []F, y int) {
	mean := v[y]
	for k := range v {
		mean += e[k] * v[k]
	}
	for k := range v {
		p := e[k]
		if k == y {
			p++
		}
		v[k] = p * (v[k] - mean)
	}
}

// original sets want to T's gradients under the relay.
func (g *gradientMatch[F]) original(r *relay[F]) {
	r.errors(g.zt, g.labelsT, g.errorsT)
	for c := range g.classes {
		lo, hi := g.ofT[c], g.ofT[c+1]
		if lo == hi {
			continue
		}
		into := g.want.slice(c*g.classes, (c+1)*g.classes)
		gemm(transposed, plain, 1/F(hi-lo), g.errorsT.slice(lo, hi), g.zt.slice(lo, hi), 0, into)
	}
}

// distance returns Σ_k 1 − cos(got_k, want_k) for class c; dg becomes its gradient with respect to got.
func (g *gradientMatch[F]) distance(c int) float64 {
	sum := 0.0
	for k := range g.classes {
		s, t, d := g.got.row(k), g.want.row(c*g.classes+k), g.dg.row(k)
		var ss, tt, st float64
		for i := range s {
			a, b := float64(s[i]), float64(t[i])
			ss += a * a
			tt += b * b
			st += a * b
		}
		ns, nt := math.Sqrt(ss), math.Sqrt(tt)
		den := ns*nt + cosineEpsilon
		sum += 1 - st/den
		along := 0.0
		if ns > 0 {
			along = st * nt / (ns * den * den)
		}
		for i := range d {
			d[i] = F(along*float64(s[i]) - float64(t[i])/den)
		}
	}
	return sum
}
