package target

// F1 counts labels that are predicted, that are true, and that are both.
type F1 struct{ Right, Predicted, True int }

// Count adds one label of a node.
func (f *F1) Count(predicted, is bool) {
	if predicted {
		f.Predicted++
	}
	if is {
		f.True++
	}
	if predicted && is {
		f.Right++
	}
}

// Add adds the counts of another.
func (f *F1) Add(other F1) {
	f.Right, f.Predicted, f.True = f.Right+other.Right, f.Predicted+other.Predicted, f.True+other.True
}

// Ratio is the harmonic mean of precision and recall, 0 to 1; 0 where nothing is predicted and nothing is true.
func (f F1) Ratio() float64 { return 2 * float64(f.Right) / float64(max(1, f.Predicted+f.True)) }
