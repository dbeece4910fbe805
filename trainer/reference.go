package trainer

import (
	"math"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/schema"
	"rivulet/trainer/eval"
)

// reference returns the figures of the validation nodes, each on its own, and of the served models' predictions for
// them.
func (t *task) reference(r *recipe) artifact.Reference {
	support := t.set(t.data.Validation, NodeBatch)
	out := artifact.Reference{Nodes: len(t.data.Validation), Models: map[string]artifact.ModelReference{}}
	neighbours, known := 0, 0
	for _, i := range t.data.Validation {
		neighbours += t.data.Adj.RowLen(int(i))
	}
	for _, b := range support.Batches {
		known += b.R.NNZ()
	}
	if neighbours > 0 {
		out.UnknownNeighbours = 1 - float64(known)/float64(neighbours)
	}
	out.FeatureNorm, out.FeatureCount = featureHistograms(t.data.X.Take(t.data.Validation))
	out.Named = namedHistograms(t.options.Keep, t.data.X.Take(t.data.Validation))
	for k, p := range r.placed {
		set := p.on(support)
		out.Models[p.model.Name()] = modelReference(eval.Run(r.predictor(k), set), set, t.classes())
	}
	return out
}

func modelReference(a *eval.Answer, set *eval.Set, classes int) artifact.ModelReference {
	m := artifact.ModelReference{Accuracy: a.Accuracy(set), Classes: make([]float64, classes)}
	n := float64(len(a.Class))
	for _, p := range a.Probabilities {
		for i := range p.Rows {
			c := infer.ArgMax(p.Row(i))
			m.Classes[c] += 1 / n
			m.Confidence += float64(p.Row(i)[c]) / n
		}
	}
	m.Confidence = min(1, max(0, m.Confidence))
	return m
}

// featureHistograms returns histograms of the rows' L2 norms and of their numbers of non-zeros.
func featureHistograms(x graph.Features) (norm, count artifact.Histogram) {
	norms, counts := make([]float64, x.Rows()), make([]float64, x.Rows())
	for i := range norms {
		x.Each(i, func(_ int, v float32) {
			norms[i] += float64(v) * float64(v)
			if v != 0 {
				counts[i]++
			}
		})
		norms[i] = math.Sqrt(norms[i])
	}
	return artifact.NewHistogram(norms), artifact.NewHistogram(counts)
}

// namedHistograms returns histograms of the rows' measures by the schema's features; nil without a schema.
func namedHistograms(s *schema.Schema, x graph.Features) map[string]artifact.Histogram {
	if s == nil {
		return nil
	}
	names := s.Measures()
	values, one := make([][]float64, len(names)), make([]float32, len(names))
	for i := range x.Rows() {
		if x.Sparse != nil {
			indices, of := x.Sparse.Row(i)
			s.Measure(one, indices, of)
		} else {
			s.Measure(one, nil, x.Dense.Row(i))
		}
		for k, v := range one {
			values[k] = append(values[k], float64(v))
		}
	}
	out := make(map[string]artifact.Histogram, len(names))
	for k, name := range names {
		out[name] = artifact.NewHistogram(values[k])
	}
	return out
}
