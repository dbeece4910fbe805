package event

import (
	"slices"
	"strconv"
	"time"
)

// ByName is the value of [Label.Class] if ClassName gives the class.
const ByName = -1

// Label is the class of a node, known some time after it arrived.
type Label struct {
	// ID is the node's external id; not empty.
	ID string
	// Class is the index of the class, from 0, or ByName.
	Class int
	// ClassName is the class's name; empty if Class gives it.
	ClassName string
	// Time is the time at which the class became known; zero if the producer does not give it.
	Time time.Time
}

// Resolve returns the index of the label's class among the names of a model's classes, and false if it is not among
// them.
func (l *Label) Resolve(classes []string) (int, bool) {
	if l.ClassName == "" {
		return l.Class, l.Class >= 0 && l.Class < len(classes)
	}
	c := slices.Index(classes, l.ClassName)
	return c, c >= 0
}

// Word returns the label's class in the form for people: a quoted name or an index.
func (l *Label) Word() string {
	if l.ClassName == "" {
		return strconv.Itoa(l.Class)
	}
	return Cut(strconv.Quote(l.ClassName))
}
