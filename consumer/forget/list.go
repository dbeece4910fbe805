// Package forget keeps which ids a batch is asked to forget, and where in the batch.
package forget

import "rivulet/event"

// List has the records of a batch that ask to forget an id. What they ask for holds in the order of the records,
// although rows are looked up once a batch. Of [arrival x, forget x, arrival y next to x, arrival x] the first x gets
// no row, to y x is unknown, and the last x gets a row.
type List struct {
	all   []record
	spans map[string]span // by id
}

// record asks to forget an id, with so many arrivals of the batch before it. The key is the record's.
type record struct {
	id     string
	key    []byte
	before int
}

// span is how many arrivals of a batch are before the first and before the last record that asks to forget an id.
type span struct{ first, last int }

// Begin empties the list.
func (f *List) Begin() {
	clear(f.all)
	f.all, f.spans = f.all[:0], nil
}

// Add takes a record that asks to forget an id, with its key, which has so many arrivals before it.
func (f *List) Add(id string, key []byte, arrivals int) {
	if f.spans == nil {
		f.spans = make(map[string]span)
	}
	at, there := f.spans[id]
	if at.last = arrivals; !there {
		at.first = arrivals
	}
	f.all, f.spans[id] = append(f.all, record{id, key, arrivals}), at
}

// Before reports whether the batch forgets an id before its arrival i.
func (f *List) Before(id string, i int) bool {
	at, there := f.spans[id]
	return there && at.first <= i
}

// After reports whether the batch forgets an id after its arrival i.
func (f *List) After(id string, i int) bool {
	at, there := f.spans[id]
	return there && at.last > i
}

// AppendTombstones appends a tombstone for each record. withdrawn says which arrivals have no prediction.
func (f *List) AppendTombstones(dst []event.Tombstone, withdrawn []bool) []event.Tombstone {
	for _, r := range f.all {
		t := event.Tombstone{Key: r.key}
		for _, gone := range withdrawn[:r.before] {
			if !gone {
				t.Before++
			}
		}
		if t.Key == nil {
			t.Key = []byte(r.id)
		}
		dst = append(dst, t)
	}
	return dst
}

// Since reports whether the batch forgets an id, and its arrival i is behind all records that ask for that.
func (f *List) Since(id string, i int) bool {
	at, there := f.spans[id]
	return there && at.last <= i
}

// IDs returns the ids that are to be forgotten, in the order of their records.
func (f *List) IDs() []string {
	ids := make([]string, len(f.all))
	for k := range f.all {
		ids[k] = f.all[k].id
	}
	return ids
}

// Len is the number of records.
func (f *List) Len() int { return len(f.all) }
