// Package propagation names the kinds of propagation that may follow a model, and computes label evidence.
//
//	kind.go      the kinds, each with the tables that it reads
//	evidence.go  label evidence
package propagation

import (
	"slices"
	"strings"
)

// Names of the kinds in calibrations. None is no propagation.
const (
	None     = "none"
	Labels   = "lp"
	Errors   = "ep"
	Evidence = "le"
)

// Steps is the number of steps of label and error propagation (docs/algorithm.md, section 6).
const Steps = 10

// Kind describes a propagation and the tables that it reads where arrivals attach to S.
type Kind struct {
	Name   string // in calibrations; with a dot it begins the names of the tables in an artifact
	Title  string // in words
	Tables int    // the number of its tables
	// Joint says that it reads its tables in joint attachment, too. Other kinds run on the graph with the arrivals in it.
	Joint bool
}

// Hops reports whether it takes its steps from node to node.
func (k Kind) Hops() bool { return k.Tables > 1 }

// Prefix begins the names of the kind's tables in an artifact.
func (k Kind) Prefix() string { return k.Name + "." }

// Kinds are all kinds, in the order of results; of two that gain as much the first is chosen.
var Kinds = []Kind{
	{Labels, "label propagation", Steps, false},
	{Errors, "error propagation", Steps, false},
	{Evidence, "label evidence", 1, true},
}

// Known reports whether there is a kind of this name, which None is not.
func Known(name string) bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == name })
}

// Choices lists what a setting may say, after other choices: "none, lp, ep or le".
func Choices(before ...string) string {
	names := append(before, None)
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
