package merge

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"path/filepath"

	"rivulet/dataset/parquet"
	"rivulet/dataset/table"
	"rivulet/event"
	"rivulet/internal/spill"
	"rivulet/trainer/stage/partition"
)

// splits are the names of roles in tables.
var splits = map[Role]string{Train: "train", Unlabelled: "unlabelled"}

// tableWriter writes grown tables.
type tableWriter struct {
	*growth
	old *Tables
}

func (t *Tables) grow(g *growth) (Graph, error) {
	dir := filepath.Join(g.dir, "grown")
	if err := g.disk.MkdirAll(dir); err != nil {
		return nil, err
	}
	if err := (&tableWriter{g, t}).write(dir); err != nil {
		return nil, err
	}
	return OpenStored(dir)
}

// write writes the files.
func (g *tableWriter) write(dir string) error {
	t := meta{Name: g.old.Name(), Classes: g.old.Classes}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{nodesFile, func(w io.Writer) error { return parquet.WriteNodes(w, pulled(g.nodes(&t.Original))) }},
		{edgesFile, func(w io.Writer) error { return parquet.WriteRows(w, pulled(g.edges)) }},
		{labelledFile, func(w io.Writer) error {
			return parquet.WriteRows(w, pulled(func(put func(labelledRow) error) error {
				return g.labelled.Each(0, func(r *spill.Record) error { return put(labelledRow{r.NextText()}) })
			}))
		}},
		{waitingFile, func(w io.Writer) error {
			return parquet.WriteRows(w, pulled(func(put func(waitingRow) error) error {
				return g.eachUnmatched(func(node, id string, _ property) error { return put(waitingRow{node, id}) })
			}))
		}},
		{metaFile, func(w io.Writer) (err error) {
			if g.old.schema != nil {
				if t.Schema, err = json.Marshal(g.old.schema); err != nil {
					return err
				}
			}
			return json.NewEncoder(w).Encode(t)
		}},
	} {
		if err := g.disk.WriteFile(dir, file.name, file.write); err != nil {
			return err
		}
	}
	return g.disk.SyncDir(dir)
}

// errEnough ends a reading whose rows nobody wants any more.
var errEnough = errors.New("enough rows")

// pulled turns a pushing function into a sequence.
func pulled[T any](push func(put func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := push(func(row T) error {
			if !yield(row, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			var none T
			yield(none, err)
		}
	}
}

// nodes gives the table of nodes with its changes, and then the arrivals that join, and counts nodes of T.
func (g *tableWriter) nodes(original *int64) func(put func(table.Node) error) error {
	return func(put func(table.Node) error) error {
		changes, features := newDecisions(g.changes), newByRow(g.ofNodes, g.nextFeatures)
		err := g.old.Stream.EachNode(func(n table.Node) error {
			row := table.Node{ID: n.ID, Features: n.Features, Label: n.Label, Split: n.Split}
			if row.Split == "" {
				row.Split = "none"
			}
			is, changed, err := changes.on(n.Row)
			f, updated, errFeatures := features.on(n.Row)
			if err = errors.Join(err, errFeatures); updated {
				row.Features = f.Values
			}
			_, gone := g.forgotten[n.ID]
			switch {
			case gone:
				return err
			case err != nil:
				return err
			case changed && is.role == None:
				return nil
			case changed:
				row.Split, row.Label = splits[is.role], g.old.Classes[is.class]
			}
			if role := partition.RoleOf(row.Split); role == partition.Train || role == partition.Unlabelled {
				*original++
			}
			return errors.Join(every(g.ctx, n.Row), put(row))
		})
		if err != nil {
			return err
		}
		return g.eachJoin(func(a *arrival, f event.Features, is decision) error {
			row := table.Node{ID: a.id, Features: f.Values, Split: splits[is.role]}
			if is.role == Train {
				row.Label = g.old.Classes[is.class]
			}
			*original++
			return put(row)
		})
	}
}

// edges gives the table of edges and then the new ones, each once.
func (g *tableWriter) edges(put func(parquet.Ends) error) error {
	err := g.old.eachEdge(g.ctx, func(source, target string, _ property) error {
		if g.forgets(source, target, beforeArrivals) {
			return nil
		}
		return put(parquet.Ends{Source: source, Target: target})
	})
	if err != nil {
		return err
	}
	return g.eachPair(func(p *pair) error {
		g.Report.Edges++
		return put(parquet.Ends{Source: p.low, Target: p.high})
	})
}
