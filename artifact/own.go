package artifact

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/artifact/safetensors"
	"rivulet/infer/architecture"
	"rivulet/infer/perceptron"
)

// ownFile has the weights of the perceptron of own features. It is a part of format 2: without it the models that it
// answers beside would give other predictions.
const ownFile = "own.safetensors"

// ownTensors are the weights of each layer, under the names of PyTorch Geometric's MLP.
func ownTensors(layers []architecture.Layer) (out []safetensors.Tensor) {
	for k, l := range layers {
		out = append(out, safetensors.Dense(fmt.Sprintf("lins.%d.weight", k), "weight, in×out", l.Self),
			safetensors.Float32s(fmt.Sprintf("lins.%d.bias", k), "bias, 1×out", l.Bias, 1, len(l.Bias)))
	}
	return out
}

func decodeOwn(s safetensors.Set) (layers []architecture.Layer, err error) {
	for k := range len(s) / 2 {
		var l architecture.Layer
		if l.Self, err = s.Dense(fmt.Sprintf("lins.%d.weight", k), safetensors.AnyLength, safetensors.AnyLength); err != nil {
			return nil, err
		}
		bias, err := s.Dense(fmt.Sprintf("lins.%d.bias", k), 1, safetensors.AnyLength)
		if err != nil {
			return nil, err
		}
		l.Bias = bias.Data
		layers = append(layers, l)
	}
	if len(s) != 2*len(layers) {
		return nil, fmt.Errorf("%d tensors, want a weight and a bias of each layer", len(s))
	}
	return layers, nil
}

// validateOwn checks that there are weights if a model is answered beside, that they fit the data, and the exponents.
func (b *Bundle) validateOwn() error {
	used := slices.ContainsFunc(b.Manifest.Models, func(m ModelInfo) bool { return m.Own.answers() })
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
	if at < 0 || !b.Manifest.Models[at].Own.answers() {
		return nil
	}
	return &perceptron.Expert{Perceptron: perceptron.New(b.Own, &b.Preprocess),
		Exponents: b.Manifest.Models[at].Own.Exponents}
}

// HasOwn reports whether a perceptron of own features answers beside a model of the artifact.
func (m *Manifest) HasOwn() bool {
	return slices.ContainsFunc(m.Models, func(m ModelInfo) bool { return m.Own.answers() })
}
