package refresh

import (
	"context"
	"errors"
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
		o := &Round{grown: g, Bundle: b, Report: Report{Nodes: g.nodesOfT(), Artifact: g.Artifact(),
			Version: b.Manifest.Version, Data: g.Dir, Finished: b.Manifest.Version}}
		report = &o.Report
		if err := r.publishAgain(ctx, o); err != nil {
			return report, err
		}
		r.Log.Info("published what an earlier refresh had left unpublished", "version", b.Manifest.Version, "graph", g.Dir)
	}
	committed, err := r.commitBehind(ctx)
	if report == nil && committed {
		report = &Report{Nodes: g.nodesOfT(), Data: g.Dir}
	}
	if report != nil {
		report.Committed = committed
	}
	return report, err
}

// publishAgain compares an artifact with the version that serves now, and publishes it.
func (r *Refresher) publishAgain(ctx context.Context, o *Round) error {
	was, release, err := r.serving(ctx)
	if err != nil {
		return err
	}
	defer release()
	if was != nil && was.ID() != o.Report.Version {
		if err := r.compare(ctx, o, was, trainer.Defaults().Batch); err != nil {
			return err
		}
	}
	if was != nil && r.Current == "" {
		id := was.ID()
		o.expect = &id
	}
	return r.toRedis(ctx, o, r.Graph)
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

// Stopped is the error of a refresh that was stopped from outside.
type Stopped struct {
	Doing string // the step that was stopped
	Left  string // the finished steps, and the next refresh's first action
	cause error
}

func (e *Stopped) Error() string { return fmt.Sprintf("stopped while %s: %s", e.Doing, e.Left) }

// Unwrap returns the error of the context.
func (e *Stopped) Unwrap() error { return e.cause }

// stopped turns the error of a context that has ended into a [*Stopped].
func (r *Refresher) stopped(ctx context.Context, o *Report, err error) error {
	if err == nil || ctx.Err() == nil || errors.As(err, new(*Stopped)) {
		return err
	}
	return &Stopped{Doing: r.doing, Left: o.left(), cause: ctx.Err()}
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
