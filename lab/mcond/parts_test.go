package mcond

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/trainer/features"
)

// The batch norm of the first layer, taken from P and Q, is that over all pairs; with it, A' is the MLP's formula.
func TestAffinityIsTheMLP(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	w, x := tinyS(rng)
	a := newAffinity[float64](tinyM, tinyH)
	a.forward(w, x)
	pairs := tinyM * tinyM
	first := newMatrix[float64](pairs, tinyH)
	for i := range tinyM {
		for j := range tinyM {
			for k := range tinyH {
				for c := range tinyP {
					first.row(i*tinyM + j)[k] += x.row(i)[c]*w.wa.row(c)[k] + x.row(j)[c]*w.wb.row(c)[k]
				}
			}
		}
	}
	batchNormReLU(first, w.scale1, w.shift1)
	second := newMatrix[float64](pairs, tinyH)
	gemm(plain, plain, 1, first, w.w2, 0, second)
	batchNormReLU(second, w.scale2, w.shift2)
	score := func(i, j int) float64 { return dot(second.row(i*tinyM+j), w.w3) + w.bias[0] }
	for i := range tinyM {
		for j := range tinyM {
			want := 1 / (1 + math.Exp(-(score(i, j)+score(j, i))/2))
			if i == j {
				want = 0
			}
			if got := a.adj.row(i)[j]; math.Abs(got-want) > 1e-12 {
				t.Errorf("A'[%d,%d] is %v, want %v", i, j, got, want)
			}
		}
	}
}

func batchNormReLU(m *matrix[float64], gain, shift []float64) {
	for k := range m.cols {
		mean, square := 0.0, 0.0
		for i := range m.rows {
			mean += m.row(i)[k] / float64(m.rows)
		}
		for i := range m.rows {
			square += (m.row(i)[k] - mean) * (m.row(i)[k] - mean) / float64(m.rows)
		}
		for i := range m.rows {
			m.row(i)[k] = max(0, gain[k]*(m.row(i)[k]-mean)/math.Sqrt(square+1e-5)+shift[k])
		}
	}
}

// Started at −4, A' is sparse; at 0 it is about a half everywhere.
func TestAffinityBias(t *testing.T) {
	for _, bias := range []float64{-4, 0} {
		rng := rand.New(rand.NewPCG(6, 1))
		w := newWeights[float64](tinyP, 64)
		w.start(rng, bias)
		a := newAffinity[float64](tinyM, 64)
		a.forward(w, randomMatrix(rng, tinyM, tinyP))
		sum := 0.0
		for _, v := range a.adj.data {
			sum += v
		}
		got, want := sum/(tinyM*(tinyM-1)), sigmoid(bias)
		if got < want/2 || got > 2*want {
			t.Errorf("bias %v: A' starts with a mean of %v, want about %v", bias, got, want)
		}
	}
}

// Z' and the joint logits are those that infer computes from the same graph.
func TestPropagationIsInfers(t *testing.T) {
	w := newWorld(t)
	o := small()
	p := prepare(&w.in, &o)
	l := newLearner(p, &o, true)
	rng := rand.New(rand.NewPCG(8, 1))
	l.relay.draw(rng)
	l.s.forward(l.weights, l.x)
	l.norm.forward(l.raw)
	adj, m := sparse(l.s.adj(), 0), sparse(l.norm.out, 0)
	hat := graph.Normalised(adj)
	z := graph.Mul(hat, graph.Mul(hat, l.x.dense()))
	near(t, "Z'", l.s.z().data, z.Data)

	weights, b := graph.NewDense(worldFeatures, 3), []float32{0.5, -1, 2}
	copy(l.relay.b, b)
	for k := range worldFeatures { // W = V·W_p
		for c := range 3 {
			weights.Row(k)[c] = dot(p.basis.Row(k), l.relay.w.row(c))
		}
	}
	l.targets(l.relay, l.tra.want, l.ind)
	full, err := infer.NewSGC(weights, b)
	expect.OK(t, err)
	onT := full.Joint(w.in.Adj, w.in.Pre.Raw(w.in.X), w.in.Pre).Logits(w.in.Support)
	near(t, "H_sup", l.ind.want.data, onT.Data)

	gemm(plain, transposed, 1, l.x, l.relay.w, 0, l.zs)
	l.ind.forward(l.norm.out, l.s.adj(), l.zs, l.relay.b)
	rows := make([][]attach.Row, w.in.Support.Len())
	for i := range rows {
		nodes, _ := w.in.Support.R.Row(i)
		for _, j := range nodes {
			cols, vals := m.Row(int(j))
			rows[i] = append(rows[i], attach.Row{Known: true, Cols: cols, Vals: vals})
		}
	}
	onS := *w.in.Support
	onS.R, onS.Known = attach.Attach(rows, m.Cols)
	got := full.Joint(adj, preprocess.Ready(l.expanded(l.x)), w.in.Pre).Logits(&onS)
	near(t, "H'_sup", l.ind.rest.data, got.Data)
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for k, v := range want {
		if math.Abs(float64(got[k]-v)) > 2e-4*(1+math.Abs(float64(v))) {
			t.Errorf("%s[%d] is %v, want %v", what, k, got[k], v)
		}
	}
}

