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
	return At(len(b), len(b), func(i, j int) float64 { return InvSqrt(d[i]) * loops[i][j] * InvSqrt(d[j]) })
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

// Counted returns edges each of which counts as at most the heaviest of T: as frozen tables of models with D^-½ read
// them. It is for OnT and OnS.
func Counted(a Matrix, heaviest float64) Matrix {
	return At(len(a), a.Cols(), func(i, j int) float64 { return min(a[i][j], heaviest) })
}

// OnS attaches arrivals to S through M (N×N'): r = aM; degrees still count true edges.
func OnS(a, mapping, among, x Matrix) Arrivals {
	batch := OnT(a, among, x)
	batch.R = a.Mul(mapping)
	return batch
}

// D returns D_i = deg_i + 1.
func (b Arrivals) D() []float64 { return Each(b.Degree, func(v float64) float64 { return v + 1 }) }
