package compare

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"rivulet/event"
)

// Labels has the labels of arrivals by their ids, up to a bound: beyond it the oldest are forgotten. The first label of
// an id counts.
type Labels struct {
	by        map[uint64]label
	order     []uint64 // the oldest first
	remember  int
	names     map[string]string
	Forgotten int // labels that were forgotten
}

type label struct {
	class int // or event.ByName
	name  string
}

// NewLabels returns no labels, with room for some.
func NewLabels(remember int) *Labels {
	return &Labels{by: map[uint64]label{}, remember: remember, names: map[string]string{}}
}

// Add takes a label.
func (l *Labels) Add(of *event.Label) {
	id := xxhash.Sum64String(of.ID)
	if _, there := l.by[id]; there {
		return
	}
	name, there := l.names[of.ClassName]
	if !there {
		name = strings.Clone(of.ClassName)
		l.names[name] = name
	}
	l.by[id], l.order = label{of.Class, name}, append(l.order, id)
	if len(l.order) > l.remember {
		delete(l.by, l.order[0])
		l.order = l.order[1:]
		l.Forgotten++
	}
}

// of returns the label of an arrival; false: it has none.
func (l *Labels) of(id uint64) (label, bool) {
	if l == nil {
		return label{}, false
	}
	of, known := l.by[id]
	return of, known
}

// is reports whether a prediction has the label's class.
func (l label) is(a *answer) bool {
	if l.class == event.ByName {
		return l.name == a.name
	}
	return l.class == a.class
}
