package reference

import "fmt"

// Ridge is the strength of the ridge of [RidgeTables], relative to the mean of the diagonal.
const Ridge = 1e-4

// RidgeTables are the tables of S for a fixed M (N×N') by section 5, step 4, for every table U of T:
//
//	U' = (MᵀwM + 1e-4·mean diag·I)⁻¹ MᵀwU    w_j = deg_j + 0.1
func RidgeTables(graph, mapping Matrix, t Tables) Tables {
	w := Each(graph.RowSums(), func(deg float64) float64 { return deg + 0.1 })
	mtw := mapping.Scale(w).T()
	gram := mtw.Mul(mapping)
	mean := 0.0
	for k := range gram {
		mean += gram[k][k] / float64(len(gram))
	}
	for k := range gram {
		gram[k][k] += Ridge * mean
	}
	solve := func(u Matrix) Matrix {
		x, ok := Solve(gram, mtw.Mul(u))
		if !ok {
			panic(fmt.Sprintf("reference: MᵀwM of %d synthetic nodes is singular: M is zero", len(gram)))
		}
		return x
	}
	out := Tables{}
	for _, u := range t.U {
		out.U = append(out.U, solve(u))
	}
	if t.C != nil {
		out.C = solve(t.C)
	}
	return out
}
