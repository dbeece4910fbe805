package refresh

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rivulet/trainer/prequential"
)

// judge sets the report's alarms about the artifact that serves, given the grown graph, and returns whether another one
// is due. Without [Refresher.Bounds] it always is. It is, too, without an artifact that could be judged, as before the
// first one, and where something is to be forgotten.
func (r *Refresher) judge(ctx context.Context, round *Round) (due bool, err error) {
	if d := round.grown.data(); r.Bounds != nil && d != nil {
		if err := d.RequirePlain("a refresh by alarms (--if-needed)"); err != nil {
			return false, err
		}
	}
	dir := r.Current
	if dir == "" {
		dir = r.Graph.Artifact()
	}
	if m := &round.Report.Merged; r.Bounds == nil || r.anew || dir == "" || m.Removed+m.RemovedEdges > 0 {
		return true, nil
	}
	r.doing = "judging the artifact that serves"
	grown := round.grown.data()
	if grown == nil {
		return false, errors.New("alarms need the graph in memory, and it is in tables: refresh without --if-needed")
	}
	b, err := r.Graph.read(dir)
	if err != nil {
		return false, err
	}
	v, err := prequential.NewVersion(b)
	if err != nil {
		return false, fmt.Errorf("artifact %s cannot be judged: %w", b.Manifest.Version, err)
	}
	data := &b.Manifest.Data
	if data.Features != grown.X.Cols() || !slices.Equal(data.Classes, grown.Classes) {
		return false, fmt.Errorf("artifact %s is for %d features and classes %q, the data have %d and %q", b.Manifest.Version,
			data.Features, data.Classes, grown.X.Cols(), grown.Classes)
	}
	// The artifact's T are the nodes that have a row of M, the arrivals all others. New nodes stand in the order of their
	// arrival.
	known := make(map[string]bool, len(b.Mapping.IDs))
	for _, id := range b.Mapping.IDs {
		known[id] = true
	}
	d := *grown
	var arrivals []int32
	arrived := func(i int32) bool {
		if known[grown.IDs[i]] {
			return false
		}
		arrivals = append(arrivals, i)
		return true
	}
	d.Train = slices.DeleteFunc(slices.Clone(d.Train), arrived)
	d.Unlabelled = slices.DeleteFunc(slices.Clone(d.Unlabelled), arrived)
	slices.Sort(arrivals)
	round.Report.Judged, err = prequential.Judge(ctx, &d, arrivals, v, *r.Bounds, r.Progress)
	return err == nil && len(round.Report.Judged.Alarms) > 0, err
}
