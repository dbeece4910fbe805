package eval

import (
	"context"
	"fmt"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/schema"
	"rivulet/trainer/features"
	"rivulet/trainer/watch"
)

// Compare measures the default model of an artifact on batches of test nodes (dataset indices), such as a stream
// formed them: whole is the accuracy of O→O, the model joined to T batch by batch; served is the accuracy of
// predict on S, whose tables have slots. Both in percent.
func Compare(d *dataset.Dataset, b *artifact.Bundle, batches [][]int32, mode *attach.Mode,
	predict Predictor, slots graph.Slots) (whole, served float64, err error) {
	d, _, err = features.Encode(d, b.Schema, schema.FitOptions{})
	if err != nil {
		return 0, 0, err
	}
	original := d.Original()
	set := Attach(d, original, batches, mode)
	model, err := wholeModel(original, b)
	if err != nil {
		return 0, 0, err
	}
	onS := set.On(b.Mapping.Rows, slots)
	return Run(Plain(model), set).Accuracy(set), Run(predict, onS).Accuracy(onS), nil
}

// WholeGrowing predicts nodes that arrive in an order (dataset indices, none of them in T), as the default model of an
// artifact does on the growing graph: T with all earlier arrivals in it, without their classes, joint, node by node.
// step arrivals at a time share a graph, so that up to step-1 arrivals just before a node are missing in it. It returns
// the predicted classes in order. With own the artifact's expert of own features answers beside the model, if it has
// one.
func WholeGrowing(ctx context.Context, d *dataset.Dataset, b *artifact.Bundle, order []int32, step int, own bool,
	progress watch.Progress) ([]int32, error) {
	d, _, err := features.Encode(d, b.Schema, schema.FitOptions{})
	if err != nil {
		return nil, err
	}
	var out []int32
	for at := 0; at < len(order); at += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress.Step("answering on the whole graph", at, len(order))
		joined := d.Joined(order[:at])
		original := joined.Original()
		model, err := wholeModel(original, b)
		if err != nil {
			return nil, err
		}
		answerer := Plain(model)
		if own {
			answerer.Expert = b.Expert(b.Manifest.DefaultModel)
		}
		nodes := order[at:min(at+step, len(order))]
		out = append(out, Run(answerer, Attach(joined, original, [][]int32{nodes}, attach.Node)).Class...)
	}
	progress.Step("answering on the whole graph", len(order), len(order))
	return out, nil
}

// wholeModel deploys the artifact's default model on T, over the neighbourhood of each batch: micro-batches are
// small beside T. A model that reads types or directions has no joint form, and is frozen on T.
func wholeModel(original *dataset.Original, b *artifact.Bundle) (infer.Deployment, error) {
	for _, m := range b.Models {
		if m.Name != b.Manifest.DefaultModel {
			continue
		}
		built, err := infer.Build(m.Name, m.Params)
		if err != nil {
			return nil, fmt.Errorf("model %s of artifact %s: %w", m.Name, b.Manifest.Version, err)
		}
		inputs := b.Preprocess.Raw(original.X)
		if built.Architecture.Relational() {
			return built.Frozen(built.Tables(original.Edges, inputs), &b.Preprocess), nil
		}
		return built.Neighbourhood(original.Adj, inputs, &b.Preprocess), nil
	}
	return nil, fmt.Errorf("artifact %s has no model %q", b.Manifest.Version, b.Manifest.DefaultModel)
}

// Plain returns a deployment without calibration.
func Plain(d infer.Deployment) *infer.Predictor {
	return &infer.Predictor{Model: d, Calibration: infer.Calibration{Temperature: 1, Kind: propagation.None}}
}
