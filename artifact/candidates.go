package artifact

import (
	"errors"
	"fmt"

	"rivulet/graph"
	"rivulet/infer/target"
)

// candidatesFile has the candidates of a task of links. It is a part of format 2: without it a reader would take the
// embeddings of arrivals for their predictions.
const candidatesFile = "candidates.safetensors"

// Candidates are the nodes with which a task of links answers: their scores are the dot products of their vectors with
// the output of the model for an arrival.
type Candidates struct {
	IDs     []string     // distinct
	Vectors *graph.Dense // a row a candidate, as long as the model has outputs
}

func (c *Candidates) fields(f *fields, outputs int) {
	f.dense("vectors", "embeddings of the candidates, candidates×outputs", &c.Vectors, anyLength, outputs)
	if f.err == nil {
		f.ids(idsAbout, "the ids of the candidates, UTF-8, one after another", &c.IDs, c.Vectors.Rows)
	}
}

// validateCandidates checks that a task of links, and no other, has candidates, with finite vectors of the model's
// length.
func (b *Bundle) validateCandidates() error {
	switch links := b.Manifest.Task.Truth() == target.Neighbours; {
	case b.Candidates == nil && links:
		return errors.New("missing, the task is links")
	case b.Candidates == nil:
		return nil
	case !links:
		return fmt.Errorf("is there, the task is %s", b.Manifest.Task)
	case len(b.Candidates.IDs) == 0:
		return errors.New("has no candidate")
	}
	if err := validateDense(b.Candidates.Vectors, len(b.Candidates.IDs), len(b.Manifest.Data.Classes)); err != nil {
		return fmt.Errorf("tensor vectors: %w", err)
	}
	return validateIDs(b.Candidates.IDs, len(b.Candidates.IDs))
}
