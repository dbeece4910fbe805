package artifact

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/perceptron"
)

// ownFile has the weights of the perceptron of own features. It is a part of format 2: without it the models that it
// answers beside would give other predictions.
const ownFile = "own.safetensors"

// ownFields visits the weights of each layer, under the names of PyTorch Geometric's MLP.
func (b *Bundle) ownFields(f *fields) {
	if f.reading() {
		b.Own = make([]architecture.Layer, len(f.set)/2)
	}
	for k := range b.Own {
		l := &b.Own[k]
		bias := &graph.Dense{Rows: 1, Cols: len(l.Bias), Data: l.Bias}
		f.dense(fmt.Sprintf("lins.%d.weight", k), "weight, in×out", &l.Self, anyLength, anyLength)
		if f.dense(fmt.Sprintf("lins.%d.bias", k), "bias, 1×out", &bias, 1, anyLength); f.reading() {
			l.Bias = bias.Data
		}
	}
	if f.reading() && len(f.set) != 2*len(b.Own) {
		f.fail("%d tensors, want a weight and a bias of each layer", len(f.set))
	}
}

// validateOwn checks that there are weights if a model is answered beside, that they fit the data, and the exponents.
func (b *Bundle) validateOwn() error {
	used := slices.ContainsFunc(b.Manifest.Models, func(m ModelInfo) bool { return m.Own.Answers() })
	switch {
	case b.Own == nil && used:
		return errors.New("missing, a model of the manifest has own")
	case b.Own == nil:
		return nil
	case !used:
		return errors.New("is there, no model of the manifest has own")
	}
	for k, l := range b.Own {
		if l.Self == nil {
			continue // CheckPerceptron refuses it
		}
		if err := validateDense(l.Self, l.Self.Rows, l.Self.Cols); err != nil {
			return fmt.Errorf("tensor lins.%d.weight: %w", k, err)
		}
		if err := validateFinite(l.Bias, len(l.Bias)); err != nil {
			return fmt.Errorf("tensor lins.%d.bias: %w", k, err)
		}
	}
	return perceptron.Check(b.Own, b.Manifest.Data.Features, len(b.Manifest.Data.Classes))
}

// Expert returns the expert of own features that answers beside a model; nil where the model answers alone. The bundle
// is valid.
func (b *Bundle) Expert(model string) *perceptron.Expert {
	at := slices.IndexFunc(b.Manifest.Models, func(m ModelInfo) bool { return m.Name == model })
	if at < 0 || !b.Manifest.Models[at].Own.Answers() {
		return nil
	}
	return &perceptron.Expert{Perceptron: perceptron.New(b.Own, &b.Preprocess),
		Exponents: b.Manifest.Models[at].Own.Exponents}
}

// HasOwn reports whether a perceptron of own features answers beside a model of the artifact.
func (m *Manifest) HasOwn() bool {
	return slices.ContainsFunc(m.Models, func(m ModelInfo) bool { return m.Own.Answers() })
}
