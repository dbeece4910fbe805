package edges

import (
	"cmp"
	"slices"
	"time"

	"rivulet/test/chaos/ledger"
)

// Revision is an arrival that is predicted again.
type Revision struct {
	Number int       // 2 for the first one
	Ready  time.Time // the timestamp of the record with which it settles
	Set    []string  // its neighbours, as in Sets
}

// Revisions are the revisions of an arrival.
type Revisions struct {
	All []Revision // by the log, in their order
	// May are all sets that a revision can have near a cut, or at the end of the log. Disturbed says that a cut lies near
	// enough to matter: then revisions may settle earlier and be more, or fewer.
	May       [][]string
	Disturbed bool
	Open      bool      // the log ends before the arrival is released, so that there may be one more
	From, To  time.Time // the timestamps of the arrival and of the record that releases it, or of the log's last one
	Again     bool      // its records were read again
	// Least is how many neighbours its last prediction has at least, wherever the partition was idle; 0: that is not
	// known.
	Least int
}

// Revisions returns the revisions of an arrival at a place.
func (l *Log) Revisions(at ledger.Place) Revisions {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(at)
	a, found := slices.BinarySearch(p.offsets, at.Offset)
	if !found || l.Age == 0 || !p.isArrival(a) {
		return Revisions{}
	}
	return l.revisions(p, a)
}

// EachRevised calls visit with each arrival that has revisions by the log, or may have some.
func (l *Log) EachRevised(visit func(ledger.Place, *Revisions)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, p := range l.all {
		for a := range p.all {
			if !p.isArrival(a) || l.Age == 0 {
				continue
			}
			if r := l.revisions(p, a); len(r.All) > 0 || r.Disturbed {
				visit(ledger.Place{Life: of.life, Partition: of.number, Offset: p.offsets[a]}, &r)
			}
		}
	}
}

// revisions are those of the record at place a. An edge that comes when the arrival has left begins a revision, which
// settles with the first record whose timestamp is Settle after the edge's, and after the end of the revision before.
func (l *Log) revisions(p *records, a int) (r Revisions) {
	before := l.before(p, a)
	after, end, outcome := l.after(p, a, len(before))
	release, given := l.release(p, a)
	last := min(release, len(p.all)-1)
	r.Open, r.From, r.To = release == len(p.all), p.all[a].Time, p.all[last].Time
	from := a
	if len(before) > 0 {
		from = before[0]
	}
	r.Disturbed = p.cutWithin(l, from+1, last)
	r.Again = slices.ContainsFunc(p.begins, func(b begin) bool { return b.at <= p.offsets[a] && p.offsets[a] < b.to })
	all := p.edgesBetween(p.all[a].ID, a, release)
	begun := func(b begin) bool { return p.offsets[from]-deleted < b.at && b.at <= p.offsets[last] }
	if !given && !r.Open && !r.Again && !slices.ContainsFunc(p.begins, begun) {
		r.Least = len(p.neighbours(a, all, a))
	}
	if r.Disturbed || r.Open {
		for f := range len(before) + 1 {
			for t := range len(all) + 1 {
				r.May = append(r.May, p.neighbours(a, slices.Concat(before[f:], all[:t]), a))
			}
		}
		slices.SortFunc(r.May, slices.Compare)
		r.May = slices.CompactFunc(r.May, slices.Equal)
	}
	if outcome == Superseded || end == len(p.all) {
		return r
	}
	late, due := all[len(after):], int64(0)
	for number := 2; len(late) > 0; number++ {
		due = max(due, p.all[late[0]].Time.UnixMilli()) + l.Settle.Milliseconds()
		settled := late[0] + 1
		for settled < release && p.all[settled].Time.UnixMilli() < due {
			settled++
		}
		if settled == len(p.all) || settled == release && given {
			break // it has not settled, or is given up
		}
		n, _ := slices.BinarySearch(late, settled)
		edges := slices.Concat(before, all[:len(all)-len(late)+n])
		r.All = append(r.All, Revision{number, p.all[settled].Time, p.neighbours(a, edges, settled)})
		late = late[n:]
	}
	return r
}

// release returns the place of the record with which an arrival can be updated no more; len(p.all): there is none.
// given reports whether a revision is given up then, as the id arrives again or is to be forgotten.
func (l *Log) release(p *records, a int) (at int, given bool) {
	until := p.all[a].Time.Add(l.Age).UnixMilli()
	for k := a + 1; k < len(p.all); k++ {
		r := &p.all[k]
		aged := r.Time.UnixMilli() >= until
		given = r.ID == p.all[a].ID && r.Kind != Edge
		if aged || given {
			return k, given
		}
	}
	return len(p.all), false
}

// cutWithin reports whether a cut is at a place in a range, both ends included.
func (p *records) cutWithin(l *Log, from, to int) bool {
	if p.cuts == nil || p.known != [2]int{len(p.all), len(p.begins)} {
		p.cuts, p.known = []int{}, [2]int{len(p.all), len(p.begins)}
		for k := 1; k < len(p.all); k++ {
			if l.cut(p, k) {
				p.cuts = append(p.cuts, k)
			}
		}
	}
	k, _ := slices.BinarySearch(p.cuts, from)
	return k < len(p.cuts) && p.cuts[k] <= to
}

// edgesBetween returns the places of an id's edges between two places.
func (p *records) edgesBetween(id string, from, to int) []int {
	all := p.edges[id]
	i, _ := slices.BinarySearchFunc(all, from+1, cmp.Compare[int])
	k, _ := slices.BinarySearchFunc(all, to, cmp.Compare[int])
	return all[i:k]
}

// isArrival reports whether the record at a place is an arrival.
func (p *records) isArrival(k int) bool { return p.all[k].ID != "" && p.all[k].Kind == Arrival }
