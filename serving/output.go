package serving

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
)

// Values of [Options.Representation].
const (
	RepresentNone      = "none"
	RepresentLogits    = "logits"
	RepresentEmbedding = "embedding"
)

// Representation returns the representation in predictions: "none", "logits" or "embedding".
func (v *Version) Representation() string { return v.representation }

// Embedder gives the layer before the classifier; nil if the version was not made for embeddings.
func (v *Version) Embedder() infer.Embedder { return v.embedder }

// prepare sets the representation of the deployed model.
func (v *Version) prepare(b *artifact.Bundle, made *artifact.Model, representation string) error {
	switch representation {
	case "", RepresentNone:
		v.representation = RepresentNone
	case RepresentLogits:
		v.representation = RepresentLogits
	case RepresentEmbedding:
		v.representation = RepresentEmbedding
		return v.deployEmbedder(b, made)
	default:
		return fmt.Errorf("representation is %q, want %q, %q or %q", representation, RepresentNone, RepresentLogits,
			RepresentEmbedding)
	}
	return nil
}

// deployEmbedder sets the source of embeddings: the deployment itself, or of a frozen SGC its tables of features.
func (v *Version) deployEmbedder(b *artifact.Bundle, made *artifact.Model) error {
	if e, ok := v.predictor.Model.(infer.Embedder); ok {
		v.embedder = e
		return nil
	}
	if b.Slots.Relational() {
		return fmt.Errorf("representation is %q, which %s, a model of edges with types or directions, does not have: want %q",
			RepresentEmbedding, made.Name, RepresentLogits)
	}
	if made.Features == nil {
		return fmt.Errorf("representation is %q, and a frozen %s needs tables of features for it that the artifact lacks: "+
			"train it with trainer train --representation, serve another of its models, or attach jointly",
			RepresentEmbedding, made.Name)
	}
	model, err := infer.Build(made.Name, made.Params)
	if err != nil {
		return err
	}
	v.embedder = model.FrozenFeatures(made.Features, &b.Preprocess)
	return nil
}

// abstain sets the threshold for a coverage; 0 means no threshold.
func (v *Version) abstain(coverage float64) error {
	if coverage == 0 {
		return nil
	}
	if err := v.info.Task.Require(target.Coverage); err != nil {
		return err
	}
	if !(coverage > 0 && coverage <= 1) {
		return fmt.Errorf("coverage is %v, want 0 to 1", coverage)
	}
	kind := v.predictor.Calibration.Kind
	confidence := v.model.Calibration.Confidence
	if kind != propagation.None {
		confidence = v.model.Propagation[kind].Confidence
	}
	threshold, err := confidence.ThresholdAt(coverage)
	if err != nil {
		return fmt.Errorf("a threshold for coverage %v of probabilities with calibration %q: %w", coverage, kind, err)
	}
	v.info.Threshold = threshold
	return nil
}
