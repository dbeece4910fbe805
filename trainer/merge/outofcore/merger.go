package outofcore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rivulet/durable"
	"rivulet/event"
	"rivulet/trainer/merge"
)

// Merger gathers arrivals and labels for one graph in files of a directory. It is used by one goroutine at a time.
type Merger struct {
	merge.Counter
	// MaxWaiting is how many edges to ids that have not arrived are kept with the graph, the latest ones; 0: none.
	MaxWaiting int

	base     *Tables
	disk     durable.Disk
	dir      string
	arrivals parts[arrivalRow]
	labels   parts[labelRow]
}

// arrivalRow is an arrival. Row counts from 0.
type arrivalRow struct {
	Row      int64     `parquet:"row"`
	ID       string    `parquet:"id"`
	Features []float32 `parquet:"features,list"`
	Edges    []string  `parquet:"edges,list"`    // without itself and repetitions
	Dropped  int64     `parquet:"dropped_edges"` // of Edges
}

// arrivalHead, arrivalEnds and arrivalFeatures are parts of an arrivalRow.
type (
	arrivalHead struct {
		Row     int64  `parquet:"row"`
		ID      string `parquet:"id"`
		Dropped int64  `parquet:"dropped_edges"`
	}
	arrivalEnds struct {
		Row   int64    `parquet:"row"`
		ID    string   `parquet:"id"`
		Edges []string `parquet:"edges,list"`
	}
	arrivalFeatures struct {
		Row      int64     `parquet:"row"`
		ID       string    `parquet:"id"`
		Features []float32 `parquet:"features,list"`
	}
)

// labelRow is a label of a class that the graph has.
type labelRow struct {
	ID    string `parquet:"id"`
	Class int32  `parquet:"class"`
	// Seconds and Nanoseconds since 1970 are its time if Timed.
	Seconds     int64 `parquet:"seconds"`
	Nanoseconds int32 `parquet:"nanoseconds"`
	Timed       bool  `parquet:"timed"`
}

// NewMerger returns a merger for a graph, which it does not change. Its files are below dir, which must exist; the caller
// removes it once the grown graph is not needed any more.
func NewMerger(base *Tables, dir string, disk durable.Disk) *Merger {
	return &Merger{Counter: merge.NewCounter(), MaxWaiting: merge.DefaultWaiting, base: base, disk: disk, dir: dir,
		arrivals: parts[arrivalRow]{disk: disk, dir: dir, name: "arrivals"},
		labels:   parts[labelRow]{disk: disk, dir: dir, name: "labels"}}
}

// Arrival takes the next arrival and copies the parts that it keeps. One whose features do not fit the graph is counted by
// its reason, and the error, an *event.FieldError, names the field; another error is the disk's. Limits are the
// caller's: it must give only arrivals that a consumer would take.
func (m *Merger) Arrival(a *event.Arrival) error {
	if err := m.Take(a, m.base.Stream.Features); err != nil {
		return err
	}
	row := arrivalRow{Row: m.arrivals.rows, ID: strings.Clone(a.ID), Features: dense(&a.Features, m.base.Stream.Features)}
	kept := event.Arrival{ID: row.ID, Edges: slices.Clone(a.Edges)}
	row.Dropped = int64(kept.NormaliseEdges())
	bytes := len(row.ID) + 4*len(row.Features)
	for _, id := range kept.Edges {
		row.Edges = append(row.Edges, strings.Clone(id)) // edges of one arrival are parts of one string
		bytes += len(id) + 16
	}
	return m.arrivals.add(row, bytes)
}

// dense returns d features.
func dense(f *event.Features, d int) []float32 {
	x := make([]float32, d)
	if !f.Sparse {
		copy(x, f.Values)
		return x
	}
	for p, c := range f.Indices {
		x[c] = f.Values[p]
	}
	return x
}

// Label takes the next label. An error is the disk's.
func (m *Merger) Label(l *event.Label) error {
	class, known := m.Resolve(l, m.base.Classes)
	if !known {
		return nil
	}
	row := labelRow{ID: strings.Clone(l.ID), Class: class, Timed: !l.Time.IsZero()}
	if row.Timed {
		row.Seconds, row.Nanoseconds = l.Time.Unix(), int32(l.Time.Nanosecond())
	}
	return m.labels.add(row, len(row.ID)+64)
}

// at returns the time of a label.
func (l *labelRow) at() time.Time {
	if !l.Timed {
		return time.Time{}
	}
	return time.Unix(l.Seconds, int64(l.Nanoseconds))
}

// Grow returns the graph with the arrivals and labels, in files below the merger's directory, and the report of their
// outcomes. If nothing changed it is the graph as it was, or if anew a copy. It is called once.
func (m *Merger) Grow(ctx context.Context, anew bool) (t *Tables, _ merge.Report, err error) {
	g := &growth{Merger: m, ctx: ctx, dir: filepath.Join(m.dir, "grown")}
	defer func() {
		if err == nil {
			err = g.close()
			return
		}
		_ = g.close() // the caller removes the directory
		err = fmt.Errorf("merging into %s: %w", m.base.Stream.Name, err)
	}()
	for _, step := range []func() error{g.gather, g.resolve, g.ends, g.known} {
		if err := step(); err != nil {
			return nil, m.Report, err
		}
	}
	if !m.Report.Changed() && !anew {
		return m.base, m.Report, nil
	}
	if err := g.write(); err != nil {
		return nil, m.Report, err
	}
	t, err = OpenStored(g.dir)
	return t, m.Report, err
}
