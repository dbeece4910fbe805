package trainer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
)

// Where edges have directions, models read T as [Po | Pi] and are frozen on it: an arrival changes no mean that it
// reads, so that T's own tables are Whole with each arrival joined alone. Clusters are those of the graph without
// directions.

// directed reports whether T's edges have directions.
func (t *task) directed() bool { return t.original.Directed != nil }

// read is T as models read it.
func (t *task) read() *graph.CSR {
	if t.directed() {
		return t.original.Directed
	}
	return t.original.Adj
}

// readable are those of some models that read the data's edges, with directions or without.
func (t *task) readable(models []string) []string {
	return slices.DeleteFunc(slices.Clone(models), func(name string) bool {
		a, err := architecture.Lookup(name)
		return err == nil && a.Directed() != t.directed()
	})
}

// kinds are the propagations among which validation chooses. They have no form for directions.
func (t *task) kinds() []string {
	if t.directed() {
		return nil
	}
	return t.options.kinds()
}

// modes are the modes of batches in which test nodes are measured. Models that read directions read no edges among
// arrivals.
func (t *task) modes() []string {
	if t.directed() {
		return []string{NodeBatch}
	}
	return modes
}
