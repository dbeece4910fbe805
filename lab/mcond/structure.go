package mcond

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"rivulet/graph"
)

// pair holds two nodes of T and whether an edge joins them.
type pair struct {
	i, j int32
	edge bool
}

// drawPairs draws edges edges of T and as many pairs of distinct nodes, uniformly; a drawn pair may be an edge and
// then counts as one. A graph without edges gives only the pairs; one of fewer than two nodes, nothing.
func drawPairs(rng *rand.Rand, adj *graph.CSR, edges int, into []pair) []pair {
	into = into[:0]
	if adj.Rows < 2 {
		return into
	}
	for range edges {
		if adj.NNZ() > 0 {
			k := rng.IntN(adj.NNZ())
			i := sort.Search(adj.Rows, func(r int) bool { return adj.RowPtr[r+1] > k })
			into = append(into, pair{int32(i), adj.ColIdx[k], true})
		}
		i, j := rng.IntN(adj.Rows), rng.IntN(adj.Rows-1)
		if j >= i {
			j++
		}
		cols, _ := adj.Row(i)
		_, edge := slices.BinarySearch(cols, int32(j))
		into = append(into, pair{int32(i), int32(j), edge})
	}
	return into
}

// structure is L_str (the paper's Eq. 8, with its missing negative term): mean binary cross-entropy of σ(H̃_i·H̃_j)
// on drawn pairs of T, H̃ = MH' in logits, H' = Z'W + b.
type structure[F number] struct {
	left, right   *matrix[F] // pairs×C: H̃ of both ends
	h, dh         *matrix[F] // m×C
	dleft, dright []F        // C
}

func newStructure[F number](m, classes int) *structure[F] {
	return &structure[F]{h: newMatrix[F](m, classes), dh: newMatrix[F](m, classes), dleft: make([]F, classes),
		dright: make([]F, classes)}
}

// loss returns L_str and adds λ·∂L_str/∂Z' to dz. mapping is the normalised M, N×m.
func (s *structure[F]) loss(z *matrix[F], r *relay[F], mapping *matrix[F], pairs []pair, lambda F,
	dz *matrix[F]) float64 {
	if len(pairs) == 0 {
		return 0
	}
	if s.left == nil || s.left.rows != len(pairs) {
		s.left, s.right = newMatrix[F](len(pairs), s.h.cols), newMatrix[F](len(pairs), s.h.cols)
	}
	r.logits(z, s.h)
	clear(s.dh.data)
	share, loss := lambda/F(len(pairs)), 0.0
	for p, e := range pairs {
		mi, mj := mapping.row(int(e.i)), mapping.row(int(e.j))
		hi, hj := s.left.row(p), s.right.row(p)
		combine(hi, mi, s.h)
		combine(hj, mj, s.h)
		score := float64(dot(hi, hj))
		d := 1 / (1 + math.Exp(-score))
		loss += softplus(score)
		if e.edge {
			loss -= score
			d--
		}
		for k := range hi {
			s.dleft[k], s.dright[k] = share*F(d)*hj[k], share*F(d)*hi[k]
		}
		for k := range mi {
			if mi[k] != 0 {
				axpy(s.dh.row(k), mi[k], s.dleft)
			}
			if mj[k] != 0 {
				axpy(s.dh.row(k), mj[k], s.dright)
			}
		}
	}
	gemm(plain, plain, 1, s.dh, r.w, 1, dz)
	return loss / float64(len(pairs))
}

// combine sets out = Σ_k weights_k·h_k.
func combine[F number](out, weights []F, h *matrix[F]) {
	clear(out)
	for k, w := range weights {
		if w != 0 {
			axpy(out, w, h.row(k))
		}
	}
}

// softplus returns log(1 + eˣ).
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