// M's rows sum to 1 minus the effect of the floor, which makes small entries zero.
func TestNormalisedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	raw := rawMapping(rng)
	z := newNormaliser[float64](raw.rows, raw.cols)
	z.forward(raw)
	for i := range raw.rows {
		sum, zeros := 0.0, 0
		for k, v := range z.out.row(i) {
			sum += v
			if v == 0 {
				zeros++
				if raw.row(i)[k] > -10 {
					t.Errorf("M[%d,%d] is 0 of a raw %v", i, k, raw.row(i)[k])
				}
			}
		}
		if zeros != 1 || sum > 1 || sum < 1-1e-4 {
			t.Errorf("row %d has %d zeros and the sum %v", i, zeros, sum)
		}
	}
}

func TestDrawPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	adj := randomGraph(rng, 30, 5)
	pairs := drawPairs(rng, adj, 200, nil)
	edges, drawn := 0, map[[2]int32]bool{}
	for k, p := range pairs {
		cols, _ := adj.Row(int(p.i))
		if p.edge != slices.Contains(cols, p.j) || p.i == p.j {
			t.Fatalf("pair %d is %+v; neighbours %v", k, p, cols)
		}
		if k%2 == 0 && !p.edge {
			t.Errorf("pair %d is no edge", k)
		}
		if p.edge {
			edges++
		}
		drawn[[2]int32{p.i, p.j}] = true
	}
	if len(pairs) != 400 || edges < 205 || edges > 300 || len(drawn) < 200 {
		t.Errorf("%d pairs, %d of them edges, %d distinct", len(pairs), edges, len(drawn))
	}
	lonely := &graph.CSR{Rows: 2, Cols: 2, RowPtr: []int{0, 0, 0}}
	if pairs := drawPairs(rng, lonely, 5, nil); len(pairs) != 5 || pairs[0].edge {
		t.Errorf("a graph without edges gives %v", pairs)
	}
	if pairs := drawPairs(rng, &graph.CSR{Rows: 1, Cols: 1, RowPtr: []int{0, 0}}, 5, nil); len(pairs) != 0 {
		t.Errorf("one node gives %v", pairs)
	}
}

// The basis is orthonormal and keeps as much of pre(X) as the leading singular vectors do, for sparse and dense
// features.
func TestPrincipalBasis(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	const n, d, p = 60, 30, 8
	raw := graph.NewDense(n, d)
	for i := range n {
		for k := range d {
			if rng.IntN(3) == 0 {
				raw.Row(i)[k] = float32(math.Abs(rng.NormFloat64()) / float64(1+k))
			}
		}
	}
	pre := &preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, d), Scale: 3}
	for k := range pre.Mean {
		pre.Mean[k] = 0.05
	}
	rows := &matrix[float32]{n, d, raw.Data}
	for name, x := range map[string]graph.Features{"dense": {Dense: raw}, "sparse": {Sparse: sparse(rows, 0)}} {
		v := principalBasis(features.Factor(x, pre), p, rand.New(rand.NewPCG(1, 1)))
		if v.Rows != d || v.Cols != p {
			t.Fatalf("%s: basis of %d×%d", name, v.Rows, v.Cols)
		}
		gram := newMatrix[float32](p, p)
		gemm(transposed, plain, 1, over(v), over(v), 0, gram)
		for i := range p {
			gram.row(i)[i]--
		}
		near(t, name+": VᵀV − I", gram.data, make([]float32, p*p))

		kept := 0.0
		for _, a := range pre.Fold(v).Apply(x).Data {
			kept += float64(a) * float64(a)
		}
		if best := largestSquares(t, pre, x, p); kept < 0.999*best {
			t.Errorf("%s: the basis keeps %v, the singular vectors %v", name, kept, best)
		}
	}
	if principalBasis(features.Factor(graph.Features{Dense: raw}, pre), d, rng) != nil {
		t.Error("as many directions as features are the features")
	}
}

