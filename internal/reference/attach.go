package reference

// AHat returns Â(B) = D̃^-½ (B+I) D̃^-½, D̃ the row sums of B+I.
func AHat(b Matrix) Matrix {
	loops := b.Plus(1, At(len(b), len(b), func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	}))
	d := loops.RowSums()
	return At(len(b), len(b), func(i, j int) float64 { return invSqrt(d[i]) * loops[i][j] * invSqrt(d[j]) })
}

// Arrivals are a batch of n, attached to a graph of m nodes.
type Arrivals struct {
	R      Matrix    // n×m: a on T, r = aM on S
	Among  Matrix    // n×n ã; zeros in a node batch
	X      Matrix    // n×d, preprocessed
	Degree []float64 // n: deg_i, true edges whatever the weights in R
}

// OnT attaches arrivals to T: a n×N 0/1, ã n×n 0/1 symmetric, x n×d.
func OnT(a, among, x Matrix) Arrivals {
	deg := a.RowSums()
	for i, s := range among.RowSums() {
		deg[i] += s
	}
	return Arrivals{R: a, Among: among, X: x, Degree: deg}
}

// OnS attaches arrivals to S through M (N×N'): r = aM; degrees still count true edges.
func OnS(a, mapping, among, x Matrix) Arrivals {
	batch := OnT(a, among, x)
	batch.R = a.Mul(mapping)
	return batch
}

// Alone is arrival i of a batch on T, by itself: its edges to other arrivals are gone.
func (b Arrivals) Alone(i int) Arrivals {
	return OnT(Matrix{b.R[i]}, New(1, 1), Matrix{b.X[i]})
}

// Grow is T with arrival i of a batch on T as its last node.
func (b Arrivals) Grow(graph, x Matrix, i int) (grown, features Matrix) {
	one := b.Alone(i)
	return Attached(graph, one), x.Stack(one.X)
}

// d returns D_i = deg_i + 1.
func (b Arrivals) d() []float64 { return plusOne(b.Degree) }

// Attached returns 𝔸 = [[B, Rᵀ],[R, ã]], (m+n)×(m+n) (paper's Eq. 11).
func Attached(graph Matrix, b Arrivals) Matrix {
	m, n := len(graph), len(b.R)
	return At(m+n, m+n, func(i, j int) float64 {
		switch {
		case i < m && j < m:
			return graph[i][j]
		case i < m:
			return b.R[j-m][i]
		case j < m:
			return b.R[i-m][j]
		default:
			return b.Among[i-m][j-m]
		}
	})
}

// ClosesTriangle tells whether two neighbours in R of arrival i are adjacent in the graph.
func (b Arrivals) ClosesTriangle(graph Matrix, i int) bool {
	for j, rj := range b.R[i] {
		for k, rk := range b.R[i] {
			if rj != 0 && rk != 0 && graph[j][k] != 0 {
				return true
			}
		}
	}
	return false
}
