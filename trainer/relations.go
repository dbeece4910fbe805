package trainer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
)

// Where edges have types or directions, models read T as [P_1 | … | P_R] and are frozen on it: its own tables are Whole
// with each arrival joined alone, but for what the arrival would change in the means of its neighbours. Clusters are
// those of the graph without types and directions.

// readable returns the models that read edges as they are: with directions, with types, or with neither.
func readable(by graph.Slots, models []string) []string {
	return slices.DeleteFunc(slices.Clone(models), func(name string) bool {
		a, err := architecture.Lookup(name)
		return err == nil && !a.Reads(&by)
	})
}

// kinds are the propagations among which validation chooses. They have no form for relations.
func kinds(t *T, r *Run) []string {
	if !r.Propagate || t.slots.Relational() {
		return nil
	}
	return propagation.Names()
}

// modes are the modes of batches in which test nodes are measured. Models that read relations read no edges among
// arrivals.
func (t *T) modes() []*attach.Mode {
	if t.slots.Relational() {
		return []*attach.Mode{attach.Node}
	}
	return modes
}
