package eval

import (
	"math"

	"rivulet/artifact/baseline"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/schema"
)

// Reference returns the figures of a model's answer with which a consumer compares its stream.
func (a *Answer) Reference(set *Set, classes int) baseline.ModelReference {
	m := baseline.ModelReference{Accuracy: a.Score(set), Classes: make([]float64, classes)}
	m.Confidence = min(1, set.Task.Shares(m.Classes, a.Probabilities))
	return m
}

// Reference returns the figures of the validation nodes, which support has in node batches on T.
func Reference(d *dataset.Dataset, support *Set, s *schema.Schema) baseline.Reference {
	out := baseline.Reference{Nodes: len(d.Validation), Models: map[string]baseline.ModelReference{}}
	neighbours, known := 0, 0
	for _, i := range d.Validation {
		neighbours += d.Adj.RowLen(int(i))
	}
	for _, b := range support.Batches {
		for _, n := range b.Known {
			known += int(n)
		}
	}
	if neighbours > 0 {
		out.UnknownNeighbours = 1 - float64(known)/float64(neighbours)
	}
	x := d.X.Take(d.Validation)
	out.FeatureNorm, out.FeatureCount = featureHistograms(x)
	out.Named = namedHistograms(s, x)
	return out
}

// featureHistograms returns histograms of the rows' L2 norms and of their numbers of non-zeros.
func featureHistograms(x graph.Features) (norm, count baseline.Histogram) {
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
	return baseline.NewHistogram(norms), baseline.NewHistogram(counts)
}

// namedHistograms returns histograms of the rows' measures by the schema's features; nil without a schema.
func namedHistograms(s *schema.Schema, x graph.Features) map[string]baseline.Histogram {
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
	out := make(map[string]baseline.Histogram, len(names))
	for k, name := range names {
		out[name] = baseline.NewHistogram(values[k])
	}
	return out
}
