package target

// F1 counts labels that are said, that are true, and that are both.
type F1 struct{ Right, Said, True int }

// Count adds one label of a node.
func (f *F1) Count(said, is bool) {
	if said {
		f.Said++
	}
	if is {
		f.True++
	}
	if said && is {
		f.Right++
	}
}

// Add adds the counts of another.
func (f *F1) Add(other F1) {
	f.Right, f.Said, f.True = f.Right+other.Right, f.Said+other.Said, f.True+other.True
}

// Ratio is the harmonic mean of precision and recall, 0 to 1; 0 where nothing is said and nothing is true.
func (f F1) Ratio() float64 { return 2 * float64(f.Right) / float64(max(1, f.Said+f.True)) }
