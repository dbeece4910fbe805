package mcond

import (
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/trainer/features"
)

const (
	// extraDirections are computed besides the wanted ones, so that the last of these converge (see
	// [features.Principal]).
	extraDirections = 10
	// basisPasses over XᵀX: each sharpens the basis by the square of the ratio of singular values.
	basisPasses = 3
)

// principalBasis returns V (d×p'), the p' ≤ p leading right singular vectors of pre(X), orthonormal: subspace
// iteration from a random start. nil if pre(X) has no more than p columns: the features are not reduced.
func principalBasis(x *features.FactoredFeatures, p int, rng *rand.Rand) *graph.Dense {
	d := x.Raw.Cols()
	if p <= 0 || d <= p {
		return nil
	}
	v := graph.NewDense(d, min(d, p+extraDirections))
	for k := range v.Data {
		v.Data[k] = float32(rng.NormFloat64())
	}
	f := x.Design()
	v, _ = features.Principal(f.Forward, f.Adjoint, v, basisPasses, p)
	return v
}
