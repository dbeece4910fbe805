package preprocess

import (
	"fmt"
	"math"

	"rivulet/graph"
)

// Kinds of preprocessing.
const (
	L2Center    = "l2-center"   // rows of unit L2 norm, less the mean of T's rows, times Scale
	L1          = "l1"          // rows over their L1 norm, not centred, times Scale
	Standardize = "standardize" // columns of mean 0 and deviation 1 over T, times Scale
	None        = "none"        // raw features, as they are
)

// Parameters turns raw features into the model's features (docs/algorithm.md, section 1):
//
//	l2-center    Scale (x/‖x‖ − Mean)
//	l1           Scale x / max(1, ‖x‖₁)
//	standardize  Scale (x − Mean) / Std,  Std 0 counts as 1
//	none         x
//
// On features that are not negative and have 0 as their smallest, l1 with Scale 1 is PyTorch Geometric's
// NormalizeFeatures, which leaves rows of a sum below 1 as they are.
//
// Its parameters are part of the artifact: users send raw features.
type Parameters struct {
	Kind  string
	Mean  []float32 // d; nil for none and l1
	Std   []float32 // d, all > 0; only for standardize
	Scale float32   // > 0; 1 for none
}

// Validate checks the parameters against d features.
func (p *Parameters) Validate(d int) error {
	switch p.Kind {
	case None:
		return nil
	case L2Center, L1, Standardize:
	default:
		return fmt.Errorf("preprocess.kind is %q, want %q, %q, %q or %q", p.Kind, L2Center, L1, Standardize, None)
	}
	if p.Centres() && len(p.Mean) != d {
		return fmt.Errorf("preprocess.mean has %d values, want %d", len(p.Mean), d)
	}
	if p.Kind == Standardize && len(p.Std) != d {
		return fmt.Errorf("preprocess.std has %d values, want %d", len(p.Std), d)
	}
	for k, m := range p.Mean {
		if math.IsNaN(float64(m)) || math.IsInf(float64(m), 0) {
			return fmt.Errorf("preprocess.mean[%d] is %v, want a finite number", k, m)
		}
	}
	for k, s := range p.Std {
		if !(s > 0) || math.IsInf(float64(s), 0) {
			return fmt.Errorf("preprocess.std[%d] is %v, want a positive number", k, s)
		}
	}
	if !(p.Scale > 0) || math.IsInf(float64(p.Scale), 0) {
		return fmt.Errorf("preprocess.scale is %v, want a positive number", p.Scale)
	}
	return nil
}

// Centres tells whether the preprocessing subtracts Mean.
func (p *Parameters) Centres() bool { return p.Kind == L2Center || p.Kind == Standardize }

// Projection is x ↦ pre(x)·W on raw features with the preprocessing folded into W, so that centring never makes
// sparse features dense: pre(x) W = norm(x)·(Scale/Std)W − (Scale·Mean/Std)W. It is the form for rows that are seen
// once; training, which goes over the same rows again and again, has package features.
type Projection struct {
	Weight   *graph.Dense // d×h, wider where that is faster to read; d×1 where it is diagonal
	Offset   []float32    // h: the subtracted centre
	kind     string       // of preprocessing: selects the divisor of a row
	diagonal bool         // W is a diagonal matrix and h = d
}

// Fold returns the projection onto w (d×h).
func (p *Parameters) Fold(w *graph.Dense) *Projection {
	pr := &Projection{Weight: w.Aligned(), Offset: make([]float32, w.Cols), kind: p.Kind}
	if p.Kind == None {
		return pr
	}
	if (p.Centres() && len(p.Mean) != w.Rows) || (p.Kind == Standardize && len(p.Std) != w.Rows) {
		panic(fmt.Sprintf("infer: preprocessing %q with a mean of %d and deviations of %d on weights of %d×%d",
			p.Kind, len(p.Mean), len(p.Std), w.Rows, w.Cols))
	}
	offset := make([]float64, w.Cols)
	for k := range w.Rows {
		factor := float64(p.Scale)
		if p.Kind == Standardize {
			factor /= float64(p.Std[k])
		}
		row := pr.Weight.Row(k)[:w.Cols]
		for c := range row {
			folded := factor * float64(row[c])
			row[c] = float32(folded)
			if p.Centres() {
				offset[c] += float64(p.Mean[k]) * folded
			}
		}
	}
	for c, v := range offset {
		pr.Offset[c] = float32(v)
	}
	return pr
}

