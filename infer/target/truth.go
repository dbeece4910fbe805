package target

// Truth is the form in which data hold what is true of a node. Packages that read, write or merge data have a table by
// it, and refuse a form that they do not know.
type Truth int

const (
	// OneClass is the number of one class, in a list of classes by node.
	OneClass Truth = iota
	// LabelSet is a row of targets by node: 1 for each label that it has, else 0.
	LabelSet
	// NumberEach is a row of targets by node: a number for each output.
	NumberEach
	// Neighbours are the edges of the graph. Nodes have no label.
	Neighbours
)

// Fit names the parameters of a task's answers that are fitted to the validation nodes.
type Fit int

const (
	// OneTemperature is a τ by which all logits are divided.
	OneTemperature Fit = iota
	// TemperatureEach is a τ for each output.
	TemperatureEach
	// IntervalEach is half the width of an interval around each output.
	IntervalEach
	// NoFit leaves answers as they are.
	NoFit
)

// List is the size of what a fit has one a output of: n where the fit is this one, and 0 otherwise.
func (f Fit) List(of Fit, n int) int {
	if f == of {
		return n
	}
	return 0
}
