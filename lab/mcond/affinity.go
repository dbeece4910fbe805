package mcond

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
)

// batchNormEpsilon is added to a variance, as PyTorch does.
const batchNormEpsilon = 1e-5

// weights holds the affinity MLP's weights, views of one flat slice: Linear(2p→h), BN, ReLU, Linear(h→h), BN, ReLU,
// Linear(h→1). The linear layers before a batch norm have no bias: the norm would cancel it.
type weights[F number] struct {
	flat           []F
	wa, wb         *matrix[F] // p×h: the first layer's halves for x'_i and x'_j
	scale1, shift1 []F        // h: γ and β of the first batch norm
	w2             *matrix[F] // h×h
	scale2, shift2 []F        // h
	w3             []F        // h
	bias           []F        // 1
}

func newWeights[F number](p, h int) *weights[F] {
	w := &weights[F]{flat: make([]F, 2*p*h+h*h+5*h+1)}
	rest := w.flat
	take := func(n int) []F {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	w.wa, w.wb = view(take(p*h), p, h), view(take(p*h), p, h)
	w.scale1, w.shift1 = take(h), take(h)
	w.w2 = view(take(h*h), h, h)
	w.scale2, w.shift2 = take(h), take(h)
	w.w3, w.bias = take(h), take(1)
	return w
}

// start draws linear weights uniform in ±1/√(fan in), as PyTorch does; batch norms start as the identity, the last
// bias at bias.
func (w *weights[F]) start(rng *rand.Rand, bias float64) {
	draw := func(into []F, fanIn int) {
		bound := 1 / math.Sqrt(float64(fanIn))
		for k := range into {
			into[k] = F(bound * (2*rng.Float64() - 1))
		}
	}
	draw(w.wa.data, 2*w.wa.rows)
	draw(w.wb.data, 2*w.wb.rows)
	draw(w.w2.data, w.w2.rows)
	draw(w.w3, len(w.w3))
	for k := range w.scale1 {
		w.scale1[k], w.scale2[k], w.shift1[k], w.shift2[k] = 1, 1, 0, 0
	}
	w.bias[0] = F(bias)
}

// affinity computes A'_ij = σ((MLP([x'_i; x'_j]) + MLP([x'_j; x'_i]))/2), zero on the diagonal, and its gradients
// (Jin et al., "Graph Condensation for Graph Neural Networks", Eq. 7; the paper's Eq. 6).
//
// The first layer is P_i + Q_j with P = X'Wa and Q = X'Wb. Over all pairs (i, j) its mean and variance are those of P
// plus those of Q: the batch norm costs nothing. The second layer, m² rows of h, takes most of the time.
type affinity[F number] struct {
	m, h       int
	p, q       *matrix[F] // m×h, centred
	inv1, inv2 []F        // h: 1/deviation of each batch norm
	a1         *matrix[F] // m²×h: ReLU of the first layer
	x2         *matrix[F] // m²×h: second layer, normalised, before scale and shift
	adj        *matrix[F] // m×m: A'

	grad, back *matrix[F] // m²×h: work space of the backward pass
	dp, dq     *matrix[F] // m×h
}

func newAffinity[F number](m, h int) *affinity[F] {
	return &affinity[F]{m: m, h: h, p: newMatrix[F](m, h), q: newMatrix[F](m, h), inv1: make([]F, h), inv2: make([]F, h),
		a1: newMatrix[F](m*m, h), x2: newMatrix[F](m*m, h), adj: newMatrix[F](m, m),
		grad: newMatrix[F](m*m, h), back: newMatrix[F](m*m, h), dp: newMatrix[F](m, h), dq: newMatrix[F](m, h)}
}

// forward sets a.adj from X' (m×p).
func (a *affinity[F]) forward(w *weights[F], x *matrix[F]) {
	gemm(plain, plain, 1, x, w.wa, 0, a.p)
	gemm(plain, plain, 1, x, w.wb, 0, a.q)
	varP, varQ := centre(a.p), centre(a.q)
	for k := range a.inv1 {
		a.inv1[k] = F(1 / math.Sqrt(varP[k]+varQ[k]+batchNormEpsilon))
	}
	a.firstLayer(w)
	gemm(plain, plain, 1, a.a1, w.w2, 0, a.x2)
	for k, v := range centre(a.x2) {
		a.inv2[k] = F(1 / math.Sqrt(v+batchNormEpsilon))
	}
	a.score(w)
}

// centre subtracts the mean of every column and returns the variances.
func centre[F number](m *matrix[F]) []float64 {
	mean, variance := make([]float64, m.cols), make([]float64, m.cols)
	for i := range m.rows {
		for k, v := range m.row(i) {
			mean[k] += float64(v)
		}
	}
	for k := range mean {
		mean[k] /= float64(m.rows)
	}
	for i := range m.rows {
		row := m.row(i)
		for k, v := range row {
			c := float64(v) - mean[k]
			row[k] = F(c)
			variance[k] += c * c
		}
	}
	for k := range variance {
		variance[k] /= float64(m.rows)
	}
	return variance
}

// firstLayer sets a1 = ReLU(γ(P_i + Q_j)/σ + β) for every pair.
func (a *affinity[F]) firstLayer(w *weights[F]) {
	gain := a.gain(w.scale1, a.inv1)
	graph.ParallelRows(a.m, a.m*a.m*a.h, func(lo, hi int) {
		own := make([]F, a.h)
		for i := lo; i < hi; i++ {
			for k, v := range a.p.row(i) {
				own[k] = gain[k]*v + w.shift1[k]
			}
			for j := range a.m {
				out, q := a.a1.row(i*a.m+j), a.q.row(j)
				for k := range out {
					out[k] = max(0, own[k]+gain[k]*q[k])
				}
			}
		}
	})
}

func (a *affinity[F]) gain(scale, inv []F) []F {
	gain := make([]F, a.h)
	for k := range gain {
		gain[k] = scale[k] * inv[k]
	}
	return gain
}

// score normalises the second layer and sets A'.
func (a *affinity[F]) score(w *weights[F]) {
	scores := newMatrix[F](a.m, a.m)
	graph.ParallelRows(a.m, a.m*a.m*a.h, func(lo, hi int) {
		for r := lo * a.m; r < hi*a.m; r++ {
			x := a.x2.row(r)
			s := w.bias[0]
			for k, v := range x {
				v *= a.inv2[k]
				x[k] = v
				s += w.w3[k] * max(0, w.scale2[k]*v+w.shift2[k])
			}
			scores.data[r] = s
		}
	})
	for i := range a.m {
		for j := range i {
			v := sigmoid((scores.row(i)[j] + scores.row(j)[i]) / 2)
			a.adj.row(i)[j], a.adj.row(j)[i] = v, v
		}
	}
}

// backward takes ∂L/∂A' (m×m, every entry on its own), adds ∂L/∂X' to dx and, if dw is not nil, sets it to the
// weights' gradient. It reads and overwrites the results of forward.
func (a *affinity[F]) backward(w *weights[F], x, dAdj, dx *matrix[F], dw *weights[F]) {
	a.secondLayerBack(w, a.scoresBack(dAdj), dw)
	if dw != nil {
		gemm(transposed, plain, 1, a.a1, a.grad, 0, dw.w2)
	}
	gemm(plain, transposed, 1, a.grad, w.w2, 0, a.back)
	a.firstLayerBack(w, dw)
	if dw != nil {
		gemm(transposed, plain, 1, x, a.dp, 0, dw.wa)
		gemm(transposed, plain, 1, x, a.dq, 0, dw.wb)
	}
	gemm(plain, transposed, 1, a.dp, w.wa, 1, dx)
	gemm(plain, transposed, 1, a.dq, w.wb, 1, dx)
}

// scoresBack returns ∂L/∂score of every pair, m².
func (a *affinity[F]) scoresBack(dAdj *matrix[F]) []F {
	ds := make([]F, a.m*a.m)
	for i := range a.m {
		for j := range i {
			v := a.adj.row(i)[j]
			d := (dAdj.row(i)[j] + dAdj.row(j)[i]) * v * (1 - v) / 2
			ds[i*a.m+j], ds[j*a.m+i] = d, d
		}
	}
	return ds
}

// secondLayerBack sets grad to ∂L/∂(a1·W2), through the last layer, the ReLU and the batch norm:
//
//	∂L/∂e = γ/σ (n̄ − mean n̄ − x̂ mean(n̄ x̂)),   n̄ = ∂L/∂n at n = γx̂ + β
func (a *affinity[F]) secondLayerBack(w *weights[F], ds []F, dw *weights[F]) {
	if dw != nil {
		clear(dw.w3)
		dw.bias[0] = 0
	}
	sum, along := make([]float64, a.h), make([]float64, a.h)
	for r, s := range ds {
		x, g := a.x2.row(r), a.grad.row(r)
		if s == 0 { // the diagonal
			clear(g)
			continue
		}
		for k, v := range x {
			n := w.scale2[k]*v + w.shift2[k]
			if n <= 0 {
				g[k] = 0
				continue
			}
			d := s * w.w3[k]
			g[k] = d
			sum[k] += float64(d)
			along[k] += float64(d * v)
			if dw != nil {
				dw.w3[k] += s * n
			}
		}
		if dw != nil {
			dw.bias[0] += s
		}
	}
	if dw != nil {
		for k := range sum {
			dw.shift2[k], dw.scale2[k] = F(sum[k]), F(along[k])
		}
	}
	n := float64(a.m * a.m)
	gain, mean, slope := a.gain(w.scale2, a.inv2), make([]F, a.h), make([]F, a.h)
	for k := range mean {
		mean[k], slope[k] = F(sum[k]/n), F(along[k]/n)
	}
	graph.ParallelRows(a.grad.rows, a.grad.rows*a.h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			x, g := a.x2.row(r), a.grad.row(r)
			for k := range g {
				g[k] = gain[k] * (g[k] - mean[k] - x[k]*slope[k])
			}
		}
	})
}

