package stream

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/test/chaos/record"
)

// Of every second arrival that has edges of its own, it and they are rows of two tables, which are topics of their own.
// The consumers write both to the topic of arrivals (repartition): the arrival under its id, which the ledger checks,
// and each edge once under the id of each end, which this file checks.

// tables are the rows of a stream's table of edges.
type tables struct {
	mu  sync.Mutex
	all []row
}

// row is an edge of the table.
type row struct {
	read [2]int // how often it was read from the topic of arrivals, under its source and under its target
	gone bool   // it may have been lost with the topic of arrivals before it was read
}

// next returns the number of the next row, as text.
func (t *tables) next() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, row{})
	return strconv.AppendInt(nil, int64(len(t.all)-1), 10)
}

// read notes that a row was read from the topic of arrivals.
func (t *tables) read(number int64, end int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[number].read[end]++
}

// lose notes that records of the topic of arrivals are lost.
func (t *tables) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.all {
		one := &t.all[i]
		one.gone = one.gone || min(one.read[0], one.read[1]) == 0
	}
}

// through reports whether all rows were read that are not gone.
func (t *tables) through() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.all {
		if !one.gone && min(one.read[0], one.read[1]) == 0 {
			return false
		}
	}
	return true
}

// judge counts the rows by their fate, and lists the lost and the doubled ones.
func (t *tables) judge() (summary string, violations []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := 0
	for i, one := range t.all {
		if one.gone {
			gone++
		}
		if max(one.read[0], one.read[1]) > 1 || min(one.read[0], one.read[1]) == 0 && !one.gone {
			violations = append(violations, fmt.Sprintf("edge %d of the table is %d times under its source and %d times "+
				"under its target: it must be there once", i, one.read[0], one.read[1]))
		}
	}
	return fmt.Sprintf("%d edges of the table are once under each of their ends, %d more may be gone", len(t.all)-gone,
		gone), violations
}

// row returns a record for a table, which has no key: the consumers give it one.
func (s *Stream) row(table string, r *kgo.Record) *kgo.Record {
	r.Topic, r.Key = s.Topic(table), nil
	if table == "edges" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: record.HeaderRow, Value: s.tables.next()})
	}
	return r
}

// noteRow notes an edge of the table that was read from the topic of arrivals. It returns the end under whose key the
// edge is, and the other end.
func (s *Stream) noteRow(h record.Headers, key string) (id, neighbour string) {
	id, neighbour = h[record.HeaderArrival], h[record.HeaderNeighbours]
	end := 0
	if key == neighbour {
		id, neighbour, end = neighbour, id, 1
	}
	s.tables.read(h.Number(record.HeaderRow), end)
	return id, neighbour
}

// AllRead reports whether all arrivals that were sent are read from their topic, and all edges of the table.
func (s *Stream) AllRead() bool { return s.Ledger.AllRead() && s.tables.through() }

// sendNode sends an arrival under a key, or as a row of the table of nodes; s.Sending is held.
func (s *Stream) sendNode(ctx context.Context, tabled bool, key []byte, base string, v record.Value) {
	r := s.Record(key, base, v)
	if tabled {
		r = s.row("nodes", r)
	}
	s.gave(r)
	s.produce(ctx, r)
}

// kindEdge is the header of an edge that is no row of the table of edges.
var kindEdge = kgo.RecordHeader{Key: event.HeaderKind, Value: []byte(event.KindEdge)}
