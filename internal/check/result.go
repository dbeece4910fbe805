package check

import (
	"fmt"
	"strings"
)

// State is the result of a check.
type State string

// The states.
const (
	OK      State = "ok"
	Failed  State = "FAILED"
	Skipped State = "skipped" // a check that it needs has failed
)

// Result is the answer of one check.
type Result struct {
	State State
	What  string // "kafka topic arrivals"
	Found string // the finding, or the failure
	Do    string // advice
}

// String is the result on one line.
func (r Result) String() string {
	text := fmt.Sprintf("%-7s  %s: %s", r.State, r.What, r.Found)
	if r.Do != "" {
		text += " -> " + r.Do
	}
	return strings.ReplaceAll(text, "\n", "; ")
}
