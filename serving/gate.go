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
	"rivulet/infer"
	"rivulet/mapping"
)

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
	if !slices.Equal(is.Data.Classes, old.Data.Classes) {
		found = append(found, fmt.Sprintf("the classes are %.200q in place of %.200q", is.Data.Classes, old.Data.Classes))
	}
	switch {
	case (next.schema == nil) != (was.schema == nil):
		found = append(found, "one has a schema of named features, and the other has none")
	case !slices.Equal(next.names, was.names) && is.Data.Features == old.Data.Features:
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

// overlap estimates the share of the smaller T's nodes that are in the larger T, by ids of next. For example, of a T
// that has grown to ten times its nodes a tenth of the ids is known, which is all of the old T: 1.
func overlap(ctx context.Context, next, was *Version, ids []string) (float64, error) {
	rows := make([]infer.Row, len(ids))
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

// try predicts some synthetic nodes of an artifact, each attached by one row of M, and returns [ErrNotFinite] if the
// results are no numbers: weights or tables that overflow have passed every check of their form.
func try(v *Version, b *artifact.Bundle, sample *artifact.Mapping) error {
	x := b.Synthetic.X
	n := min(testNodes, x.Rows)
	if n == 0 || len(sample.IDs) == 0 {
		return nil
	}
	features := graph.NewDense(n, x.Cols)
	neighbours := make([][]infer.Row, n)
	for k := range n {
		copy(features.Row(k), x.Row(k*x.Rows/n))
		neighbours[k] = []infer.Row{mapping.RowOf(sample, k%len(sample.IDs))}
	}
	batch := &infer.Batch{X: graph.Features{Dense: features}}
	batch.Attach(neighbours, v.SyntheticNodes())
	logits, probabilities := v.Predict(batch)
	bad := 0
	for k := range n {
		if !finite(logits.Row(k)) || !finite(probabilities.Row(k)) {
			bad++
		}
	}
	if float64(bad) > mostUnanswered*float64(n) {
		return fmt.Errorf("%w: of %d of its own synthetic nodes, each attached by a row of M, model %s predicts %d "+
			"with numbers that overflow", ErrNotFinite, n, v.Model(), bad)
	}
	return nil
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

// admit is the gate of an artifact that is to be published: it must give finite predictions for each of its models,
// and be of the data of the version that CURRENT names (serves, "" for none), unless o.OtherData is set.
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

// compareWith compares a version with the one that serves. One that cannot be read, because it was published by an
// older build or Redis has lost parts of it, is no reason to keep it: warn is told.
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
	id, err := p.client.HGet(ctx, p.keys.complete(version), mapping.MarkerField).Result()
	if mapping.Failed(err) {
		return nil, nil, fmt.Errorf("reading %s: %w", p.keys.complete(version), err)
	}
	if id == "" {
		return nil, nil, refuse("version %s: %w", version, ErrIncomplete)
	}
	l := &loader{client: p.client, keys: p.keys, guard: mapping.NewGuard(mapping.GuardOptions{})}
	v, sample, _, err := l.load(ctx, version, id, func() error { return ctx.Err() })
	return v, sample, err
}

// admitStored is the gate of a version in Redis that is to become CURRENT.
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
	if err := allowOther.Run(ctx, p.client, []string{p.keys.complete(version)}).Err(); err != nil {
		return fmt.Errorf("allowing version %s to follow other data: %w", version, err)
	}
	return nil
}
