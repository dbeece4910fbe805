package mcond

import (
	"math"
	"math/rand/v2"

	"rivulet/trainer/descent"
)

// relay is the SGC whose gradients are matched and through whose logits M is learned: drawn anew every outer round,
// then trained on S alone by a few Adam steps after every step of S.
type relay[F number] struct {
	w    *matrix[F] // Wᵀ, C×p
	b    []F        // C
	flat []F        // w and b
	grad []F
	adam *descent.Adam[F]
	work *matrix[F] // m×C
}

func newRelay[F number](m, p, classes int) *relay[F] {
	n := classes * (p + 1)
	r := &relay[F]{flat: make([]F, n), grad: make([]F, n), adam: descent.NewAdam[F](n), work: newMatrix[F](m, classes)}
	r.w, r.b = view(r.flat, classes, p), r.flat[classes*p:]
	return r
}

// draw starts the relay: W uniform in ±1/√p, b = 0.
func (r *relay[F]) draw(rng *rand.Rand) {
	bound := 1 / math.Sqrt(float64(r.w.cols))
	for k := range r.w.data {
		r.w.data[k] = F(bound * (2*rng.Float64() - 1))
	}
	clear(r.b)
	r.adam.Reset()
}

// logits sets out = ZW + b.
func (r *relay[F]) logits(z, out *matrix[F]) {
	gemm(plain, transposed, 1, z, r.w, 0, out)
	addBias(out, r.b)
}

// errors sets out = softmax(ZW + b) − onehot and returns the summed cross-entropy.
func (r *relay[F]) errors(z *matrix[F], labels []int32, out *matrix[F]) float64 {
	r.logits(z, out)
	return crossEntropyErrors(out, labels)
}

// train takes Adam steps on the mean cross-entropy of S (Z' m×p and its classes).
func (r *relay[F]) train(z *matrix[F], labels []int32, steps int) {
	share := 1 / F(z.rows)
	dw, db := view(r.grad, r.w.rows, r.w.cols), r.grad[len(r.w.data):]
	for range steps {
		r.errors(z, labels, r.work)
		gemm(transposed, plain, share, r.work, z, 0, dw)
		clear(db)
		for i := range r.work.rows {
			axpy(db, share, r.work.row(i))
		}
		r.adam.Step(r.flat, r.grad, rateRelay, 0)
	}
}
