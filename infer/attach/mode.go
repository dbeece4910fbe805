package attach

import (
	"fmt"
	"strings"
)

// Mode is a batch mode: it says which arrivals of a batch see each other (docs/algorithm.md, section 1). Everything
// that depends on the mode asks it, and nothing asks for its name.
type Mode struct {
	// Name is the mode's name in settings and flags.
	Name string
	// Sees reports whether arrivals i and j of a batch see each other, counted in the order of their records: then the
	// edges between them are in ã, which is symmetric, as Sees must be. It is nil if no arrival sees another.
	Sees func(i, j int) bool
}

// The modes.
var (
	// Node takes every arrival on its own: ã is zero.
	Node = &Mode{Name: "node"}
	// Graph keeps ã, the edges between the arrivals of a batch.
	Graph = &Mode{Name: "graph", Sees: func(int, int) bool { return true }}
)

// Modes are all modes, the default first.
var Modes = []*Mode{Node, Graph}

// Repeatable reports whether a prediction does not depend on the batch that its record comes in: a record that is read
// again, in another batch, then gets the same bits.
func (m *Mode) Repeatable() bool { return m.Sees == nil }

// String returns the name.
func (m *Mode) String() string { return m.Name }

// ModeOf returns the mode of a name.
func ModeOf(name string) (*Mode, error) {
	names := make([]string, len(Modes))
	for k, m := range Modes {
		if names[k] = m.Name; m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("batch mode is %q, want %s", name, strings.Join(names, " or "))
}
