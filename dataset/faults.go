package dataset

import (
	"errors"
	"fmt"
)

// Kinds of faults of tables.
const (
	repeated   = "ids that another node has"
	unnamed    = "nodes without an id"
	unlabelled = "train, val and test nodes without a label"
	dangling   = "edges to or from ids that no node has"
	weighted   = "edges with a weight other than 1"
	splitless  = "values of the split that stand for no role"
	roleless   = "roles without any node"
)

// Faults collects what is wrong with tables, for a report of all of it instead of the first error.
type Faults struct {
	Kinds  []string // in the order in which they were met
	Counts map[string]int
	First  map[string]string // the first of a kind, with its place
}

// fault is an error of a known kind.
type fault struct {
	kind string
	error
}

func (f fault) Unwrap() error { return f.error }

// take counts an error that is a fault; others, and all if nothing collects them, are returned.
func (f *Faults) take(err error, at Place) error {
	var known fault
	if f == nil || !errors.As(err, &known) {
		return err
	}
	if f.Counts == nil {
		f.Counts, f.First = map[string]int{}, map[string]string{}
	}
	if f.Counts[known.kind]++; f.Counts[known.kind] == 1 {
		f.Kinds = append(f.Kinds, known.kind)
		if at.Row > 0 {
			f.First[known.kind] = fmt.Sprintf("%s: %v", at, known.error)
		} else {
			f.First[known.kind] = known.Error()
		}
	}
	return nil
}
