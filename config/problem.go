package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	Key    string // "batch.size", or the name of an unknown variable
	Value  string // as given, without a password; empty if there is none to show
	Origin string // its origin: "file rivulet.yaml:12", "RIVULET_BATCH_SIZE", "--batch.size", "default"
	Reason string // the mistake and the allowed values
}

// String returns the problem on one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Key)
	if p.Value != "" {
		fmt.Fprintf(&b, " is %q", p.Value)
	}
	if p.Origin != "" {
		fmt.Fprintf(&b, " (%s)", p.Origin)
	}
	return b.String() + ": " + p.Reason
}

// Error lists all problems of the settings.
type Error struct{ Problems []Problem }

// Error returns a line for each problem.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "configuration: " + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d problems", len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}
