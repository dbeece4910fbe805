package trainer

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Compare measures the default model of an artifact on given batches of test nodes (dataset indices), as a stream formed
// them: whole is O→O, the model joined to T batch by batch; served is what predict answers on S. Both in percent.
func Compare(d *dataset.Dataset, b *artifact.Bundle, batches [][]int32, graphBatch bool, predict eval.Predictor) (whole, served float64, err error) {
	original := d.Original()
	set := attach(d, original, batches, graphBatch)
	model, err := wholeModel(original, b)
	if err != nil {
		return 0, 0, err
	}
	onS := set.On(b.Mapping.Rows)
	return eval.Run(plain(model), set).Accuracy(set), eval.Run(predict, onS).Accuracy(onS), nil
}

// wholeModel deploys the artifact's default model on T, over the neighbourhood of each batch: micro-batches are small
// beside T.
func wholeModel(original *dataset.Original, b *artifact.Bundle) (infer.Deployment, error) {
	for _, m := range b.Models {
		if m.Name != b.Manifest.DefaultModel {
			continue
		}
		built, err := infer.Build(m.Name, m.Params)
		if err != nil {
			return nil, fmt.Errorf("model %s of artifact %s: %w", m.Name, b.Manifest.Version, err)
		}
		near, ok := built.(interface {
			Neighbourhood(*graph.CSR, infer.Inputs, *infer.Preprocess) infer.Deployment
		})
		if !ok {
			return built.Joint(original.Adj, b.Preprocess.Raw(original.X), &b.Preprocess), nil
		}
		return near.Neighbourhood(original.Adj, b.Preprocess.Raw(original.X), &b.Preprocess), nil
	}
	return nil, fmt.Errorf("artifact %s has no model %q", b.Manifest.Version, b.Manifest.DefaultModel)
}
