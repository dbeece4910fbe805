package edges

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"rivulet/test/chaos/ledger"
)

// Record is what a record of the topic of arrivals means for waits: its own, and others'.
type Record struct {
	Time time.Time // its timestamp
	Seen time.Time // when it was read
	// ID is the id of the arrival, of the arrival that an edge belongs to, or the id that is to be forgotten. If it is
	// empty, the record only ends waits.
	ID   string
	Kind Kind
	// Neighbours are the neighbours in the arrival's own record, or the one neighbour of an edge.
	Neighbours []string
	Count      int // edge_count of an arrival; 0: it has none
}

// Kind is the kind of a record that has an id.
type Kind byte

// The kinds.
const (
	Arrival Kind = iota
	Edge
	Forget
)

// Outcome says how the wait of an arrival ends.
type Outcome int

// The outcomes. Open: the log ends first. Complete: the arrival has edge_count edges. Late: a record's timestamp ends
// the wait. Superseded: the id arrives again, or is to be forgotten. Revised: the arrival was predicted before, and is
// predicted again.
const (
	Open Outcome = iota
	Complete
	Late
	Superseded
	Revised
	Outcomes
)

func (o Outcome) String() string {
	return [...]string{"open", "complete", "late", "superseded", "revised"}[o]
}

// Sets are the sets of neighbours that an arrival may have.
type Sets struct {
	Outcome Outcome
	// Ready is the timestamp of the record that ends the wait. Zero: there is none, or a cut may have ended it before.
	Ready time.Time
	// All has the set by the log first, then the sets by cuts. A set is sorted, without repeated ids and without the
	// arrival's own.
	All [][]string
	// Disturbed says that a cut lies near enough to matter.
	Disturbed bool
}

// Options are the settings of the consumers. Age is 0 if no arrival is updated; else Settle is more than 0.
type Options struct{ Wait, Settle, Age time.Duration }

// Log has the records of a topic.
type Log struct {
	Options
	mu  sync.Mutex
	all map[partition]*records
}

type partition struct{ life, number int }

// records are the records of a partition, in the order of their offsets.
type records struct {
	offsets []int64
	all     []Record
	ended   []int            // of each record, the result of Log.ended; 0: not known yet
	edges   map[string][]int // places of the edges of an id
	forgets map[string]int   // places of records that ask to forget an id
	begins  []begin
	cuts    []int  // places of all cuts
	known   [2]int // how many records and begins there were when these were looked for
}

// begin is an offset at which consumers began to read. Records before to were read again.
type begin struct {
	at, to int64
	unread bool // records before at were deleted, some of them unread
}

// NewLog returns an empty log.
func NewLog(o Options) *Log { return &Log{Options: o, all: map[partition]*records{}} }

func (l *Log) of(at ledger.Place) *records {
	p := partition{at.Life, at.Partition}
	if l.all[p] == nil {
		l.all[p] = &records{edges: map[string][]int{}, forgets: map[string]int{}}
	}
	return l.all[p]
}

// Add takes the next record of a partition.
func (l *Log) Add(at ledger.Place, r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(at)
	k := len(p.all)
	p.offsets, p.all, p.ended = append(p.offsets, at.Offset), append(p.all, r), append(p.ended, 0)
	switch {
	case r.ID == "":
	case r.Kind == Edge:
		p.edges[r.ID] = append(p.edges[r.ID], k)
	case r.Kind == Forget:
		p.forgets[r.ID] = k
	}
}

// Begin notes that consumers begin to read a partition at a place, without the records before it. If unread is set,
// these were deleted, and some of them were not read.
func (l *Log) Begin(at ledger.Place, unread bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(at)
	b := begin{at: at.Offset, to: at.Offset, unread: unread}
	if n := len(p.offsets); n > 0 {
		b.to = max(b.to, p.offsets[n-1]+1)
	}
	p.begins = append(p.begins, b)
}

// Sets returns the sets of an arrival; nil: there is none at that place.
func (l *Log) Sets(at ledger.Place) *Sets {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(at)
	a, found := slices.BinarySearch(p.offsets, at.Offset)
	if !found || !p.isArrival(a) {
		return nil
	}
	return l.sets(p, a)
}

