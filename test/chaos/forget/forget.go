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

// Forgets are the ids of a stream that will be forgotten.
type Forgets struct {
	stream string
	mu     sync.Mutex
	all    []*id
}

// id is one of them.
type id struct {
	name       string
	asked      time.Time    // when the record that asks to forget it was sent; zero: it was not
	at         ledger.Place // of that record, when it was read
	read, gone bool         // that record was read, or deleted
	again      int          // how often it was read again
	predicted  bool
	tombstones int
	behind     bool // a prediction stands behind its last tombstone
}

// New returns the ids of a stream.
func New(stream string) *Forgets { return &Forgets{stream: stream} }

// Base returns the id of the arrival that an arrival of Next repeats; any other id is returned as it is.
func Base(id string) string {
	base, _, _ := strings.Cut(id, mark)
	return base
}

// Next returns the id of the next arrival that will be forgotten, which repeats another one.
func (f *Forgets) Next(base string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := &id{name: base + mark + f.stream + "-" + strconv.Itoa(len(f.all))}
	f.all = append(f.all, one)
	return one.name
}

// find returns one of the ids; nil: it is none.
func (f *Forgets) find(name string) *id {
	_, rest, found := strings.Cut(name, mark)
	number, ours := strings.CutPrefix(rest, f.stream+"-")
	n, err := strconv.Atoi(number)
	if !found || !ours || err != nil || n >= len(f.all) {
		return nil
	}
	return f.all[n]
}

// Predicted takes a prediction that was read, and reports whether it is the first of an id that will be forgotten.
func (f *Forgets) Predicted(name string) (first bool) {
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

// Ask says that a record which asks to forget an id is being sent.
func (f *Forgets) Ask(name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(name).asked = now
}

// Read says that this record was read.
func (f *Forgets) Read(name string, at ledger.Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.find(name)
	one.at, one.read = at, true
}

// Begin says that consumers begin to read a partition at a place. removed says that nobody reads what is before.
func (f *Forgets) Begin(at ledger.Place, removed bool) {
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

// Truncated says that a partition ends at a place: what was behind it is lost.
func (f *Forgets) Truncated(at ledger.Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		if one.read && one.at.Life == at.Life && one.at.Partition == at.Partition && one.at.Offset >= at.Offset {
			one.gone = one.tombstones == 0
		}
	}
}

// Tombstone takes a tombstone that was read. Tombstones of other keys count for nothing.
func (f *Forgets) Tombstone(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.find(key); one != nil {
		one.tombstones++
		one.behind = false
	}
}

// Asked returns when the record was sent that asks to forget an id; zero: it was not.
func (f *Forgets) Asked(name string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.find(name); one != nil {
		return one.asked
	}
	return time.Time{}
}

// Stored takes an id that a Redis has, and reports whether it must not: committed returns the offset up to which a
// partition was committed before the id was found.
func (f *Forgets) Stored(name string, committed func(ledger.Place) int64) (wrong bool) {
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

// Judge returns the counts, and which promises are broken. At least once so many ids may have a prediction behind their
// tombstone: that of a consumer that was stopped and comes back. stored are ids that Redis had.
func (f *Forgets) Judge(exactlyOnce bool, mayRepeat int, stored map[string]bool) (c Counts, violations []string) {
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
