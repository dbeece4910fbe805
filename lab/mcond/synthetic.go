package mcond

// synthetic computes Z' = Â'²X' from X' and the MLP's weights, and the gradients back.
type synthetic[F number] struct {
	affinity    *affinity[F]
	propagation *propagation[F]
	dAdj        *matrix[F] // m×m
	dx          *matrix[F] // m×p: ∂L/∂X' after backward
	alone       bool       // A' stays without edges: Z' = X'
}

func newSynthetic[F number](m, p, h int) *synthetic[F] {
	return &synthetic[F]{affinity: newAffinity[F](m, h), propagation: newPropagation[F](m, p),
		dAdj: newMatrix[F](m, m), dx: newMatrix[F](m, p)}
}

func (s *synthetic[F]) adj() *matrix[F] { return s.affinity.adj }
func (s *synthetic[F]) z() *matrix[F]   { return s.propagation.z }

func (s *synthetic[F]) forward(w *weights[F], x *matrix[F]) {
	if !s.alone {
		s.affinity.forward(w, x)
	}
	s.propagation.forward(s.adj(), x)
}

// backward takes ∂L/∂Z' to dx and, if dw is not nil, to the weights' gradient. Call it once after each forward.
func (s *synthetic[F]) backward(w *weights[F], x, dz *matrix[F], dw *weights[F]) {
	s.propagation.backward(x, dz, s.dx, s.dAdj)
	if !s.alone {
		s.affinity.backward(w, x, s.dAdj, s.dx, dw)
	}
}
