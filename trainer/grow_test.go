package trainer

import (
	"slices"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/nnls"
	"rivulet/test/expect"
)

// An artifact stores the dictionary with which M was solved: T's own messages give M, bit for bit.
func TestSection5GrowthSolvesM(t *testing.T) {
	d := small(t, generate.BagOfWords)
	o := options(18)
	o.Models, o.Hidden = []string{modelSGC, "gcn"}, 8
	for _, method := range []string{MethodSolved, MethodCluster} {
		o.Method = method
		b := mustTrain(t, d, o).Bundle
		expect.OK(t, b.Validate())
		targets := ownMessages(t, d, b)
		rows := nnls.Rows(b.Growth.Dictionary, targets, b.Growth.Entries)
		same := slices.Equal(rows.ColIdx, b.Mapping.Rows.ColIdx) && slices.Equal(rows.Val, b.Mapping.Rows.Val)
		if same != (method == MethodSolved) {
			t.Errorf("method %s: the dictionary gives M itself: %v", method, same)
		}
	}
}

// ownMessages are the messages of T's nodes, N×p.
func ownMessages(t *testing.T, d *dataset.Dataset, b *artifact.Bundle) *graph.Dense {
	t.Helper()
	original := d.Original()
	var blocks []*graph.Dense
	for _, m := range b.Models {
		model, err := infer.Build(m.Name, m.Params)
		expect.OK(t, err)
		parts := b.Growth.Messages[m.Name]
		blocks = append(blocks, parts.Of(model.Tables(original.Adj, b.Preprocess.Raw(original.X))))
	}
	return graph.Beside(blocks...)
}