// Identity returns the projection onto the identity of d×d: pre(x) itself, dense.
func (p *Parameters) Identity(d int) *Projection {
	ones := graph.NewDense(d, 1)
	for k := range ones.Data {
		ones.Data[k] = 1
	}
	pr := p.Fold(ones)
	pr.diagonal, pr.Offset = true, make([]float32, d)
	for k := range p.Mean {
		pr.Offset[k] = float32(float64(p.Mean[k]) * float64(pr.Weight.Data[k]))
	}
	return pr
}

// Width is h, the number of columns of the result.
func (pr *Projection) Width() int { return len(pr.Offset) }

// Apply returns pre(x)·W, n×h. Each row depends on its own row of x alone, bit for bit, and a dense row gives the
// bits of the sparse row with the same non-zeros in ascending columns. A column that a sparse row has twice is two
// features.
func (pr *Projection) Apply(x graph.Features) *graph.Dense {
	out := graph.NewDense(x.Rows(), pr.Width())
	pr.AddTo(out, x)
	return out
}

// AddTo adds [Projection.Apply] to out.
func (pr *Projection) AddTo(out *graph.Dense, x graph.Features) {
	graph.ParallelRows(out.Rows, pr.Work(x), func(lo, hi int) { pr.AddRows(out, x, lo, hi) })
}

// Undivided is the projection for rows that were divided by their norm before.
func (pr *Projection) Undivided() *Projection {
	of := *pr
	of.kind = None
	return &of
}

// Work is the cost of projecting x, in multiply-adds.
func (pr *Projection) Work(x graph.Features) int {
	if x.Cols() != pr.Weight.Rows {
		panic(fmt.Sprintf("infer: features of %d×%d for weights of %d×%d", x.Rows(), x.Cols(), pr.Weight.Rows, pr.Width()))
	}
	if x.Sparse != nil {
		return x.Sparse.NNZ() * pr.Width()
	}
	return x.Rows() * x.Cols() * pr.Width()
}

// AddRows adds rows lo to hi of Apply's product to out.
func (pr *Projection) AddRows(out *graph.Dense, x graph.Features, lo, hi int) {
	if x.Sparse != nil {
		for i := lo; i < hi; i++ {
			cols, vals := x.Sparse.Row(i)
			pr.row(out.Row(i), cols, vals)
		}
		return
	}
	var norms [normed]float64
	for ; lo < hi; lo += normed {
		end := min(lo+normed, hi)
		norms := norms[:end-lo]
		for k := range norms {
			norms[k] = pr.Divisor(nil, x.Dense.Row(lo+k))
		}
		if pr.diagonal {
			for i := lo; i < end; i++ {
				addDiagonal(out.Row(i), nil, x.Dense.Row(i), pr.Weight.Data)
			}
		} else {
			graph.AddProduct(out, x.Dense, pr.Weight, lo, end)
		}
		for k, norm := range norms {
			pr.finish(out.Row(lo+k), norm)
		}
	}
}

// normed is the number of dense rows that have their norms computed before they are multiplied. A norm reads its row
// from end to end, so the processor fetches it ahead. A product reads rows in pieces, which would come from memory
// more slowly, and now finds them in the second cache. It is a multiple of the rows of every tile (package tile).
const normed = 72

// row computes one row from its non-zeros; vals nil means ones. Stored zeros add 0 and change no bit.
func (pr *Projection) row(out []float32, cols []int32, vals []float32) {
	if pr.diagonal {
		addDiagonal(out, cols, vals, pr.Weight.Data)
	} else {
		graph.AddRows(out, cols, vals, pr.Weight)
	}
	pr.finish(out, pr.Divisor(cols, vals))
}

