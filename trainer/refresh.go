package trainer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer/attach"
	"rivulet/trainer/eval"
)

// Inherit returns the options of a run that made an artifact, as far as they are in its manifest: method, models
// (the default first), N', k, the hidden layers and hops, preprocessing, propagation, own features, coverage and seed.
// It is an error if the method cannot be run by its name, such as that of an ablation.
func Inherit(m *artifact.Manifest) (Options, error) {
	o := Defaults()
	if method, known := methodOf(m.Method); !known || method.comparison {
		return o, fmt.Errorf("artifact %s was made by method %q, which cannot be run again by its name: want one of %s",
			m.Version, m.Method, strings.Join(Methods(), ", "))
	}
	o.Method, o.Nodes, o.Preprocess, o.Seed = m.Method, m.SyntheticNodes, m.Preprocess.Kind, m.Seed
	if o.Method == MethodSolved && m.Mapping.MaxPerRow > 0 {
		o.Entries = m.Mapping.MaxPerRow
	}
	o.Means = m.HasMeans()
	if !m.HasOwn() {
		o.Own = OwnNever
	}
	o.Map, o.MapIDs = m.HasMap(), m.MapIDs || !m.HasMap()
	o.Models, o.Propagate = nil, false
	for _, model := range m.Models {
		o.Propagate = o.Propagate || len(model.Propagation) > 0
		o.Models = append(o.Models, model.Name)
		if model.Hidden > 0 {
			o.Hidden = model.Hidden
		}
		o.Layers, o.Hops = max(o.Layers, model.Layers), max(o.Hops, model.Hops)
		if model.Calibration.Confidence.Coverage > 0 {
			o.Coverage = model.Calibration.Confidence.Coverage
		}
	}
	slices.SortStableFunc(o.Models, func(a, b string) int { // the default comes first
		switch m.DefaultModel {
		case b:
			return 1
		case a:
			return -1
		}
		return 0
	})
	return o, o.Validate()
}

// ServedArtifact is an artifact that serves: a version of package serving.
type ServedArtifact interface {
	eval.Predictor
	// Rows fills rows[i] with the row of M of the node ids[i].
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
	// Features returns d, Classes the names of the C classes, SyntheticNodes N'.
	Features() int
	Classes() []string
	SyntheticNodes() int
}

// Validate returns the accuracy in percent of an artifact, as it is served, on the validation nodes of a data set,
// each on its own, as if they arrived now. Their neighbours are known as far as the artifact has rows for their
// ids, so artifacts of a graph before and after growth can be compared on the same nodes. It is an error if the
// artifact is for other features or classes than the data's.
func Validate(ctx context.Context, d *dataset.Dataset, served ServedArtifact, size int) (float64, error) {
	if got, want := served.Features(), d.X.Cols(); got != want {
		return 0, fmt.Errorf("the artifact is for %d features, the data have %d", got, want)
	}
	if got := served.Classes(); !slices.Equal(got, d.Classes) {
		return 0, fmt.Errorf("the artifact's classes are %q, those of the data %q", got, d.Classes)
	}
	set := &eval.Set{}
	for _, nodes := range dataset.Batches(d.Validation, size) {
		b, err := lookUp(ctx, d, served, nodes)
		if err != nil {
			return 0, err
		}
		set.Batches, set.Labels = append(set.Batches, b), append(set.Labels, take(d.Labels, nodes))
	}
	return eval.Run(served, set).Accuracy(set), ctx.Err()
}

// MaxDrop is the default number of points of accuracy on the validation nodes by which a refreshed artifact may be
// worse than the one that serves.
const MaxDrop = 1.0

// Comparison holds the accuracies of a new artifact and of the one that serves on the same validation nodes.
type Comparison struct {
	Validation float64  // accuracy in percent of the new one
	Before     *float64 // the same of the one that serves; nil if there is none
}

// CompareServed validates a new artifact on d and the one that serves, which is nil if there is none, on before: the
// same data with features in its positions.
func CompareServed(ctx context.Context, d, before *dataset.Dataset, is, was ServedArtifact, size int) (Comparison,
	error) {
	var c Comparison
	var err error
	if c.Validation, err = Validate(ctx, d, is, size); err != nil || was == nil {
		return c, err
	}
	accuracy, err := Validate(ctx, before, was, size)
	if err != nil {
		return c, fmt.Errorf("the artifact that answers now: %w", err)
	}
	c.Before = &accuracy
	return c, nil
}

// Worse reports whether the new artifact is worse by more than a number of points.
func (c Comparison) Worse(points float64) bool {
	return c.Before != nil && c.Validation < *c.Before-points
}

// lookUp attaches nodes of a data set through the rows of M of their neighbours' ids, as a consumer attaches
// arrivals.
func lookUp(ctx context.Context, d *dataset.Dataset, served ServedArtifact, nodes []int32) (*attach.Batch, error) {
	var ids []string
	neighbours := make([][]attach.Row, len(nodes))
	for _, i := range nodes {
		ids = d.AppendNeighbours(ids, i)
	}
	rows := make([]attach.Row, len(ids))
	if len(ids) > 0 {
		if err := served.Rows(ctx, ids, rows); err != nil {
			return nil, fmt.Errorf("reading the rows of M of validation nodes' neighbours: %w", err)
		}
	}
	for k, i := range nodes {
		n := d.Adj.RowLen(int(i))
		neighbours[k], rows = rows[:n:n], rows[n:]
	}
	b := &attach.Batch{X: d.X.Take(nodes)}
	b.Attach(neighbours, served.SyntheticNodes())
	return b, nil
}
