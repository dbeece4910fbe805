package serving

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/mapping"
	"rivulet/serving/script"
)

// fieldOtherData is the field of a marker that says that consumers may take the version although it was made of other
// data than the one that they serve.
const fieldOtherData = "other_data"

// OtherDataError means that a version was made of other data than the one that serves. It is not made CURRENT, and a
// consumer does not take it, unless the operator says that this is meant.
type OtherDataError struct {
	Version, Serves string
	Differences     []string
}

// Error names the differences.
func (e *OtherDataError) Error() string {
	return fmt.Sprintf("%s was made of other data than %s, which serves: %s", e.Version, e.Serves,
		strings.Join(e.Differences, "; "))
}

// ErrNotFinite means that an artifact predicts no numbers for its own synthetic nodes.
var ErrNotFinite = errors.New("the artifact gives no finite predictions")

const (
	// sampleIDs is about how many nodes of T are looked up in the version that serves.
	sampleIDs = 2048
	// leastOverlap is the least share of the smaller T that must be in the larger one. A refresh keeps all nodes of T;
	// another data set shares none, or by chance a few small numbers.
	leastOverlap = 0.5
	// mostUnanswered is the largest share of synthetic nodes without a finite prediction: above it the numbers of the
	// artifact itself are at fault, and not one node's.
	mostUnanswered = 0.1
	testNodes      = 256
)

// compare returns an [*OtherDataError] if next was made of other data than was, going by the width, names and classes
// of the data and, if the fingerprints differ, by the ids of T. sample has some rows of M of next. Other errors come
// from Redis. If the rows of was are gone, ids are not compared.
func compare(ctx context.Context, next, was *Version, sample *artifact.Mapping) error {
	var found []string
	is, old := &next.manifest, &was.manifest
	if is.Data.Features != old.Data.Features {
		found = append(found, fmt.Sprintf("arrivals have %d features in place of %d", is.Data.Features, old.Data.Features))
	}
	if is.Task != old.Task {
		found = append(found, fmt.Sprintf("the task is %s in place of %s", is.Task, old.Task))
	}
	if !slices.Equal(is.Data.Classes, old.Data.Classes) {
		found = append(found, fmt.Sprintf("the classes are %.200q in place of %.200q", is.Data.Classes, old.Data.Classes))
	}
	switch {
	case (next.info.Schema == nil) != (was.info.Schema == nil):
		found = append(found, "one has a schema of named features, and the other has none")
	case !slices.Equal(next.info.Names, was.info.Names) && is.Data.Features == old.Data.Features:
		found = append(found, "the positions of features have other names")
	}
	if is.Data.Fingerprint != old.Data.Fingerprint && len(sample.IDs) > 0 {
		share, err := overlap(ctx, next, was, sample.IDs)
		switch {
		case errors.Is(err, mapping.ErrVanished) || errors.Is(err, mapping.ErrDamaged):
		case err != nil:
			return fmt.Errorf("comparing the ids of T with those of %s: %w", was.ID(), err)
		case share < leastOverlap:
			found = append(found, fmt.Sprintf("the two graphs share about %.0f%% of their nodes (fingerprints %.20s and %.20s)",
				100*share, is.Data.Fingerprint, old.Data.Fingerprint))
		}
	}
	if found == nil {
		return nil
	}
	return &OtherDataError{Version: next.ID(), Serves: was.ID(), Differences: found}
}

// overlap estimates the share of the smaller T's nodes that are in the larger T, by ids of next. For example, if T has
// grown to ten times its nodes, a tenth of the ids is known, which is all of the old T: 1.
func overlap(ctx context.Context, next, was *Version, ids []string) (float64, error) {
	rows := make([]attach.Row, len(ids))
	if err := was.rows.Rows(ctx, ids, rows); err != nil {
		return 0, err
	}
	known, read := 0, 0
	for _, row := range rows {
		if !row.Unread {
			read++
		}
		if row.Known {
			known++
		}
	}
	if read == 0 {
		return 1, nil
	}
	n, before := float64(next.manifest.Mapping.Rows), float64(was.manifest.Mapping.Rows)
	return min(1, float64(known)/float64(read)*n/min(n, before)), nil
}

