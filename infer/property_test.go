package infer_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
)

// checkRows holds the predictions of a batch made of some arrivals to what the whole batch got for them.
func checkRows(t fatal, what string, p *infer.Predictor, whole, part *attach.Batch, rows []int32) {
	t.Helper()
	logits, probabilities := p.Predict(whole)
	checkAgainst(t, what, p, logits, probabilities, part, rows)
}

// checkAgainst is checkRows with the answers to the whole batch at hand.
func checkAgainst(t fatal, what string, p *infer.Predictor, wantLogits, want *graph.Dense, part *attach.Batch,
	rows []int32) {
	t.Helper()
	gotLogits, got := p.Predict(part)
	for k, i := range rows {
		sameBits(t, fmt.Sprintf("%s: logits of arrival %d", what, i), gotLogits.Row(k), wantLogits.Row(int(i)))
		sameBits(t, fmt.Sprintf("%s: probabilities of arrival %d", what, i), got.Row(k), want.Row(int(i)))
	}
}

func what(p *infer.Predictor) string { return fmt.Sprintf("%T %s", p.Model, p.Calibration.Kind) }

// drawRows draws arrivals of a batch, in any order, some perhaps twice.
func drawRows(t *rapid.T, n int) []int32 {
	if n == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.Int32Range(0, int32(n-1)), 0, 2*n).Draw(t, "rows")
}

// Section 2: in a node batch a frozen prediction depends on its own arrival alone, bit for bit.
func TestSection2NodeBatchBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rows := drawRows(t, len(w.a))
		for _, side := range []string{"T", "S"} {
			whole := w.batch(side, false)
			for _, p := range w.frozen(side) {
				checkRows(t, side+" "+what(p), p, whole, take(whole, rows), rows)
			}
		}
	})
}

// The same where batches are large enough to be computed on several goroutines.
func TestSection2NodeBatchBitsInLargeBatches(t *testing.T) {
	const n = 1000
	b, p := flickr(n)
	predictors := []*infer.Predictor{p}
	for _, m := range benchModels(64) {
		predictors = append(predictors, plainly(m.frozen))
	}
	for _, p := range predictors {
		logits, probabilities := p.Predict(b)
		for lo := 0; lo < n; {
			hi := min(n, lo+1+lo/3) // 1, 1, 1, 2, … 250
			rows := make([]int32, hi-lo)
			for k := range rows {
				rows[k] = int32(hi - 1 - k)
			}
			checkAgainst(t, what(p), p, logits, probabilities, take(b, rows), rows)
			lo = hi
		}
	}
}

// components numbers the connected components of ã.
func components(adj *graph.CSR) []int {
	of := make([]int, adj.Rows)
	count := 0
	var visit func(i int)
	visit = func(i int) {
		of[i] = count
		cols, _ := adj.Row(i)
		for _, j := range cols {
			if of[j] == 0 {
				visit(int(j))
			}
		}
	}
	for i := range of {
		if of[i] == 0 {
			count++
			visit(i)
		}
	}
	return of
}

// Section 2: in a graph batch a frozen prediction depends on its connected component of ã alone: bit for bit while
// the rows of ã list neighbours in the same order, to rounding otherwise.
func TestSection2GraphBatchComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		whole := w.batch("S", true)
		of := components(whole.Adj)
		keep := rapid.SliceOfN(rapid.Bool(), len(of)+1, len(of)+1).Draw(t, "components")
		var rows []int32
		for _, i := range permutation(t, whole.Len()) {
			if keep[of[i]] {
				rows = append(rows, i)
			}
		}
		for _, p := range w.frozen("S") {
			part := take(whole, rows)
			checkRows(t, what(p), p, whole, part, rows)

			part.Adj.SortRows()
			_, want := p.Predict(whole)
			_, got := p.Predict(part)
			nearRows(t, what(p)+" with sorted neighbours", got, want.Take(rows))
		}
	})
}

func permutation(t *rapid.T, n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rapid.Permutation(rows).Draw(t, "order")
}

// nearRows holds probabilities to probabilities, to rounding.
func nearRows(t fatal, what string, got, want *graph.Dense) {
	t.Helper()
	for k, v := range want.Data {
		if d := got.Data[k] - v; !(d < 1e-4 && d > -1e-4) {
			t.Fatalf("%s: row %d, column %d is %v, want %v", what, k/want.Cols, k%want.Cols, got.Data[k], v)
		}
	}
}

// Permuting a batch permutes its predictions, joint and frozen.
func TestPermutedBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		order := permutation(t, len(w.a))
		for _, side := range []string{"T", "S"} {
			for _, graphBatch := range []bool{false, true} {
				whole := w.batch(side, graphBatch)
				permuted := take(whole, order)
				if graphBatch {
					permuted.Adj.SortRows()
				}
				for _, p := range append(w.joint(side), w.frozen(side)...) {
					_, want := p.Predict(whole)
					_, got := p.Predict(permuted)
					nearRows(t, side+" "+what(p), got, want.Take(order))
				}
			}
		}
	})
}

// Section 2: on T, frozen in a node batch is each arrival joined alone, exact where no two of its neighbours are
// adjacent.
func TestSection2JointAloneEqualsFrozenOnT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for i := range w.a { // drop edges that close a triangle
			for j, e := range w.a[i] {
				for k := range j {
					if e != 0 && w.a[i][k] != 0 && w.adj[j][k] != 0 {
						w.a[i][j] = 0
					}
				}
			}
		}
		adj, x, _, _, _ := w.graph("T")
		m, pre := w.sgc(), w.preprocess()
		frozen, joint := m.Frozen(m.Tables(adj, x), pre), m.Joint(adj, x, pre)
		whole := w.batch("T", false)
		got := frozen.Logits(whole)
		for i := range w.a {
			row := []int32{int32(i)}
			alone := joint.Logits(take(whole, row))
			near(t, fmt.Sprintf("arrival %d", i), got.Take(row), [][]float64{float64s(alone.Row(0))}, 1e-5*w.magnitude())
		}
	})
}

func float64s(s []float32) []float64 {
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = float64(v)
	}
	return out
}

// Dense and sparse rows of the same features give the same bits.
func TestDenseAndSparseFeaturesGiveTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		asDense := w.batch("S", true)
		asDense.X = w.rows(w.arrivals, false)
		var rows []int32
		for i := range w.a {
			rows = append(rows, int32(i))
		}
		for _, p := range append(w.frozen("S"), w.joint("S")...) {
			checkRows(t, what(p), p, w.batch("S", true), asDense, rows)
		}
	})
}