// Divisor returns the number that a row is divided by: its norm, 1 if that is 0. cols nil means all columns, vals nil
// ones. A value of 0 changes no bit of the norm: each column has its place in one of four sums, which do not wait for
// each other.
func (pr *Projection) Divisor(cols []int32, vals []float32) float64 {
	var sums [4]float64
	switch {
	case pr.kind != L2Center && pr.kind != L1:
		return 1
	case vals == nil:
		sums[0] = float64(len(cols))
	case pr.kind == L1 && cols == nil:
		for k, v := range vals {
			sums[k&3] += math.Abs(float64(v))
		}
	case pr.kind == L1:
		for p, c := range cols {
			sums[c&3] += math.Abs(float64(vals[p]))
		}
	case cols == nil:
		sums = squares(vals)
	default:
		for p, c := range cols {
			v := float64(vals[p])
			sums[c&3] += float64(v * v)
		}
	}
	sum := (sums[0] + sums[1]) + (sums[2] + sums[3])
	switch {
	case pr.kind == L1:
		return max(1, sum)
	case sum > 0:
		return math.Sqrt(sum)
	}
	return 1
}

// squares are the sums of the squares of columns 0, 4, …, of 1, 5, … and so on.
func squares(x []float32) [4]float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	sums := [4]float64{s0, s1, s2, s3}
	for k, v := range x {
		sums[k] += float64(float64(v) * float64(v))
	}
	return sums
}

// addDiagonal adds x·diag(w) to y; cols nil means all columns, vals nil ones.
func addDiagonal(y []float32, cols []int32, vals, w []float32) {
	if cols == nil {
		for k, v := range vals {
			y[k] += float32(v * w[k])
		}
	}
	for p, c := range cols {
		v := w[c]
		if vals != nil {
			v *= vals[p]
		}
		y[c] += v
	}
}

// finish divides by the norm of the raw row (a zero row stays zero) and subtracts the centre.
func (pr *Projection) finish(out []float32, norm float64) {
	if norm != 1 {
		graph.Scale(out, float32(1/norm))
	}
	graph.Axpy(out, -1, pr.Offset)
}

// Inputs are the preprocessed features of a graph's nodes, as seen through a first weight matrix.
type Inputs interface {
	// Project returns X·W, m×h, for W d×h.
	Project(w *graph.Dense) *graph.Dense
	// Matrix returns X, m×d, dense, which may be large. It may be the memory of the inputs: it must not be written to.
	Matrix() *graph.Dense
}

// Raw are the nodes of T: raw features seen through the preprocessing.
func (p *Parameters) Raw(x graph.Features) Inputs { return rawInputs{p, x} }

type rawInputs struct {
	pre *Parameters
	x   graph.Features
}

func (r rawInputs) Project(w *graph.Dense) *graph.Dense { return r.pre.Fold(w).Apply(r.x) }
func (r rawInputs) Matrix() *graph.Dense                { return r.pre.Identity(r.x.Cols()).Apply(r.x) }

// Ready are nodes whose features are preprocessed already: X' of S.
func Ready(x *graph.Dense) Inputs { return readyInputs{x} }

type readyInputs struct{ x *graph.Dense }

func (r readyInputs) Project(w *graph.Dense) *graph.Dense {
	if r.x.Cols != w.Rows {
		panic(fmt.Sprintf("infer: features of %d×%d for weights of %d×%d", r.x.Rows, r.x.Cols, w.Rows, w.Cols))
	}
	return graph.MulDense(r.x, w)
}

func (r readyInputs) Matrix() *graph.Dense { return r.x }

// MaxFeature is the largest magnitude of a feature that is trained with and predicted: the square of one is far from
// where float32 ends, so that a sum of them through a model is a number. An arrival beyond it would make NaN of its
// neighbours in a graph batch, too.
const MaxFeature = 1e15

// CheckMagnitude refuses a feature beyond [MaxFeature], and NaN. Consumers and trainers of every engine ask it.
func CheckMagnitude[F float32 | float64](v F) error {
	if v >= -MaxFeature && v <= MaxFeature {
		return nil
	}
	return fmt.Errorf("%v, features must be at most %g in magnitude", v, float64(MaxFeature))
}