// converted copies a float32 matrix into F.
func converted[F number](m *graph.Dense) *matrix[F] {
	out := newMatrix[F](m.Rows, m.Cols)
	for k, v := range m.Data {
		out.data[k] = F(v)
	}
	return out
}

// largestSquares returns the sum of the p largest squared singular values of pre(X).
func largestSquares(t *testing.T, pre *preprocess.Parameters, x graph.Features, p int) float64 {
	t.Helper()
	identity := graph.NewDense(x.Cols(), x.Cols())
	for k := range identity.Rows {
		identity.Row(k)[k] = 1
	}
	dense := converted[float64](pre.Fold(identity).Apply(x))
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(dense.rows, dense.cols, dense.data), mat.SVDNone) {
		t.Fatal("no singular values")
	}
	sum := 0.0
	for _, s := range svd.Values(nil)[:p] {
		sum += s * s
	}
	return sum
}

// A rank below the number of directions that are asked for gives fewer.
func TestBasisOfLowRank(t *testing.T) {
	raw := graph.NewDense(20, 15)
	for i := range 20 {
		raw.Row(i)[i%3] = float32(1 + i)
	}
	v := principalBasis(features.Factor(graph.Features{Dense: raw},
		&preprocess.Parameters{Kind: preprocess.None, Scale: 1}), 6,
		rand.New(rand.NewPCG(1, 1)))
	if v.Cols != 3 {
		t.Errorf("%d directions of a matrix of rank 3", v.Cols)
	}
}

// Thresholds drop entries below their N'-th part and rescale nothing; among equal accuracies the sparsest wins.
func TestSparsify(t *testing.T) {
	w := newWorld(t)
	w.in.Validate = func(s *Snapshot) (float64, error) {
		if s.Mu == 0.7 {
			return 1, nil
		}
		return 2, nil
	}
	o := small()
	o.Mu, o.Delta = []float64{0, 0.1, 0.7}, []float64{0, 0.35, 0.7, 1}
	r := mustLearn(t, w, o)
	fewest := r.Adj.NNZ() + r.M.NNZ()
	for _, c := range r.Thresholds {
		if c.Accuracy == 2 && c.EntriesA+c.EntriesM < fewest {
			t.Errorf("chose %d entries by μ = %v, δ = %v; %+v has fewer", fewest, r.Mu, r.Delta, c)
		}
	}
	if r.Mu == 0.7 || r.Accuracy != 2 || len(r.Thresholds) != 12 {
		t.Errorf("chose μ = %v, δ = %v at %v of %d", r.Mu, r.Delta, r.Accuracy, len(r.Thresholds))
	}
	left, least := 0, r.Delta/float64(r.Mapping.Cols)
	for i := range r.Mapping.Rows {
		cols, vals := r.M.Row(i)
		for p, c := range cols {
			if vals[p] != r.Mapping.Row(i)[c] || float64(vals[p]) < least {
				t.Fatalf("M[%d,%d] is %v, before thresholds %v", i, c, vals[p], r.Mapping.Row(i)[c])
			}
		}
		for _, v := range r.Mapping.Row(i) {
			if v > 0 && float64(v) >= least {
				left++
			}
		}
	}
	if left != r.M.NNZ() || left == 0 || left == len(r.Mapping.Data) {
		t.Errorf("%d entries of M, want %d", r.M.NNZ(), left)
	}
	for k := 1; k < 4; k++ {
		if r.Thresholds[k].EntriesM > r.Thresholds[k-1].EntriesM {
			t.Errorf("thresholds %+v", r.Thresholds)
		}
	}
}