// try predicts some synthetic nodes of an artifact, each attached by a row of M that leads to it. It returns
// [ErrNotFinite] if results are not finite: weights or tables that overflow have passed every check of their form. It
// returns [ErrUntrained] if the model was not trained as the manifest says.
func try(v *Version, b *artifact.Bundle, sample *artifact.Mapping) error {
	n := min(testNodes, b.Synthetic.X.Rows)
	if n == 0 || len(sample.IDs) == 0 {
		return nil
	}
	nodes := make([]int, n)
	for k := range nodes {
		nodes[k] = k * b.Synthetic.X.Rows / n
	}
	batch := &attach.Batch{X: graph.Features{Dense: rawFeatures(b, nodes)}}
	neighbours, leads := rowsTo(sample, nodes)
	usual := attach.Usual(&b.Slots)
	for _, rows := range neighbours {
		for k := range rows {
			rows[k].Edge = usual
		}
	}
	v.Attach(batch, neighbours)
	logits, probabilities := v.Predict(batch)
	bad, same, right := 0, 0, 0
	for k, node := range nodes {
		row := logits.Row(k)
		if !finite(row) || !finite(probabilities.Row(k)) {
			bad++
		}
		if slices.Equal(row, logits.Row(0)) {
			same++
		}
		p := probabilities.Row(k)
		if leads && p[b.Synthetic.Labels[node]] == slices.Max(p) {
			right++
		}
	}
	if float64(bad) > mostUnanswered*float64(n) {
		return fmt.Errorf("%w: of %d of its own synthetic nodes, each attached by a row of M, model %s predicts %d "+
			"with numbers that overflow", ErrNotFinite, n, v.Model(), bad)
	}
	trained := v.manifest.Reference
	accuracy := trained.Models[v.Model()].Accuracy / 100
	const least = 8 // fewer nodes say nothing
	switch {
	case n >= least && same == n:
		return fmt.Errorf("%w: model %s gives the same logits for %d different synthetic nodes: its weights or tables are "+
			"all 0, or alike", ErrUntrained, v.Model(), n)
	case len(sample.Rows.Val) > 0 && slices.Max(sample.Rows.Val) == 0:
		return fmt.Errorf("%w: all %d entries of %d rows of M are 0: nothing would be attached", ErrUntrained,
			len(sample.Rows.Val), len(sample.IDs))
	case trained.Nodes > 0 && b.Preprocess.Centres() && !slices.ContainsFunc(b.Preprocess.Mean, nonzero):
		return fmt.Errorf("%w: all means of the features (preprocess.mean) are 0, and its preprocessing is %s",
			ErrUntrained, b.Preprocess.Kind)
	case n >= least && leads && float64(right) < leastAccuracy*accuracy*float64(n):
		return fmt.Errorf("%w: model %s predicts the class of %.0f%% of its own synthetic nodes, and predicted that of "+
			"%.0f%% of the validation nodes when it was trained: weights, tables or M are not those of the training",
			ErrUntrained, v.Model(), 100*float64(right)/float64(n), 100*accuracy)
	}
	return nil
}

// ErrUntrained means that an artifact does not predict as its training says that it does.
var ErrUntrained = errors.New("the artifact does not predict as its manifest says")

// leastAccuracy is the least accuracy on synthetic nodes, as a share of the accuracy on validation nodes. A model does
// better on the nodes that it was condensed to: 95% after 82% (preset small), and 13% if the sign of one table is
// changed.
const leastAccuracy = 1. / 3

func nonzero(v float32) bool { return v != 0 }

// rawFeatures returns features that the preprocessing turns, roughly, into those of synthetic nodes.
func rawFeatures(b *artifact.Bundle, nodes []int) *graph.Dense {
	p, x := &b.Preprocess, graph.NewDense(len(nodes), b.Synthetic.X.Cols)
	for k, node := range nodes {
		row := x.Row(k)
		for j, v := range b.Synthetic.X.Row(node) {
			if p.Kind != preprocess.None {
				v /= p.Scale
			}
			if p.Kind == preprocess.Standardize {
				v *= p.Std[j]
			}
			if p.Centres() {
				v += p.Mean[j]
			}
			row[j] = v
		}
	}
	return x
}

// rowsTo returns for each synthetic node a row of M that leads to it with the largest weight, and whether most nodes
// have one. Another row stands for one that is not in the sample.
func rowsTo(sample *artifact.Mapping, nodes []int) (rows [][]attach.Row, leads bool) {
	best, weight := map[int32]int{}, map[int32]float32{}
	for i := range sample.IDs {
		row := mapping.RowOf(sample, i)
		for e, c := range row.Cols {
			if row.Vals[e] > weight[c] {
				best[c], weight[c] = i, row.Vals[e]
			}
		}
	}
	found := 0
	for k, node := range nodes {
		at, there := best[int32(node)]
		if there {
			found++
		} else {
			at = k % len(sample.IDs)
		}
		rows = append(rows, []attach.Row{mapping.RowOf(sample, at)})
	}
	return rows, 2*found > len(nodes)
}

