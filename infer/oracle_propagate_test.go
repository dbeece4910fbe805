package infer_test

import (
	"math"
	"testing"

	"rivulet/test/reference"
)

// Steps is the number of steps of label and error propagation (section 6).
const Steps = 10

// LabelSeeds are F0 of label propagation, m×classes: one-hot where the label is not negative, 0 elsewhere.
func LabelSeeds(labels []int, classes int) reference.Matrix {
	return reference.At(len(labels), classes, func(j, k int) float64 {
		if labels[j] == k {
			return 1
		}
		return 0
	})
}

// ErrorSeeds are F0 of error propagation: one-hot − softmax(logits) where the label is not negative, 0 elsewhere.
func ErrorSeeds(labels []int, logits reference.Matrix) reference.Matrix {
	f0 := LabelSeeds(labels, logits.Cols())
	for j, y := range labels {
		if y < 0 {
			continue
		}
		for k, p := range reference.Softmax(logits[j], 1) {
			f0[j][k] -= p
		}
	}
	return f0
}

// JointPropagation runs F^{t+1} = α Â F^t + (1−α) F0 on the attached graph with F0 = [f0; 0]: F of the arrivals, n×C.
func JointPropagation(graph, f0 reference.Matrix, b reference.Arrivals, alpha float64) reference.Matrix {
	op := reference.AHat(attached(graph, b))
	seeds := f0.Stack(reference.New(len(b.R), f0.Cols()))
	f := seeds
	for range Steps {
		f = op.Mul(f).Times(alpha).Plus(1-alpha, seeds)
	}
	return f[len(graph):]
}

// PropagationTables are the tables of F0 on T (section 6), n_j = (D_j+1)^-½, F^t the propagation on T alone:
//
//	F̃^{t+1}_j = α n_j(Σ_k B_jk F^t_k/√D_k + n_j F̃^t_j) + (1−α)F0_j    F̃⁰ = F0    table t = n_j F̃^t_j
func PropagationTables(graph, f0 reference.Matrix, alpha float64) reference.Tables {
	d := reference.Each(graph.RowSums(), func(deg float64) float64 { return deg + 1 })
	n := reference.Each(d, func(dj float64) float64 { return reference.InvSqrt(dj + 1) })
	op := reference.AHat(graph)
	f, met := f0, f0
	t := reference.Tables{}
	for range Steps {
		t.U = append(t.U, met.Scale(n))
		sum := graph.Mul(f.Scale(reference.Each(d, reference.InvSqrt)))
		met = sum.Plus(1, met.Scale(n)).Scale(n).Times(alpha).Plus(1-alpha, f0)
		f = op.Mul(f).Times(alpha).Plus(1-alpha, f0)
	}
	return t
}

// FrozenPropagation is an arrival on such tables: f⁰ = 0, f^{t+1} = α(q R·table_t + q² f^t + q ã(q f^t)).
func FrozenPropagation(t reference.Tables, b reference.Arrivals, alpha float64) reference.Matrix {
	q := reference.Each(b.D(), reference.InvSqrt)
	f := reference.New(len(b.R), t.U[0].Cols())
	for _, u := range t.U {
		qf := f.Scale(q)
		f = b.R.Mul(u).Plus(1, qf).Plus(1, b.Among.Mul(qf)).Scale(q).Times(alpha)
	}
	return f
}

// NormaliseRows brings rows to sum 1, as label propagation publishes them. A row whose sum is not positive carries no
// labels and becomes 0.
func NormaliseRows(f reference.Matrix) reference.Matrix {
	sums := f.RowSums()
	return reference.At(len(f), f.Cols(), func(i, k int) float64 {
		if sums[i] <= 0 {
			return 0
		}
		return f[i][k] / sums[i]
	})
}

// Probabilities are the published ones (section 6): s = softmax(logits/τ) + γ·F, negatives clipped, rows normalised. f
// is nil where nothing is mixed in.
func Probabilities(logits, f reference.Matrix, temperature, gamma float64) reference.Matrix {
	s := reference.New(len(logits), logits.Cols())
	for i := range s {
		s[i] = reference.Softmax(logits[i], temperature)
		for k := range s[i] {
			if f != nil {
				s[i][k] = max(0, s[i][k]+gamma*f[i][k])
			}
		}
	}
	return NormaliseRows(s)
}

func TestSection6Probabilities(t *testing.T) {
	logits := reference.Matrix{{math.Log(1), math.Log(3)}, {0, 0}}
	nearly(t, "vanilla", Probabilities(logits, nil, 1, 0), reference.Matrix{{0.25, 0.75}, {0.5, 0.5}}, 1e-12)
	nearly(t, "temperature 1/2 squares the odds", Probabilities(logits, nil, 0.5, 0),
		reference.Matrix{{0.1, 0.9}, {0.5, 0.5}}, 1e-12)
	// 0.25 − 2·0.5 is clipped, 0.75 + 2·0.5 is what remains.
	f := reference.Matrix{{-0.5, 0.5}, {0.25, 0}}
	nearly(t, "mixed", Probabilities(logits, f, 1, 2), reference.Matrix{{0, 1}, {1 / 1.5, 0.5 / 1.5}}, 1e-12)
}
