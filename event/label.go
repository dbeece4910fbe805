package event

import (
	"math"
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
	return cut(strconv.Quote(l.ClassName))
}

// checkWritten refuses a label that a reader would refuse.
func (l *Label) checkWritten() error {
	if l.Class > math.MaxInt32 {
		return fieldErrorf(ReasonUnparsable, "class", "%d is outside 0…%d", l.Class, math.MaxInt32)
	}
	return l.check(l.Class != ByName, l.ClassName != "")
}

// checkFound is check with the set of fields that a reader has found.
func (l *Label) checkFound(found uint64) error {
	return l.check(found&labelClass != 0, found&labelClassName != 0)
}

// check refuses a label without an id, and one that gives its class twice or not at all.
func (l *Label) check(hasClass, hasName bool) error {
	switch {
	case l.ID == "":
		return fieldErrorf(ReasonUnparsable, "id", "is missing")
	case hasClass && hasName:
		return fieldErrorf(ReasonUnparsable, "class", "%d and class_name are both given, want one of them", l.Class)
	case !hasClass && !hasName:
		return fieldErrorf(ReasonUnparsable, "class", "is missing, and so is class_name")
	case hasName && l.ClassName == "":
		return fieldErrorf(ReasonUnparsable, "class_name", "is empty")
	case !hasName && l.Class < 0:
		return fieldErrorf(ReasonUnparsable, "class", "%d is below 0", l.Class)
	}
	return nil
}
