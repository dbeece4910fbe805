package infer_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/nnls"
	"rivulet/test/reference"
)

// drawMessages are parts for tables: factors for the hidden layer's, scales for the others.
func drawMessages(rng *rand.Rand, t *infer.Tables) growth.Messages {
	factor := func(width int) *graph.Dense {
		return dense(reference.At(width, 1+rng.IntN(3), func(_, _ int) float64 { return rng.NormFloat64() }))
	}
	m := growth.Messages{C: growth.Part{Scale: rng.Float32()}, Slots: []float32{1}}
	for range t.U {
		m.U = append(m.U, growth.Part{Scale: rng.Float32()})
	}
	if t.C.Cols > 1 {
		m.U[0], m.C = growth.Part{Factor: factor(t.U[0].Cols)}, growth.Part{Factor: factor(t.C.Cols)}
	}
	return m
}

// Section 5, step 3: parts from the last table to the first and c's after them, less the class mean where there is no
// factor.
func TestSection5MessagesOfTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "parts"), 0))
		for _, c := range w.candidates {
			if infer.Freezable(c.own) != nil {
				continue
			}
			exact := c.oracle.Tables(w.adj, w.fit.Apply(w.x))
			of := drawMessages(rng, tables(exact))
			factor := rng.Float32()
			part := func(p growth.Part, table reference.Matrix, centre bool) reference.Matrix {
				if p.Factor != nil {
					return table.Mul(reference.At(p.Factor.Rows, p.Factor.Cols, func(i, k int) float64 {
						return float64(p.Factor.Row(i)[k])
					}))
				}
				means := table.RowSums()
				return reference.At(len(table), table.Cols(), func(i, k int) float64 {
					if centre {
						return float64(p.Scale) * (table[i][k] - means[i]/float64(table.Cols()))
					}
					return float64(p.Scale) * table[i][k]
				})
			}
			var blocks []reference.Matrix
			for k := len(of.U) - 1; k >= 0; k-- {
				blocks = append(blocks, part(of.U[k], exact.U[k], true))
			}
			want := beside(append(blocks, part(of.C, exact.C, false))...).Times(float64(factor))
			of.Times(factor)
			terms := largest(exact.C)
			for _, u := range exact.U {
				terms = max(terms, largest(u))
			}
			near(t, c.name, of.Of(tables(exact)), want, 20*oracleTol*terms)
		}
	})
}

// Rows are those of the solver for all models' messages side by side, and in a node batch the same bits in any company.
func TestGrowSolvesAllModelsAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "parts"), 0))
		b := w.batch("S", false)
		var models []growth.Model
		var targets reference.Matrix
		for _, c := range w.candidates {
			if infer.Freezable(c.own) != nil {
				continue
			}
			onS := tables(w.oracleTables("S", c.oracle.Tables(w.adj, w.fit.Apply(w.x))))
			m := growth.Model{Frozen: c.own.Frozen(onS, w.preprocess()).(infer.Growable), Messages: drawMessages(rng, onS)}
			own := m.Messages.Of(infer.ArrivedTables(m.Frozen, b, []float32{1}))
			block := reference.At(own.Rows, own.Cols, func(i, k int) float64 { return float64(own.Row(i)[k]) })
			if b.Len() > 0 {
				targets = append(targets, block.T()...)
			}
			models = append(models, m)
		}
		if b.Len() == 0 {
			return
		}
		targets = targets.T()
		dictionary := dense(reference.At(w.mapping.Cols(), targets.Cols(), func(_, _ int) float64 {
			return rng.NormFloat64()
		}))
		g := growth.NewGrower(dictionary, 3, models, graph.Slots{})
		got := g.Grow(b)
		want := nnls.NewSolver(dictionary, 3).Rows(dense(targets))
		for i := range b.Len() {
			row := got.Row(i)
			cols, vals := want.Row(i)
			sameBits(t, "weights", row.Vals, vals)
			if !row.Known || len(row.Cols) != len(cols) || !(got.Left[i] >= 0 && got.Left[i] <= 1) {
				t.Fatalf("arrival %d: row %+v of columns %v, left %v", i, row, cols, got.Left[i])
			}
			at := []int32{int32(i)}
			alone := g.Grow(&attach.Batch{X: b.X.Take(at), R: b.R.Take(at), Known: b.Known[i : i+1]})
			sameBits(t, "weights alone", alone.Row(0).Vals, row.Vals)
		}
	})
}
