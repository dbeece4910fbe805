// Package tables gives S the frozen tables that make attachment through M read like attachment to T.
package tables

import (
	"cmp"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer"
)

// ridge is the share of the mean diagonal of MᵀwM that is added to it.
const ridge = 1e-4

// MeetingWeights are w_j = deg_j + 0.1: how often an arrival meets node j (docs/algorithm.md, section 5).
func MeetingWeights(adj *graph.CSR) []float32 { return WeightsOf(adj.RowSums()) }

// WeightsOf returns the weights of [MeetingWeights] for nodes of these degrees, in the memory of the degrees.
func WeightsOf(degrees []float32) []float32 {
	for j := range degrees {
		degrees[j] += 0.1
	}
	return degrees
}

// Fitter computes tables of S for a fixed M: U' = (MᵀwM + 1e-4·mean diag·I)⁻¹ MᵀwU (docs/algorithm.md, section 5,
// step 4).
type Fitter struct {
	m      *graph.CSR // N×N'
	w      []float32  // N
	factor mat.Cholesky
}

// NewFitter factors the normal equations of M (N×N') under the weights w (N).
func NewFitter(m *graph.CSR, w []float32) (*Fitter, error) {
	f := &Fitter{m: m, w: w}
	return f, f.factorize(normalEquations(m, w))
}

// factorize takes the normal equations with their ridge.
func (f *Fitter) factorize(normal *mat.SymDense) error {
	n := normal.SymmetricDim()
	shift := ridge * mat.Trace(normal) / float64(n)
	if shift == 0 {
		return errors.New("tables of S: the mapping M has no entries")
	}
	for i := range n {
		normal.SetSym(i, i, normal.At(i, i)+shift)
	}
	if !f.factor.Factorize(normal) {
		return fmt.Errorf("tables of S: the normal equations of M (%d columns) are not positive definite", n)
	}
	return nil
}

// normalEquations is MᵀwM, N'×N', added up row by row of M, which have few entries.
func normalEquations(m *graph.CSR, w []float32) *mat.SymDense {
	normal := mat.NewSymDense(m.Cols, nil)
	upper := normal.RawSymmetric()
	for j := range m.Rows {
		cols, vals := m.Row(j)
		for p, i := range cols {
			row := upper.Data[int(i)*upper.Stride:]
			for q := p; q < len(cols); q++ {
				row[cols[q]] += float64(vals[p]) * (float64(w[j]) * float64(vals[q]))
			}
		}
	}
	return normal
}

// Fit returns the tables of S for tables of T, for each slot.
func (f *Fitter) Fit(t *infer.Tables) (*infer.Tables, error) {
	var all []*infer.Tables
	for lo, n := 0, f.m.Rows; lo < t.Nodes(); lo += n {
		of, err := f.fit(t.Rows(lo, lo+n))
		if err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return infer.Below(all...), nil
}

func (f *Fitter) fit(t *infer.Tables) (*infer.Tables, error) {
	out := &infer.Tables{}
	for _, u := range t.U {
		fitted, err := f.Table(u)
		if err != nil {
			return nil, err
		}
		out.U = append(out.U, fitted)
	}
	if t.C == nil {
		return out, nil
	}
	var err error
	out.C, err = f.Table(t.C)
	return out, err
}

// Propagation returns the tables of S for those of a propagation of seeds on T ([infer.PropagationTables]), of which
// one at a time is in memory.
func (f *Fitter) Propagation(adj *graph.CSR, seeds *graph.Dense, alpha float32, edges ...float32) (*infer.Tables,
	error) {
	return ofSlots(edges, func(edge float32) (*infer.Tables, error) { return f.propagation(adj, seeds, alpha, edge) })
}

// ofSlots puts the tables for edges of each weight one below the other.
func ofSlots(edges []float32, of func(edge float32) (*infer.Tables, error)) (*infer.Tables, error) {
	all := make([]*infer.Tables, len(edges))
	for k, edge := range edges {
		var err error
		if all[k], err = of(edge); err != nil {
			return nil, err
		}
	}
	return infer.Below(all...), nil
}

// propagation are the tables of Propagation for edges of a weight.
func (f *Fitter) propagation(adj *graph.CSR, seeds *graph.Dense, alpha, edge float32) (*infer.Tables, error) {
	out := &infer.Tables{}
	var failure error
	infer.EachPropagationTable(adj, seeds, alpha, edge, func(u *graph.Dense) {
		fitted, err := f.Table(u)
		failure = cmp.Or(failure, err)
		out.U = append(out.U, fitted)
	})
	return out, failure
}

// Table returns the table of S for one of T.
func (f *Fitter) Table(u *graph.Dense) (*graph.Dense, error) {
	right := mat.NewDense(f.m.Cols, u.Cols, nil) // MᵀwU
	for j := range f.m.Rows {
		cols, vals := f.m.Row(j)
		for p, c := range cols {
			row, weight := right.RawRowView(int(c)), float64(f.w[j])*float64(vals[p])
			for k, v := range u.Row(j) {
				row[k] += weight * float64(v)
			}
		}
	}
	return f.solve(right)
}

// solve returns (MᵀwM + ridge)⁻¹ times the right sides, N'×width.
func (f *Fitter) solve(right *mat.Dense) (*graph.Dense, error) {
	var solved mat.Dense
	if err := f.factor.SolveTo(&solved, right); err != nil {
		return nil, fmt.Errorf("tables of S: solving the normal equations of M: %w", err)
	}
	_, width := right.Dims()
	out := graph.NewDense(f.m.Cols, width)
	for i := range out.Rows {
		for k, v := range solved.RawRowView(i) {
			out.Row(i)[k] = float32(v)
		}
	}
	return out, nil
}
