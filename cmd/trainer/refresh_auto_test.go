package main

import (
	"path/filepath"
	"slices"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// A refresh of an artifact whose model and own features were chosen by validation serves the same model, has an expert
// that is fitted and weighed anew, and answers as a training on the merged data does.
func TestRefreshKeepsWhatValidationChose(t *testing.T) {
	// own features say much, edges little
	d, err := generate.Graph(generate.Generator{Name: "own", Nodes: 900, Edges: 1800, Classes: 3, Communities: 9,
		CommunityShare: .1, ClassShare: .2, DegreeExponent: 2.6, Kind: generate.Dense, Features: 20, CommunityTopic: .2,
		ClassTopic: .6, Train: 400, Validation: 250, Test: 250}, 1)
	expect.OK(t, err)
	half, arrivals, labels := halvedBy(d)
	dir := files(t, half, arrivals, labels)
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 18 --models auto --own auto --hidden 4 "+
		"--seed 3"+allDecays)
	first := mustRead(t, dir+"/first").Manifest
	served := func(m *artifact.Manifest) artifact.ModelInfo {
		return m.Models[slices.IndexFunc(m.Models, func(of artifact.ModelInfo) bool { return of.Name == m.DefaultModel })]
	}
	if len(first.Models) != 1 || !first.HasOwn() {
		t.Fatalf("the first artifact has %d models, own features %v: want one model with them", len(first.Models),
			first.HasOwn())
	}
	o, err := runRefresh(t, dir, "--from {}/arrivals.jsonl --labels {}/labels.jsonl --data {}/data --current {}/first "+
		"--out {}/second --data-out {}/later"+allDecays)
	expect.OK(t, err)
	second := mustRead(t, dir+"/second")
	m := &second.Manifest
	if o.Merged.Joined != len(arrivals) || len(m.Models) != 1 || m.DefaultModel != first.DefaultModel || !m.HasOwn() {
		t.Fatalf("the second artifact serves %v with own features %v, the first %s", m.Models, m.HasOwn(),
			first.DefaultModel)
	}
	// the expert is another one: T has twice as many labelled nodes
	was, is := mustRead(t, dir+"/first").Expert(m.DefaultModel), second.Expert(m.DefaultModel)
	if slices.Equal(was.Layers()[0].Self.Data, is.Layers()[0].Self.Data) || served(m).Own == served(&first).Own {
		t.Errorf("the expert was not fitted anew: %+v", served(m).Own)
	}
	mustRun(t, dir, "train --data {}/later --out {}/anew --nodes 18 --models "+m.DefaultModel+
		" --own auto --hidden 4 --seed 3"+allDecays)
	anew := mustRead(t, dir+"/anew")
	later, err := dataset.Open(filepath.Join(dir, "later"), dataset.OpenOptions{})
	expect.OK(t, err)
	logits := func(b *artifact.Bundle) []float32 {
		of := b.Models[0]
		model, err := infer.Build(of.Name, of.Params)
		expect.OK(t, err)
		v := eval.Plain(model.Frozen(of.Tables, &b.Preprocess))
		v.Expert = b.Expert(of.Name)
		set := eval.Attach(later, later.Original(), dataset.Batches(later.Test, 64), attach.Node).On(b.Mapping.Rows, graph.Slots{})
		var out []float32
		for _, batch := range set.Batches {
			l, _ := v.Predict(batch)
			out = append(out, l.Data...)
		}
		return out
	}
	if !slices.Equal(logits(second), logits(anew)) {
		t.Error("the refreshed artifact answers other than one that is trained on the merged data")
	}
}
