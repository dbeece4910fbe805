package infer_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/test/reference"
)

// arrivedRelus is a model whose arrived tables hold relus: ArrivedMet are their inputs.
type arrivedRelus interface {
	ArrivedMet(t reference.Tables, b reference.Arrivals) reference.Matrix
}

// nearTables holds tables to the oracle's; where met is 0 to rounding, either side of the relu is right.
func nearTables(t fatal, what string, got *infer.Tables, want reference.Tables, met reference.Matrix, tol float64) {
	t.Helper()
	if len(got.U) != len(want.U) {
		t.Fatalf("%s: %d tables, want %d", what, len(got.U), len(want.U))
	}
	for hop, u := range got.U {
		near(t, fmt.Sprintf("%s u%d", what, hop), u, want.U[hop], tol)
	}
	for j, p := range met {
		for k, v := range p {
			if math.Abs(v) < tol {
				want.C[j][k] = float64(got.C.Row(j)[k])
			}
		}
	}
	near(t, what+" c", got.C, want.C, oracleTol)
}

// Section 2 with the arrival for node j, on T and on S, in node and graph batches.
func TestSection2ArrivedAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, side := range []string{"T", "S"} {
			for _, c := range w.candidates {
				if infer.Freezable(c.own) != nil {
					continue
				}
				exact := w.oracleTables(side, c.oracle.Tables(w.adj, w.fit.Apply(w.x)))
				frozen := c.own.Frozen(tables(exact), w.preprocess()).(infer.Growable)
				for _, graphBatch := range []bool{false, true} {
					b := w.oracle(side, graphBatch)
					tol := w.tolerance(c, w.fit.Apply(w.x)) + c.gain*w.readTolerance(c, exact, b)
					var met reference.Matrix
					if m, ok := c.oracle.(arrivedRelus); ok {
						met = m.ArrivedMet(exact, b)
					}
					nearTables(t, c.name+" on "+side, infer.ArrivedTables(frozen, w.batch(side, graphBatch), []float32{1}),
						c.oracle.(Growing).Arrived(exact, b), met, tol)
				}
			}
		}
	})
}

// On T itself an arrival's own tables are its row of Network.Tables of T with the arrival in it: exactly, but for
// hops beyond u1, or u2 where the arrival closes no triangle, whose longer walks are those of T without the arrival,
// and for layers beyond the first, where what comes back is linearised.
func TestSection2ArrivedIsTheGrownGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		x := w.fit.Apply(w.x)
		b := w.oracle("T", false)
		for _, c := range w.candidates {
			if infer.Freezable(c.own) != nil {
				continue
			}
			exact := c.oracle.Tables(w.adj, x)
			frozen := c.own.Frozen(tables(exact), w.preprocess()).(infer.Growable)
			got := infer.ArrivedTables(frozen, w.batch("T", false), []float32{1})
			tol := w.tolerance(c, x) + c.gain*w.readTolerance(c, exact, b)
			for i := range b.R {
				grown, features := withArrival(b, w.adj, x, i)
				want := c.oracle.Tables(grown, features)
				last := reference.Tables{C: want.C[len(want.C)-1:]}
				own := &infer.Tables{C: got.C.Take([]int32{int32(i)})}
				hops := min(len(want.U), 2)
				if !c.own.Architecture.Convolves() && len(want.U) > 2 && !closesTriangle(b, w.adj, i) {
					hops = 3
				}
				if width := c.own.Hidden(); c.own.Architecture.Convolves() {
					last.C, own.C.Cols, own.C.Data = reference.Matrix{last.C[0][:width]}, width, own.C.Data[:width]
				}
				for hop := range hops {
					last.U = append(last.U, want.U[hop][len(grown)-1:])
					own.U = append(own.U, got.U[hop].Take([]int32{int32(i)}))
				}
				var met reference.Matrix
				if m, ok := c.oracle.(relus); ok {
					met = reference.Matrix{m.Met(grown, features)[len(grown)-1][:c.own.Hidden()]}
				}
				nearTables(t, fmt.Sprintf("%s, arrival %d", c.name, i), own, last, met, tol)
			}
		}
	})
}

// In a node batch the tables of an arrival are the same bits in any company.
func TestArrivedIsIndependentOfTheBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		b := w.batch("S", false)
		for _, c := range w.candidates {
			if infer.Freezable(c.own) != nil {
				continue
			}
			onS := tables(w.oracleTables("S", c.oracle.Tables(w.adj, w.fit.Apply(w.x))))
			frozen := c.own.Frozen(onS, w.preprocess()).(infer.Growable)
			together := infer.ArrivedTables(frozen, b, []float32{1})
			for i := range b.Len() {
				at := []int32{int32(i)}
				one := &attach.Batch{X: b.X.Take(at), R: b.R.Take(at), Known: b.Known[i : i+1]}
				alone := infer.ArrivedTables(frozen, one, []float32{1})
				for hop, u := range alone.U {
					sameBits(t, fmt.Sprintf("%s u%d", c.name, hop), u.Data, together.U[hop].Row(i))
				}
				sameBits(t, c.name+" c", alone.C.Data, together.C.Row(i))
			}
		}
	})
}
