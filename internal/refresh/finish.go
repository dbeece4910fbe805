package refresh

import (
	"context"
	"fmt"

	"rivulet/artifact"
	"rivulet/kafka"
	"rivulet/trainer"
)

// finish does the undone steps of an earlier round, which died or failed: it publishes the artifact of the graph to go
// on from, and commits the graph's offsets. The report is nil if nothing was undone. If the artifact is gone, the next
// round trains anew.
func (r *Refresher) finish(ctx context.Context) (*Report, error) {
	g := r.Graph
	if g.Dir == "" || g.State.Version == "" {
		return nil, nil
	}
	var report *Report
	if r.ToRedis && !g.Published {
		b, err := artifact.ReadAll(g.Artifact())
		if err == nil && b.Manifest.Version != g.State.Version {
			err = fmt.Errorf("it has version %s, want %s", b.Manifest.Version, g.State.Version)
		}
		if err != nil {
			r.Log.Warn("the artifact of the newest graph was never published, and is gone: another one is trained",
				"graph", g.Dir, "error", err)
			r.anew = true
			return nil, nil
		}
		o := &round{Refresher: r, grown: g, bundle: b, Report: Report{Nodes: g.NodesOfT(), Artifact: g.Artifact(),
			Version: b.Manifest.Version, Data: g.Dir, Finished: b.Manifest.Version}}
		report = &o.Report
		if err := o.publishAgain(ctx); err != nil {
			return report, err
		}
		r.Log.Info("published what an earlier refresh had left unpublished", "version", b.Manifest.Version, "graph", g.Dir)
	}
	committed, err := r.commitBehind(ctx)
	if report == nil && committed {
		report = &Report{Nodes: g.NodesOfT(), Data: g.Dir}
	}
	if report != nil {
		report.Committed = committed
	}
	return report, err
}

// publishAgain compares the artifact with the version that serves now, unless that is the same, and publishes it.
func (o *round) publishAgain(ctx context.Context) error {
	defer o.let()
	was, err := o.serving(ctx)
	if err == nil && was != nil && was.ID() != o.Report.Version {
		err = o.compare(ctx, trainer.Defaults().Batch)
	}
	if err != nil {
		return err
	}
	return o.publish(ctx)
}

// commitBehind commits the graph's offsets if the group's are behind them.
func (r *Refresher) commitBehind(ctx context.Context) (bool, error) {
	state := &r.Graph.State
	if r.Arrivals.Group == "" || state.Topic != r.Arrivals.Topic || len(state.Next) == 0 {
		return false, nil
	}
	t, end, err := r.Services.Reader(r.Arrivals.Topic, r.Arrivals.Group)
	if err != nil {
		return false, err
	}
	defer end()
	g, err := t.Group(ctx)
	if err != nil {
		return false, err
	}
	have, err := r.belong(g)
	if err != nil {
		return false, err
	}
	for at, offset := range have {
		if committed, ok := g.Offsets[at]; !ok || committed < offset {
			return true, t.Commit(ctx, have)
		}
	}
	return false, nil
}

// commit stores how far the graph has read the arrivals.
func (r *Refresher) commit(ctx context.Context, next kafka.Offsets) (bool, error) {
	if r.Arrivals.Group == "" || len(next) == 0 {
		return false, nil
	}
	t, end, err := r.Services.Reader(r.Arrivals.Topic, r.Arrivals.Group)
	if err != nil {
		return false, err
	}
	defer end()
	if err := t.Commit(ctx, next); err != nil {
		return false, err
	}
	return true, nil
}
