package tables

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/propagation"
)

// AddModel adds a model to an artifact without its T: frozen, with tables by the artifact's cluster means, which
// must have been read ([artifact.ReadMeans]). Its temperature is 1, because there are no nodes to calibrate on, and
// the metrics stay unchanged. b becomes a new artifact, created now, to be written to its own directory.
//
// preprocess is the preprocessing of the features on which the model was fitted, which must be the artifact's; the
// artifact's global scale goes into the first weights.
func AddModel(b *artifact.Bundle, m infer.Model, preprocess string, now time.Time) error {
	if kind := b.Preprocess.Kind; kind != preprocess {
		return fmt.Errorf("the artifact's features are preprocessed by %s, the model's by %s: its weights mean other "+
			"features",
			kind, preprocess)
	}
	if slices.ContainsFunc(b.Models, func(of artifact.Model) bool { return of.Name == m.Name() }) {
		return fmt.Errorf("the artifact has a model %s already", m.Name())
	}
	if err := b.Manifest.Task.Require("adding a model to an artifact"); err != nil {
		return err
	}
	if b.Bins != nil || m.Architecture.Relational() {
		return errors.New("the artifact or the model is of a graph with weights of edges, types or directions, for which " +
			"there are no cluster means: train the models together, by --models")
	}
	m, err := Unscale(m, b.Preprocess.Scale)
	if err != nil {
		return err
	}
	onS, err := Later(m, b.Means)
	if err != nil {
		return err
	}
	b.Models = append(slices.Clip(b.Models), artifact.Model{Name: m.Name(), Params: m.Params(), Tables: onS})
	b.Manifest.Models = append(slices.Clip(b.Manifest.Models),
		artifact.ModelInfo{Name: m.Name(), Attachment: artifact.AttachFrozen, FittedOn: "O",
			Calibration: artifact.CalibrationInfo{Kind: propagation.None, Temperature: 1}})
	b.Manifest.Version, b.Manifest.Files = "", nil // they named the old artifact
	b.Manifest.Created, b.Manifest.CreatedBy = now.UTC(), "rivulet trainer"
	return nil
}

// Unscale returns a model of features times scale with the answers of m for the features: x W =
// (scale·x)(W/scale).
func Unscale(m infer.Model, scale float32) (infer.Model, error) {
	params, first := m.Params(), 0
	for _, t := range m.Architecture.Tensors { // the first layer's come first
		if first == len(params) || params[first].Name != m.Architecture.Tensor(0, t) {
			continue // optional
		}
		if p := &params[first]; !t.Bias {
			p.Value = p.Value.Clone()
			for i := range p.Value.Data {
				p.Value.Data[i] /= scale
			}
		}
		first++
	}
	return infer.Build(m.Name(), params)
}
