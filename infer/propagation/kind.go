// Package propagation names the kinds of propagation that may follow a model.
package propagation

import (
	"slices"
	"strings"
)

// Names of the kinds in calibrations. None is no propagation.
const (
	None   = "none"
	Labels = "lp"
	Errors = "ep"
)

// Steps is the number of steps of a propagation (docs/algorithm.md, section 6). Its tables are one a step.
const Steps = 10

// Kind describes a propagation.
type Kind struct {
	Name  string // in calibrations; with a dot it begins the names of the tables in an artifact
	Title string // in words
}

// Prefix begins the names of the kind's tables in an artifact.
func (k Kind) Prefix() string { return k.Name + "." }

// Kinds are all kinds, in the order of results; of two that gain as much the first is chosen.
var Kinds = []Kind{{Labels, "label propagation"}, {Errors, "error propagation"}}

// Names lists the kinds, in order.
func Names() []string {
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

// Known reports whether there is a kind of this name, which None is not.
func Known(name string) bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == name })
}

// Choices lists what a setting may say, after other choices: "none, lp or ep".
func Choices(before ...string) string {
	names := append(append(before, None), Names()...)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
