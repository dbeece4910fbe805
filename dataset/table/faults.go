package table

import (
	"errors"
	"fmt"
)

// Kinds of faults of tables.
const (
	Repeated   = "ids that another node has"
	Unnamed    = "nodes without an id"
	Unlabelled = "train, val and test nodes without a label"
	Dangling   = "edges to or from ids that no node has"
	Weighted   = "edges with a weight that cannot be read"
	Untyped    = "edges without a type"
	Splitless  = "values of the split that stand for no role"
	Roleless   = "roles without any node"
)

// Faults collects the faults of tables, to report all of them instead of the first.
type Faults struct {
	Kinds  []string // in the order in which they were met
	Counts map[string]int
	First  map[string]string // the first of a kind, with its place
}

// Fault is an error of a known kind.
type Fault struct {
	Kind string
	Err  error
}

func (f Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error without its kind.
func (f Fault) Unwrap() error { return f.Err }

// Take counts an error that is a fault; others, and all if nothing collects them, are returned.
func (f *Faults) Take(err error, at Place) error {
	var known Fault
	if f == nil || !errors.As(err, &known) {
		return err
	}
	if f.Counts == nil {
		f.Counts, f.First = map[string]int{}, map[string]string{}
	}
	if f.Counts[known.Kind]++; f.Counts[known.Kind] == 1 {
		f.Kinds = append(f.Kinds, known.Kind)
		if at.Row > 0 {
			f.First[known.Kind] = fmt.Sprintf("%s: %v", at, known.Err)
		} else {
			f.First[known.Kind] = known.Error()
		}
	}
	return nil
}