func (l *Log) sets(p *records, a int) *Sets {
	before := l.before(p, a)
	after, end, outcome := l.after(p, a, len(before))
	most, _, _ := l.after(p, a, 0) // what it may take where cuts have taken edges away
	s := &Sets{Outcome: outcome}
	all := slices.Concat(before, most)
	first, last, furthest := a, a, a
	for _, e := range slices.Concat(before, after) {
		first, last = min(first, e), max(last, e)
	}
	for _, e := range most {
		furthest = max(furthest, e)
	}
	ended := false                                                  // maybe, by a cut
	from, to := map[int]bool{0: true}, map[int]bool{len(all): true} // of all, what cuts leave
	for k := first + 1; k <= min(max(end, furthest), len(p.all)-1); k++ {
		if !l.cut(p, k) {
			continue
		}
		ended = ended || k <= end
		s.Disturbed = s.Disturbed || k <= last
		if n, _ := slices.BinarySearch(all, k); k <= a {
			from[n] = true
		} else if k <= furthest { // others take no edge away
			to[n] = true
		}
	}
	if !ended && end < len(p.all) {
		s.Ready = p.all[end].Time
	}
	add := func(edges []int) {
		set := p.neighbours(a, p.untilComplete(a, edges), a)
		if !slices.ContainsFunc(s.All, func(o []string) bool { return slices.Equal(o, set) }) {
			s.All = append(s.All, set)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(from)) {
		for _, t := range slices.Backward(slices.Sorted(maps.Keys(to))) {
			add(all[f:t])
		}
	}
	for _, b := range p.begins { // a consumer that runs may have read edges before those that were deleted
		n, _ := slices.BinarySearchFunc(all, b.at, func(e int, at int64) int { return cmp.Compare(p.offsets[e], at) })
		for i := range n {
			if b.unread && p.offsets[all[i]] >= b.at-deleted {
				add(slices.Concat(all[:i], all[n:]))
			}
		}
	}
	return s
}

// untilComplete returns the first of the edges at some places, up to the one that makes an arrival complete.
func (p *records) untilComplete(a int, edges []int) []int {
	r := &p.all[a]
	for i, e := range edges {
		if r.Count > 0 && e > a && len(r.Neighbours)+i >= r.Count {
			return edges[:i]
		}
	}
	return edges
}

// deleted is how many of the records that were deleted before a place may have been unread.
const deleted = 500

// before returns the places of the edges that wait when the record at a place arrives.
func (l *Log) before(p *records, a int) (waiting []int) {
	const disorder = 2 * time.Minute // of timestamps, which senders give before brokers take records
	all := p.edges[p.all[a].ID]
	n, _ := slices.BinarySearch(all, a)
	for _, e := range slices.Backward(all[:n]) {
		if forget, asked := p.forgets[p.all[a].ID]; p.all[a].Time.Sub(p.all[e].Time) > l.Wait+disorder ||
			asked && e < forget && forget < a {
			break
		}
		if l.ended(p, e) > a {
			waiting = append(waiting, e)
		}
	}
	slices.Reverse(waiting)
	return waiting
}

// ended returns the place of the record that ends the wait of record k by its timestamp, which is in milliseconds;
// len(p.all) if there is none.
func (l *Log) ended(p *records, k int) int {
	if p.ended[k] != 0 {
		return p.ended[k]
	}
	until := p.all[k].Time.Add(l.Wait).UnixMilli()
	for next := k + 1; next < len(p.all); next++ {
		if p.all[next].Time.UnixMilli() >= until {
			p.ended[k] = next
			return next
		}
	}
	return len(p.all)
}

// after returns the places of the edges that come while an arrival waits, the place of the record that ends the wait,
// and the outcome. waiting is the number of edges that came before the arrival.
func (l *Log) after(p *records, a, waiting int) (more []int, end int, outcome Outcome) {
	r := &p.all[a]
	have := len(r.Neighbours) + waiting
	if r.Count > 0 && have >= r.Count {
		return nil, a, Complete
	}
	last := l.ended(p, a)
	for k := a + 1; k < last; k++ {
		next := &p.all[k]
		switch {
		case next.ID != r.ID:
		case next.Kind != Edge:
			return more, k, Superseded
		default:
			more, have = append(more, k), have+1
			if r.Count > 0 && have >= r.Count {
				return more, k, Complete
			}
		}
	}
	if last == len(p.all) {
		return more, last, Open
	}
	return more, last, Late
}

// cut reports whether waits may have ended just before a record though no timestamp says so.
func (l *Log) cut(p *records, k int) bool {
	at := p.offsets[k]
	return slices.ContainsFunc(p.begins, func(b begin) bool {
		return p.offsets[k-1] < b.at && b.at <= at || b.unread && b.at-deleted <= at && at < b.at
	}) || p.all[k].Seen.Sub(p.all[k-1].Time) >= l.Wait-rounding
}

// rounding is by how much two timestamps may be nearer to each other than their records were.
const rounding = 10 * time.Millisecond

// neighbours returns the neighbours in an arrival's own record and in some edges. An id that was forgotten before a
// place gets another name, as nobody knows it.
func (p *records) neighbours(a int, edges []int, at int) []string {
	r := &p.all[a]
	set := slices.Clone(r.Neighbours)
	for _, e := range edges {
		set = append(set, p.all[e].Neighbours...)
	}
	set = slices.DeleteFunc(set, func(id string) bool { return id == r.ID })
	for i, id := range set {
		if k, forgotten := p.forgets[id]; forgotten && k <= at {
			set[i] = id + "~forgotten"
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Unmatched judges edges by their dead letters: an edge that no arrival takes must have one, and an edge that is taken,
// or dropped as its id is to be forgotten, must have none. It counts both kinds, and returns the places of edges for
// which this is not so. letters returns the number of an edge's dead letters; if it is nil, none are written. last is
// the present life of the topic. Edges near a cut are not judged, nor those for which a clock was stepped.
func (l *Log) Unmatched(letters func(ledger.Place) int, last int, stepped func(time.Time) bool) (unmatched, joined int,
	wrong []ledger.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, p := range l.all {
		taken := map[int]bool{}
		for a := range p.all {
			if !p.isArrival(a) {
				continue
			}
			before := l.before(p, a)
			after, _, _ := l.after(p, a, len(before))
			if l.Age > 0 {
				release, _ := l.release(p, a)
				after = p.edgesBetween(p.all[a].ID, a, release)
			}
			for _, e := range slices.Concat(before, after) {
				taken[e] = true
			}
		}
		for id, forget := range p.forgets { // edges that wait for an arrival then are dropped
			for _, e := range p.edgesBetween(id, -1, forget) {
				taken[e] = taken[e] || l.ended(p, e) > forget
			}
		}
		for _, all := range p.edges {
			for _, e := range all {
				at := ledger.Place{Life: of.life, Partition: of.number, Offset: p.offsets[e]}
				want := 1
				if taken[e] {
					want = 0
				}
				switch {
				case l.disturbed(p, e, of.life < last), stepped(p.all[e].Time), stepped(p.all[e].Time.Add(l.Wait)):
				case letters != nil && letters(at) != want:
					wrong = append(wrong, at)
				case taken[e]:
					joined++
				default:
					unmatched++
				}
			}
		}
	}
	slices.SortFunc(wrong, func(a, b ledger.Place) int {
		return cmp.Or(cmp.Compare(a.Life, b.Life), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return unmatched, joined, wrong
}

// disturbed reports whether a cut lies near a record, or the end of its topic if that was deleted.
func (l *Log) disturbed(p *records, e int, gone bool) bool {
	at := p.all[e].Time
	near := func(k int) bool { return k < len(p.all) && p.all[k].Time.Sub(at).Abs() <= 2*l.Wait }
	for k := e; k > 0 && near(k-1); k-- {
		if l.cut(p, k) {
			return true
		}
	}
	k := e + 1
	for ; near(k); k++ {
		if l.cut(p, k) {
			return true
		}
	}
	return k == len(p.all) && gone || k < len(p.all) && l.cut(p, k) || l.keptBefore(p, e) ||
		slices.ContainsFunc(p.begins, func(b begin) bool { return b.at <= p.offsets[e] && p.offsets[e] < b.to })
}

// keptBefore reports whether an edge may be one of an arrival before the place at which consumers began to read, or
// before the beginning of the log.
func (l *Log) keptBefore(p *records, e int) bool {
	since := func(k int) bool { return p.all[e].Time.Sub(p.all[k].Time) <= l.Age+2*l.Wait }
	return l.Age > 0 && (slices.ContainsFunc(p.begins, func(b begin) bool {
		k, _ := slices.BinarySearch(p.offsets, b.at)
		return k <= e && since(k)
	}))
}
