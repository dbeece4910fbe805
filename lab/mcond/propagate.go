package mcond

import "math"

// propagation computes Z = Â'²X' on the synthetic graph, and keeps the values for its gradient.
type propagation[F number] struct {
	inv  []F        // m: D'^-½, D' = 1 + A'1
	hat  *matrix[F] // m×m: Â'
	u, z *matrix[F] // m×p: Â'X', Â'²X'

	du, dHat *matrix[F] // work space: m×p, m×m
}

func newPropagation[F number](m, p int) *propagation[F] {
	return &propagation[F]{inv: make([]F, m), hat: newMatrix[F](m, m), u: newMatrix[F](m, p), z: newMatrix[F](m, p),
		du: newMatrix[F](m, p), dHat: newMatrix[F](m, m)}
}

// forward sets s.z from A' (symmetric, zero diagonal) and X'.
func (s *propagation[F]) forward(adj, x *matrix[F]) {
	for i := range s.inv {
		d := 1.0
		for _, v := range adj.row(i) {
			d += float64(v)
		}
		s.inv[i] = F(1 / math.Sqrt(d))
	}
	for i := range s.inv {
		hat, row := s.hat.row(i), adj.row(i)
		for j := range hat {
			v := row[j]
			if i == j {
				v++
			}
			hat[j] = s.inv[i] * v * s.inv[j]
		}
	}
	gemm(plain, plain, 1, s.hat, x, 0, s.u)
	gemm(plain, plain, 1, s.hat, s.u, 0, s.z)
}

// backward takes dz = ∂L/∂Z, sets dx = ∂L/∂X' and dAdj = ∂L/∂A' (each entry on its own). With q = D'^-½ and B = A'
// + I,
//
//	∂L/∂Â = Z̄Uᵀ + ŪX'ᵀ,  Ū = ÂZ̄,  X̄ = ÂŪ        Ā_ij = q_i q_j Â̄_ij − ½ q_i² Σ_k (Â̄_ik + Â̄_ki) Â_ik
func (s *propagation[F]) backward(x, dz, dx, dAdj *matrix[F]) {
	gemm(plain, plain, 1, s.hat, dz, 0, s.du)
	gemm(plain, plain, 1, s.hat, s.du, 0, dx)
	gemm(plain, transposed, 1, dz, s.u, 0, s.dHat)
	gemm(plain, transposed, 1, s.du, x, 1, s.dHat)
	for i := range s.inv {
		through := F(0) // the degree's share
		row, hat := s.dHat.row(i), s.hat.row(i)
		for k := range row {
			through += (row[k] + s.dHat.row(k)[i]) * hat[k]
		}
		through *= -s.inv[i] * s.inv[i] / 2
		out := dAdj.row(i)
		for j := range out {
			out[j] = s.inv[i]*s.inv[j]*row[j] + through
		}
	}
}
