// Package version describes an artifact that is served to the programs that ask it for predictions. It lies below both:
// package serving makes versions, and package consumer asks them, and neither sees the other.
package version

import (
	"context"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/retrieval"
	"rivulet/infer/target"
	"rivulet/schema"
)

// Info describes a version. It does not change while the version is served.
type Info struct {
	// ID is the artifact's version, as predictions name it.
	ID string

	// Task is the version's task. Where it is numbers, both results of its Predict are the numbers.
	Task target.Task
	// Classes are the names of the C classes, labels or outputs, by index.
	Classes []string
	// Radius is half the width of the interval of each output; nil where the task is not numbers.
	Radius []float64
	// Candidates are the nodes that a link may lead to, and Predict returns embeddings; nil where the task is not links.
	Candidates *retrieval.Index
	// Threshold is the probability of the predicted class below which a prediction abstains; 0: none does.
	Threshold float32

	// Features is d, the number of raw features of an arrival.
	Features int
	// Schema makes rows of features by name; nil: features have positions only.
	Schema *schema.Schema
	// Names are the names of the d features by position; nil without a schema.
	Names []string

	// SyntheticNodes is N', the number of columns of M.
	SyntheticNodes int
	// Slots are the tables that edges read: by weight, or by type and direction. Where the batch is joined to S they are
	// one slot, with weights as they are.
	Slots graph.Slots
	// Joint says whether arrivals of a batch change each other's predictions even without an edge between them.
	Joint bool
}

// Growth makes arrivals nodes that later arrivals attach to: it gives each a row of M. All consumers of a version share
// the rows.
type Growth interface {
	// Find fills rows[i] for ids[i], which is not in T, if an arrival of that id has a row.
	Find(ctx context.Context, ids []string, rows []attach.Row) error
	// Solve solves rows for the arrivals of a batch.
	Solve(b *attach.Batch) *growth.Solution
	// Keep writes rows, each in place of the one that its id has. It may be called again with the same rows.
	Keep(ctx context.Context, arrived []growth.ArrivalRow) error
}
