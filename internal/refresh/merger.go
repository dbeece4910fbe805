package refresh

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"rivulet/dataset"
	"rivulet/durable"
	"rivulet/event"
	"rivulet/trainer"
	"rivulet/trainer/merge"
	"rivulet/trainer/merge/outofcore"
)

// merger merges arrivals and labels into a graph: in memory, or into tables.
type merger interface {
	// Arrival takes the next arrival. An *event.FieldError is counted, other errors are the disk's.
	Arrival(a *event.Arrival) error
	// Label takes the next label. An error is the disk's.
	Label(l *event.Label) error
	Dropped(entries int)
	Refuse(err error)
	RefuseLabel(err error)
	// grow returns the graph with what has been taken, which can be stored if that is anything new, or if anew.
	grow(ctx context.Context, anew bool) (*Graph, merge.Report, error)
}

type inMemory struct{ *merge.Merger }

func (m inMemory) grow(context.Context, bool) (*Graph, merge.Report, error) {
	d, report := m.Dataset()
	return &Graph{Data: d}, report, nil
}

type ofTables struct{ *outofcore.Merger }

func (m ofTables) grow(ctx context.Context, anew bool) (*Graph, merge.Report, error) {
	t, report, err := m.Grow(ctx, anew)
	return &Graph{Tables: t}, report, err
}

// merger returns what merges into the graph.
func (r *Refresher) merger(round *Round) merger {
	if r.Graph.Tables == nil {
		m := merge.New(r.Graph.Data)
		m.MaxWaiting = r.Waiting
		return inMemory{m}
	}
	m := outofcore.NewMerger(r.Graph.Tables, round.scratch, r.Disk)
	m.MaxWaiting = r.Waiting
	return ofTables{m}
}

// scratch makes the directory for the files of a round on a graph of tables, which has a name that [Copies.Lock] removes
// after a crash; empty: the round needs none.
func (r *Refresher) scratch(out, dataOut string) (string, error) {
	if r.Graph.Tables == nil {
		return "", nil
	}
	beside := cmp.Or(dataOut, out)
	if beside == "" {
		return os.MkdirTemp("", "rivulet-refresh-*")
	}
	if err := r.Disk.MkdirAll(filepath.Dir(beside)); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(beside), "."+filepath.Base(beside)+durable.Partial+"*")
}

// discard removes the files that a round has written for itself, but for those of the graph that the next one goes on from.
func (r *Refresher) discard(round *Round) { r.remove(round.scratch) }

// Close removes the files of a graph that was not stored.
func (r *Refresher) Close() { r.remove(r.Graph.scratch) }

func (r *Refresher) remove(scratch string) {
	if scratch == "" {
		return
	}
	if err := r.Disk.RemoveAll(scratch); err != nil {
		r.Log.Warn("files of a refresh are left", "directory", scratch, "error", err)
	}
}

// rows are the tables' for the training.
func (g *Graph) rows(o trainer.Options) trainer.Staged {
	rows := trainer.StagedTables(g.Tables.Stream)
	rows.Classes, rows.Schema = g.Tables.Classes, o.Keep
	return rows
}

// judgesBytes is the memory of the features of validation nodes of tables on which artifacts are compared.
const judgesBytes = 64 << 20

// judges returns the validation nodes: the whole graph, or of tables these alone or a sample of them.
func (g *Graph) judges(ctx context.Context) (*dataset.Dataset, error) {
	if g.Tables == nil {
		return g.Data, nil
	}
	return g.Tables.Judges(ctx, max(1, judgesBytes/int64(4*max(1, g.features()))))
}