// firstLayerBack takes back = ∂L/∂a1 to ∂L/∂P and ∂L/∂Q. The batch norm's terms need only the row and the column
// sums of n̄ = ∂L/∂n over pairs: Σ n̄ x̂ = Σ_i (P_i Σ_j n̄_ij)/σ + Σ_j (Q_j Σ_i n̄_ij)/σ.
func (a *affinity[F]) firstLayerBack(w *weights[F], dw *weights[F]) {
	clear(a.dp.data)
	clear(a.dq.data)
	for i := range a.m {
		p := a.dp.row(i)
		for j := range a.m {
			out, g, q := a.a1.row(i*a.m+j), a.back.row(i*a.m+j), a.dq.row(j)
			for k, v := range out {
				if v > 0 {
					p[k] += g[k]
					q[k] += g[k]
				}
			}
		}
	}
	sum, along := make([]float64, a.h), make([]float64, a.h)
	for i := range a.m {
		dp, dq, p, q := a.dp.row(i), a.dq.row(i), a.p.row(i), a.q.row(i)
		for k := range dp {
			sum[k] += float64(dp[k])
			along[k] += float64(dp[k]*p[k]) + float64(dq[k]*q[k])
		}
	}
	for k := range along {
		along[k] *= float64(a.inv1[k])
	}
	if dw != nil {
		for k := range sum {
			dw.shift1[k], dw.scale1[k] = F(sum[k]), F(along[k])
		}
	}
	m := float64(a.m)
	for i := range a.m {
		dp, dq, p, q := a.dp.row(i), a.dq.row(i), a.p.row(i), a.q.row(i)
		for k := range dp {
			gain, inv := float64(w.scale1[k]*a.inv1[k]), float64(a.inv1[k])
			mean, slope := sum[k]/m, along[k]/m*inv
			dp[k] = F(gain * (float64(dp[k]) - mean - float64(p[k])*slope))
			dq[k] = F(gain * (float64(dq[k]) - mean - float64(q[k])*slope))
		}
	}
}
