package mcond

import (
	"math/rand/v2"

	"rivulet/graph"
)

// rowFloor is subtracted from every normalised entry of M, so that the ReLU can make it zero (the paper's Eq. 15).
const rowFloor = 1e-5

// startMapping returns the raw M before training, N×m: if class-aware, 1 if the classes of node and synthetic node
// agree and 0 otherwise, also for unlabelled nodes; or uniform in [0, 1).
func startMapping[F number](labels, synthetic []int32, random bool, rng *rand.Rand) *matrix[F] {
	raw := newMatrix[F](len(labels), len(synthetic))
	for i, y := range labels {
		for k, c := range synthetic {
			switch {
			case random:
				raw.row(i)[k] = F(rng.Float64())
			case y >= 0 && y == c:
				raw.row(i)[k] = 1
			}
		}
	}
	return raw
}

// normaliser computes M = ReLU(σ(raw)/Σσ(raw) − 1e-5) by rows, and its gradient.
type normaliser[F number] struct {
	out *matrix[F] // N×m
	sum []F        // N: Σσ(raw)
}

func newNormaliser[F number](n, m int) *normaliser[F] {
	return &normaliser[F]{newMatrix[F](n, m), make([]F, n)}
}

// forward sets out from the raw M.
func (z *normaliser[F]) forward(raw *matrix[F]) {
	graph.ParallelRows(raw.rows, 16*len(raw.data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out := z.out.row(i)
			sum := F(0)
			for k, v := range raw.row(i) {
				out[k] = sigmoid(v)
				sum += out[k]
			}
			z.sum[i] = sum
			for k := range out {
				out[k] = max(0, out[k]/sum-rowFloor)
			}
		}
	})
}

// backward turns grad from ∂L/∂M into ∂L/∂raw. With s = σ(raw), S = Σs and ḡ = ∂L/∂M if M > 0, else 0,
//
//	∂L/∂s_k = (ḡ_k − Σ_j ḡ_j s_j/S)/S,   ∂L/∂raw_k = ∂L/∂s_k · s_k(1 − s_k)
func (z *normaliser[F]) backward(raw, grad *matrix[F]) {
	graph.ParallelRows(raw.rows, 16*len(raw.data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g, out, sum := grad.row(i), z.out.row(i), z.sum[i]
			mean := F(0)
			for k, v := range out {
				if v <= 0 {
					g[k] = 0
					continue
				}
				mean += g[k] * (v + rowFloor)
			}
			for k, v := range out {
				var s F
				if v > 0 {
					s = (v + rowFloor) * sum
				} else {
					s = sigmoid(raw.row(i)[k])
				}
				g[k] = (g[k] - mean) * s / sum * (1 - s)
			}
		}
	})
}
