package forget

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"rivulet/test/chaos/ledger"
)

// mark stands in an id that will be forgotten, between the name of its stream and a number.
const mark = "~forget-"

// IDs are the ids of a stream that will be forgotten.
type IDs struct {
	stream string
	mu     sync.Mutex
	all    []*id
}

// id is one of them.
type id struct {
	name       string
	asked      time.Time    // when the record that asks to forget it was sent; zero: it was not
	at         ledger.Place // of that record, when it was read
	read       bool         // that record was read
	gone       bool         // it was deleted, or lost with the end of its partition, before there was a tombstone
	again      int          // how often it was read again
	predicted  bool
	tombstones int
	behind     bool // a prediction stands behind its last tombstone
}

// New returns the ids of a stream.
func New(stream string) *IDs { return &IDs{stream: stream} }

// Base returns the id of the arrival that an arrival of Next repeats; any other id is returned as it is.
func Base(id string) string {
	base, _, _ := strings.Cut(id, mark)
	return base
}

// Next returns the id of the next arrival that will be forgotten, which repeats the arrival base.
func (f *IDs) Next(base string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := &id{name: base + mark + f.stream + "-" + strconv.Itoa(len(f.all))}
	f.all = append(f.all, one)
	return one.name
}

// find returns the id of that name; nil if there is none.
func (f *IDs) find(name string) *id {
	_, rest, found := strings.Cut(name, mark)
	number, ours := strings.CutPrefix(rest, f.stream+"-")
	n, err := strconv.Atoi(number)
	if !found || !ours || err != nil || n >= len(f.all) {
		return nil
	}
	return f.all[n]
}

// Predicted notes a prediction that was read, and reports whether it is the first one of an id that will be forgotten.
func (f *IDs) Predicted(name string) (first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.find(name)
	if one == nil {
		return false
	}
	first = !one.predicted
	one.predicted, one.behind = true, one.tombstones > 0
	return first
}

// Ask notes that the record which asks to forget an id is being sent.
func (f *IDs) Ask(name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(name).asked = now
}

// Read notes that the record which asks to forget an id was read.
func (f *IDs) Read(name string, at ledger.Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.find(name)
	one.at, one.read = at, true
}

// Begin notes that consumers begin to read a partition at a place. If removed is set, nobody reads what is before it.
func (f *IDs) Begin(at ledger.Place, removed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		switch {
		case !one.read || one.at.Life != at.Life || one.at.Partition != at.Partition:
		case one.at.Offset >= at.Offset && one.tombstones > 0:
			one.again++
		case one.at.Offset < at.Offset && one.tombstones == 0 && removed:
			one.gone = true
		}
	}
}

// Truncated notes that a partition ends at a place now: the records behind it are lost.
func (f *IDs) Truncated(at ledger.Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		if one.read && one.at.Life == at.Life && one.at.Partition == at.Partition && one.at.Offset >= at.Offset {
			one.gone = one.tombstones == 0
		}
	}
}

// Tombstone notes a tombstone that was read. Other keys are passed over.
func (f *IDs) Tombstone(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.find(key); one != nil {
		one.tombstones++
		one.behind = false
	}
}

// Asked returns when the record that asks to forget an id was sent; zero: it was not.
func (f *IDs) Asked(name string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.find(name); one != nil {
		return one.asked
	}
	return time.Time{}
}

// Stored reports whether Redis may no longer have an id that was found there. committed returns the offset that was
// committed for the partition of a place before the id was found.
func (f *IDs) Stored(name string, committed func(ledger.Place) int64) (wrong bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.find(name)
	if one == nil {
		return false
	}
	return one.read && !one.gone && one.at.Offset < committed(one.at)
}

// Counts say what became of the ids.
type Counts struct {
	Forgotten int // ids with a tombstone
	Stored    int // of these, ids that Redis had before
	Behind    int // ids with a prediction behind the tombstone, which a compacted topic keeps
}

// Judge returns the counts, and which promises are broken. At least once, mayRepeat ids may have a prediction behind
// their tombstone, by a consumer that was stopped and comes back. stored are the ids that Redis had.
func (f *IDs) Judge(exactlyOnce bool, mayRepeat int, stored map[string]bool) (c Counts, violations []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var behind []string
	for _, one := range f.all {
		switch {
		case one.tombstones == 0 && one.read && !one.gone:
			violations = append(violations, fmt.Sprintf("%s was to be forgotten at %v: there is no tombstone", one.name, one.at))
		case exactlyOnce && one.tombstones > 1+one.again:
			violations = append(violations, fmt.Sprintf("%s has %d tombstones", one.name, one.tombstones))
		case one.tombstones > 0 && one.asked.IsZero():
			violations = append(violations, fmt.Sprintf("%s has a tombstone, and nobody asked to forget it", one.name))
		}
		if one.tombstones > 0 {
			c.Forgotten++
			if stored[one.name] {
				c.Stored++
			}
		}
		if one.behind {
			behind = append(behind, one.name)
		}
	}
	if exactlyOnce {
		mayRepeat = 0
	}
	if c.Behind = len(behind); c.Behind > mayRepeat {
		violations = append(violations, fmt.Sprintf("%d ids have a prediction behind their tombstone, at most %d may: %v",
			c.Behind, mayRepeat, behind))
	}
	return c, violations
}
