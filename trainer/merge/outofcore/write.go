package outofcore

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"

	"rivulet/dataset"
	"rivulet/dataset/parquet"
	"rivulet/trainer/merge"
	"rivulet/trainer/stage/solved"
)

// splits are the names of roles in tables.
var splits = map[merge.Role]string{merge.Train: "train", merge.Unlabelled: "unlabelled"}

// write writes the files of the grown graph.
func (g *growth) write() error {
	if err := g.disk.MkdirAll(g.dir); err != nil {
		return err
	}
	t := meta{Name: g.base.Stream.Name, Classes: g.base.Classes}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{nodesFile, func(w io.Writer) error { return parquet.WriteNodes(w, pulled(g.nodes(&t.Original))) }},
		{edgesFile, func(w io.Writer) error { return parquet.WriteRows(w, pulled(g.edges)) }},
		{labelledFile, func(w io.Writer) error { return parquet.WriteRows(w, pulled(g.labelledRows)) }},
		{waitingFile, func(w io.Writer) error { return parquet.WriteRows(w, pulled(g.waiting)) }},
		{metaFile, func(w io.Writer) (err error) {
			if g.base.Schema != nil {
				if t.Schema, err = json.Marshal(g.base.Schema); err != nil {
					return err
				}
			}
			return json.NewEncoder(w).Encode(t)
		}},
	} {
		if err := g.disk.WriteFile(g.dir, file.name, file.write); err != nil {
			return err
		}
	}
	return g.disk.SyncDir(g.dir)
}

// errEnough ends a reading whose rows nobody wants any more.
var errEnough = errors.New("enough rows")

// pulled gives what is pushed as a sequence.
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
func (g *growth) nodes(original *int64) func(put func(dataset.NodeRow) error) error {
	return func(put func(dataset.NodeRow) error) error {
		changes := newDecisions(g.changes)
		err := g.base.Stream.EachNode(func(n dataset.StreamNode) error {
			row := dataset.NodeRow{ID: n.ID, Features: n.Features, Label: n.Label, Split: n.Split}
			if row.Split == "" {
				row.Split = "none"
			}
			is, changed, err := changes.on(n.Row)
			switch {
			case err != nil:
				return err
			case changed && is.role == merge.None:
				return nil
			case changed:
				row.Split, row.Label = splits[is.role], g.base.Classes[is.class]
			}
			if role := solved.RoleOf(row.Split); role == solved.Train || role == solved.Unlabelled {
				*original++
			}
			return errors.Join(every(g.ctx, n.Row), put(row))
		})
		if err != nil {
			return err
		}
		joins := newDecisions(g.joins)
		return eachOf(&g.arrivals, func(a *arrivalFeatures) error {
			is, join, err := joins.on(a.Row)
			if err != nil || !join {
				return err
			}
			row := dataset.NodeRow{ID: a.ID, Features: a.Features, Split: splits[is.role]}
			if is.role == merge.Train {
				row.Label = g.base.Classes[is.class]
			}
			*original++
			return errors.Join(every(g.ctx, a.Row), put(row))
		})
	}
}

// edges gives the table of edges and then the new ones, each once: they have an end that has arrived now, and so are
// none of the table's.
func (g *growth) edges(put func(parquet.Ends) error) error {
	err := g.base.Stream.EachEdge(func(row int64, source, target string) error {
		return errors.Join(every(g.ctx, row), put(parquet.Ends{Source: source, Target: target}))
	})
	if err != nil {
		return err
	}
	for k := range g.pairs.files {
		seen := map[parquet.Ends]bool{}
		err := g.pairs.each(k, func(r *record) error {
			ends := parquet.Ends{Source: r.nextText(), Target: r.nextText()}
			if seen[ends] {
				return nil
			}
			seen[ends] = true
			g.Report.Edges++
			return put(ends)
		})
		if err := errors.Join(err, g.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// labelledRows gives the nodes whose class came from a label.
func (g *growth) labelledRows(put func(labelledRow) error) error {
	return g.labelled.each(0, func(r *record) error { return put(labelledRow{r.nextText()}) })
}

// waiting gives the edges that wait, in their order, without the first ones if they are too many.
func (g *growth) waiting(put func(waitingRow) error) error {
	forgotten := g.unknowns - int64(g.Report.WaitingEdges)
	type edge struct {
		order int64
		waitingRow
	}
	for k := range g.unknown.files {
		var edges []edge
		err := g.unknown.each(k, func(r *record) error {
			edges = append(edges, edge{r.nextNumber(), waitingRow{r.nextText(), r.nextText()}})
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(edges, func(a, b edge) int { return int(a.order - b.order) })
		drop := min(forgotten, int64(len(edges)))
		forgotten -= drop
		for _, e := range edges[drop:] {
			if err := put(e.waitingRow); err != nil {
				return err
			}
		}
	}
	return nil
}
