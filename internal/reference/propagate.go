package reference

// Steps is the number of steps of label and error propagation (section 6).
const Steps = 10

// LabelSeeds are F0 of label propagation, m×classes: one-hot where the label is not negative, 0 elsewhere.
func LabelSeeds(labels []int, classes int) Matrix {
	return At(len(labels), classes, func(j, k int) float64 {
		if labels[j] == k {
			return 1
		}
		return 0
	})
}

// ErrorSeeds are F0 of error propagation: one-hot − softmax(logits) where the label is not negative, 0 elsewhere.
func ErrorSeeds(labels []int, logits Matrix) Matrix {
	f0 := LabelSeeds(labels, logits.Cols())
	for j, y := range labels {
		if y < 0 {
			continue
		}
		for k, p := range Softmax(logits[j], 1) {
			f0[j][k] -= p
		}
	}
	return f0
}

// JointPropagation runs F^{t+1} = α Â F^t + (1−α) F0 on the attached graph with F0 = [f0; 0]: F of the arrivals, n×C.
func JointPropagation(graph, f0 Matrix, b Arrivals, alpha float64) Matrix {
	return hops{alpha, Steps}.on(Attached(graph, b), f0.Stack(New(len(b.R), f0.Cols())))[Steps][len(graph):]
}

// PropagationTables are the tables of F0 on T (section 6).
func PropagationTables(graph, f0 Matrix, alpha float64) Tables {
	return hops{alpha, Steps}.tables(graph, f0, 0)
}

// FrozenPropagation is an arrival on such tables, whose own seed is 0.
func FrozenPropagation(t Tables, b Arrivals, alpha float64) Matrix {
	f, _ := hops{alpha, len(t.U)}.walk(t, b, New(len(b.R), t.U[0].Cols()))
	return f[len(t.U)]
}

// NormaliseRows brings rows to sum 1, as label propagation publishes them. A row whose sum is not positive carries no
// labels and becomes 0.
func NormaliseRows(f Matrix) Matrix {
	sums := f.RowSums()
	return At(len(f), f.Cols(), func(i, k int) float64 {
		if sums[i] <= 0 {
			return 0
		}
		return f[i][k] / sums[i]
	})
}
