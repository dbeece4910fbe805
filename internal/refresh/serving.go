package refresh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/kafka/retry"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/trainer/eval"
	"rivulet/trainer/links"
)

// lookupTimeout bounds one request for rows of M.
const lookupTimeout = 2 * time.Second

// serving returns the version that serves now, nil if there is none; release releases it.
func (r *Refresher) serving(ctx context.Context) (v *serving.Version, release func(), err error) {
	release = func() {}
	if r.Current != "" {
		b, err := artifact.ReadAll(r.Current)
		if err != nil {
			return nil, release, err
		}
		v, _, err = serving.New(b, mapping.FromBundle(b), serving.Options{})
		return v, release, err
	}
	if !r.ToRedis {
		return nil, release, nil
	}
	client, prefix, err := r.Services.Redis()
	if err != nil {
		return nil, release, err
	}
	v, let, err := r.current(ctx, client, prefix)
	if v == nil {
		_ = client.Close()
		return nil, release, err
	}
	return v, func() {
		let()
		_ = client.Close()
	}, nil
}

// holderName returns the name under which Redis notes that this refresh holds a version. No two refreshes have the same
// name, or the first that ends would release the other's version.
func holderName() string { return "refresh-" + rand.Text() }

// publisher opens Redis; the caller ends with done.
func (r *Refresher) publisher() (p *serving.Publisher, done func(), err error) {
	client, prefix, err := r.Services.Redis()
	if err != nil {
		return nil, nil, err
	}
	if p, err = serving.NewPublisher(client, prefix); err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	return p, func() { _ = client.Close() }, nil
}

// inUse returns a function that reports whether CURRENT or the heartbeat of a process names a version of the
// artifacts in Redis; without ToRedis none is named.
func (r *Refresher) inUse(ctx context.Context) (func(version string) bool, error) {
	if !r.ToRedis {
		return func(string) bool { return false }, nil
	}
	p, done, err := r.publisher()
	if err != nil {
		return nil, err
	}
	defer done()
	infos, err := p.Versions(ctx)
	if err != nil {
		return nil, err
	}
	return func(version string) bool {
		return slices.ContainsFunc(infos, func(v serving.VersionInfo) bool {
			return v.Version == version && (v.Current || len(v.Holders) > 0)
		})
	}, nil
}

// Prune removes the unused copies of old rounds. It keeps the graph to go on from and the artifact to compare with,
// versions that CURRENT or a process names, and the other given directories.
func (r *Refresher) Prune(ctx context.Context, c *Copies, others ...string) (removed []string, err error) {
	if c.Keep < 0 {
		return nil, nil
	}
	r.doing = "removing old copies"
	used, err := r.inUse(ctx)
	if err != nil {
		return nil, err
	}
	return c.Prune(append(others, r.Graph.Dir, r.Current), used)
}

// current returns the version that CURRENT names, nil if it names none, and keeps it from being removed until let is
// called.
func (r *Refresher) current(ctx context.Context, client mapping.Client,
	prefix string) (v *serving.Version, let func(), err error) {
	p, err := serving.NewPublisher(client, prefix)
	if err != nil {
		return nil, nil, err
	}
	if name, err := p.Current(ctx); err != nil || name == "" {
		return nil, nil, err
	}
	w, err := serving.NewWatcher(client,
		serving.WatcherOptions{Prefix: prefix, Consumer: holderName(), LookupTimeout: lookupTimeout,
			Clock: retry.SystemClock{}, Log: r.Log})
	if err != nil {
		return nil, nil, err
	}
	err = w.Load(ctx)
	holding, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { // its heartbeat protects the version until it ends
		defer close(ended)
		_ = w.Run(holding) // nil once its context has ended
	}()
	let = func() {
		stop()
		<-ended
	}
	if err != nil {
		let()
		return nil, nil, fmt.Errorf("reading the version that CURRENT names: %w", err)
	}
	return w.Current(), let, nil
}

// MaxDrop is the default number of points of accuracy on the validation nodes by which a refreshed artifact may be
// worse than the one that serves.
const MaxDrop = 1.0

// questions are the validation nodes on which versions are compared.
type questions struct {
	nodes *dataset.Dataset
	// links are the edges of a task of links that were held out; nil: the task is another one.
	links func(vectors *graph.Dense) *target.Queries
	// candidates are the ids of the candidates that all versions have, of a task of links.
	candidates []string
}

// ask returns questions of a data set to versions, which may be nil. The links that are held out are the same in each
// round.
func ask(d *dataset.Dataset, versions ...*serving.Version) (q *questions, err error) {
	q = &questions{nodes: d}
	if len(d.Validation) == 0 {
		return nil, errors.New("the data have no validation nodes, by which a refreshed version is compared with the one " +
			"that it replaces: train on data that have some")
	}
	if d.Task.Truth() != target.Neighbours {
		return q, nil
	}
	counts := map[string]int{}
	versions = slices.DeleteFunc(versions, func(v *serving.Version) bool { return v == nil || v.Info().Candidates == nil })
	for _, v := range versions {
		for _, id := range v.Info().Candidates.IDs() {
			if counts[id]++; counts[id] == len(versions) {
				q.candidates = append(q.candidates, id)
			}
		}
	}
	q.nodes, q.links, err = links.Ask(d, q.candidates, mathrand.New(mathrand.NewPCG(1, 1)))
	return q, err
}

// score returns the figure in percent by which a version is judged, as it is served: the accuracy of classes, or that
// of [eval.Answer.Score] for another task. It answers the validation nodes each on its own, as if they arrived now.
// Their neighbours are known as far as the version has rows for their ids, so versions of a graph before and after
// growth can be compared on the same nodes. It is an error if the version is for other features, edges or classes than
// the data's.
func (q *questions) score(ctx context.Context, served *serving.Version, size int) (float64, error) {
	d := q.nodes
	if got, want := served.Info().Features, d.X.Cols(); got != want {
		return 0, fmt.Errorf("the artifact is for %d features, the data have %d", got, want)
	}
	if got := served.Info().Task; got != d.Task {
		return 0, fmt.Errorf("the artifact's task is %s, that of the data %s", got, d.Task)
	}
	if got := served.Info().Classes; d.Task.Truth() != target.Neighbours && !slices.Equal(got, d.Classes) {
		return 0, fmt.Errorf("the artifact's %s are %q, those of the data %q", d.Task.Outputs(), got, d.Classes)
	}
	if !served.Info().Slots.SameRelations(&d.By) {
		return 0, errors.New("the artifact reads other types or directions of edges than the data have")
	}
	set, err := eval.LookUp(ctx, d, served, d.Validation, size, false)
	if err != nil {
		return 0, fmt.Errorf("attaching validation nodes: %w", err)
	}
	if q.links != nil {
		set.Queries = q.links(served.Info().Candidates.Vectors(q.candidates))
	}
	return eval.Run(served, set).Score(set), ctx.Err()
}
