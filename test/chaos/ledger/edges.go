package ledger

import (
	"fmt"
	"maps"
	"slices"
)

// parts are the records of one arrival whose edges come as records of their own.
type parts struct {
	arrival *entry // nil: it is not read yet, or was never sent
	at      Place
	edges   []Place
	// disturbed: records of it may have been deleted, or are read again without those before them.
	disturbed bool
}

// part adds a record to the parts of its arrival.
func (l *Ledger) part(at Place, e *entry) {
	p := l.parted[e.arrival.ID]
	if p == nil {
		p = new(parts)
		l.parted[e.arrival.ID] = p
	}
	if e.arrival.Reason == EdgeOf {
		p.edges = append(p.edges, at)
	} else {
		p.arrival, p.at = e, at
	}
}

// disturb notes that a partition is read from another place on, or has lost records: arrivals that wait then, and those
// with parts at an offset or behind it, may have fewer edges.
func (l *Ledger) disturb(life, partition int, from int64) {
	behind := func(at Place) bool { return at.Life == life && at.Partition == partition && at.Offset >= from }
	for _, p := range l.parted {
		if p.arrival == nil || p.arrival.first == nil || behind(p.at) || slices.ContainsFunc(p.edges, behind) {
			p.disturbed = true
		}
	}
}

// Interrupted notes that the topic of arrivals is made anew.
func (l *Ledger) Interrupted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disturb(-1, 0, 0)
}

// Joined counts arrivals whose edges come as records of their own, and what became of these.
type Joined struct {
	Arrivals, Short int // Short: predicted without an edge that was sent in time
	Edges, Letters  int
}

func (j Joined) String() string {
	return fmt.Sprintf("%d arrivals had %d edges as records of their own: %d of these edges have dead letters, and %d "+
		"arrivals were predicted without an edge that was sent in time", j.Arrivals, j.Edges, j.Letters, j.Short)
}

// fates returns how many edges of an arrival were joined to it, and how many have dead letters.
func (l *Ledger) fates(p *parts) (joined, letters int) {
	if p.arrival != nil && p.arrival.first != nil {
		joined = p.arrival.first.Neighbours - p.arrival.arrival.Edges.Own
	}
	for _, at := range p.edges {
		if l.entries[at].answers > 0 {
			letters++
		}
	}
	return joined, letters
}

// EdgesSettled reports whether each edge is joined or has its dead letter.
func (l *Ledger) EdgesSettled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.parted {
		if joined, letters := l.fates(p); !p.disturbed && joined+letters < len(p.edges) {
			return false
		}
	}
	return true
}

// judgeEdges checks that each edge was joined to its arrival or has a dead letter, and exactly once not both. Which of
// the two depends on clocks and on pauses, but most that were sent in time must be joined.
func (l *Ledger) judgeEdges() (all Joined) {
	for _, id := range slices.Sorted(maps.Keys(l.parted)) {
		p := l.parted[id]
		if p.arrival != nil && p.arrival.first == nil {
			continue // it is lost, or was deleted
		}
		joined, letters := l.fates(p)
		all.Edges, all.Letters = all.Edges+len(p.edges), all.Letters+letters
		if p.arrival != nil {
			all.Arrivals++
			if p.arrival.first.Neighbours < p.arrival.arrival.Edges.InTime {
				all.Short++
			}
		}
		if !p.disturbed && (joined > len(p.edges) || joined+letters < len(p.edges) ||
			l.ExactlyOnce && joined+letters > len(p.edges)) {
			l.violated("arrival %s has %d edges as records of their own, of which it was joined to %d and %d have dead letters",
				id, len(p.edges), joined, letters)
		}
	}
	if most := 20 + all.Arrivals/5; all.Short > most {
		l.violated("%d arrivals were predicted without an edge that was sent in time, at most %d of %d may be", all.Short,
			most, all.Arrivals)
	}
	return all
}
