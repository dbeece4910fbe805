package fit

import (
	"fmt"
	"math"

	"rivulet/graph"
)

// OperatorOf is P, by which a model's layers read the neighbours in a graph B with weights ≥ 0 and without self-loops:
//
//	sgc, gcn, appnp   Â(B) = D̃^-½ (B+I) D̃^-½      D̃ = row sums of B+I
//	sage              D^-1 B                        D = row sums of B; 1/0 = 0
//	cheby             D^-½ B D^-½ = −L̂              so that the weight on neighbours is −W[1] of [infer.Cheby]
//
// A model that is none of these panics.
func OperatorOf(model string, adj *graph.CSR) *graph.CSR {
	switch model {
	case "sgc", modelGCN, modelAPPNP:
		return graph.Normalised(adj)
	case modelSAGE:
		return scaledEdges(adj, inversePower(adj, 1), nil)
	case modelCheby:
		inv := inversePower(adj, 0.5)
		return scaledEdges(adj, inv, inv)
	}
	panic(fmt.Sprintf("fit: no operator of model %q", model))
}

// inversePower are D^-power, 0 where D is.
func inversePower(adj *graph.CSR, power float64) []float32 {
	out := adj.RowSums()
	for i, d := range out {
		if d > 0 {
			out[i] = float32(math.Pow(float64(d), -power))
		}
	}
	return out
}

// scaledEdges is diag(left)·B·diag(right); right nil is the identity.
func scaledEdges(b *graph.CSR, left, right []float32) *graph.CSR {
	out := &graph.CSR{Rows: b.Rows, Cols: b.Cols, RowPtr: b.RowPtr, ColIdx: b.ColIdx, Val: make([]float32, b.NNZ())}
	for i := range b.Rows {
		for p := b.RowPtr[i]; p < b.RowPtr[i+1]; p++ {
			v := left[i]
			if b.Val != nil {
				v *= b.Val[p]
			}
			if right != nil {
				v *= right[b.ColIdx[p]]
			}
			out.Val[p] = v
		}
	}
	return out
}