func finite(row []float32) bool {
	return !slices.ContainsFunc(row, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) })
}

// sampleOf returns some rows of an artifact's M, evenly over all.
func sampleOf(ctx context.Context, b *artifact.Bundle) (*artifact.Mapping, error) {
	some := &artifact.Mapping{Rows: &graph.CSR{Cols: b.Manifest.SyntheticNodes, RowPtr: []int{0}, Val: []float32{}}}
	every, at := max(1, b.Manifest.Mapping.Rows/sampleIDs), 0
	for p, err := range b.Pieces() {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		for i, id := range p.IDs {
			if at%every == 0 {
				row := mapping.RowOf(p, i)
				some.IDs, some.Rows.Rows = append(some.IDs, strings.Clone(id)), some.Rows.Rows+1
				some.Rows.ColIdx, some.Rows.Val = append(some.Rows.ColIdx, row.Cols...), append(some.Rows.Val, row.Vals...)
				some.Rows.RowPtr = append(some.Rows.RowPtr, len(some.Rows.ColIdx))
			}
			at++
		}
	}
	return some, nil
}

// admit is the gate of an artifact before it is published: it must give finite predictions for each of its models, and
// be made of the same data as the version that CURRENT names (serves, "" for none), unless o.OtherData is set.
func (p *Publisher) admit(ctx context.Context, b *artifact.Bundle, serves string, o PublishOptions) error {
	sample, err := sampleOf(ctx, b)
	if err != nil {
		return err
	}
	var next *Version
	for k := range b.Manifest.Models {
		v, _, err := New(b, mapping.FromArtifact(sample), Options{Model: b.Manifest.Models[k].Name})
		if err == nil {
			err = try(v, b, sample)
		}
		if err != nil {
			return err
		}
		next = v
	}
	if o.OtherData || next == nil {
		return nil
	}
	return p.compareWith(ctx, next, sample, serves, o.Warn)
}

// compareWith compares a version with the one that serves. If the serving one cannot be read, because Redis has lost
// parts of it, that does not keep the new one back: warn is told.
func (p *Publisher) compareWith(ctx context.Context, next *Version, sample *artifact.Mapping, serves string,
	warn func(string)) error {
	if serves == "" || serves == next.ID() {
		return nil
	}
	was, _, err := p.load(ctx, serves)
	if errors.As(err, new(refusal)) {
		if warn != nil {
			warn(fmt.Sprintf("%s, which serves, cannot be compared with %s: %v", serves, next.ID(), err))
		}
		return nil
	}
	if err != nil {
		return err
	}
	return compare(ctx, next, was, sample)
}

// load reads a complete version, and some rows of its M. An error that is not a [refusal] comes from Redis.
func (p *Publisher) load(ctx context.Context, version string) (*Version, *artifact.Mapping, error) {
	id, err := p.client.HGet(ctx, p.keys.Complete(version), mapping.MarkerField).Result()
	if mapping.Failed(err) {
		return nil, nil, fmt.Errorf("reading %s: %w", p.keys.Complete(version), err)
	}
	if id == "" {
		return nil, nil, refuse("version %s: %w", version, ErrIncomplete)
	}
	l := &loader{client: p.client, keys: p.keys, guard: mapping.NewGuard(mapping.GuardOptions{})}
	v, sample, _, err := l.load(ctx, version, id, func() error { return ctx.Err() })
	return v, sample, err
}

// admitStored is the gate of a version in Redis before it becomes CURRENT.
func (p *Publisher) admitStored(ctx context.Context, version, serves string) error {
	if serves == "" || serves == version {
		return nil
	}
	next, sample, err := p.load(ctx, version)
	if errors.Is(err, ErrIncomplete) {
		return fmt.Errorf("setting CURRENT to %q: %w", version, ErrIncomplete)
	}
	if err != nil {
		return fmt.Errorf("reading version %s: %w", version, err)
	}
	return p.compareWith(ctx, next, sample, serves, nil)
}

// allowOther notes in the marker of a complete version that it may follow one of other data: consumers then take it.
func (p *Publisher) allowOther(ctx context.Context, version string) error {
	if err := script.AllowOther.Run(ctx, p.client, []string{p.keys.Complete(version)}).Err(); err != nil {
		return fmt.Errorf("allowing version %s to follow other data: %w", version, err)
	}
	return nil
}
