// Package artifacttest makes small valid artifacts for tests.
package artifacttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/growth"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
)

// Size is the size of a bundle; 0 means a small default.
type Size struct {
	Nodes     int // N
	Synthetic int // N'
	Features  int // d
	Classes   int // C
	PerRow    int // k
}

func (s Size) withDefaults() Size {
	for _, field := range []struct {
		value *int
		small int
	}{{&s.Nodes, 20}, {&s.Synthetic, 6}, {&s.Features, 5}, {&s.Classes, 3}, {&s.PerRow, 4}} {
		if *field.value == 0 {
			*field.value = field.small
		}
	}
	s.PerRow = min(s.PerRow, s.Synthetic)
	return s
}

// Bundle returns a valid bundle that is not sealed: an SGC with frozen tables, label and error propagation, and an
// M with a few empty rows. The same seed and size give the same bundle.
func Bundle(seed uint64, size Size) *artifact.Bundle {
	size = size.withDefaults()
	rng := rand.New(rand.NewPCG(seed, 1))
	b := &artifact.Bundle{
		Preprocess: parameters(rng, size.Features),
		Synthetic: artifact.Synthetic{
			Adj:    adjacency(rng, size.Synthetic),
			X:      dense(rng, size.Synthetic, size.Features),
			Labels: make([]int32, size.Synthetic),
		},
		Mapping: &artifact.Mapping{Rows: weights(rng, size)},
	}
	for j := range b.Synthetic.Labels {
		b.Synthetic.Labels[j] = int32(j % size.Classes)
	}
	for i := range size.Nodes {
		b.Mapping.IDs = append(b.Mapping.IDs, fmt.Sprintf("node-%d-é", i))
	}
	b.Models = []artifact.Model{model(rng, b, size)}
	b.Manifest = manifest(seed, b, size)
	return b
}

// Several is a Bundle with all five architectures over its one M, in the order sgc, gcn, sage, appnp, cheby; the
// four that it adds are frozen, without propagation.
func Several(seed uint64, size Size) *artifact.Bundle {
	b, size := Bundle(seed, size), size.withDefaults()
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, m := range others(rng, size) {
		b.Models = append(b.Models, artifact.Model{
			Name: m.Name(), Params: m.Params(), Tables: m.Tables(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X)),
		})
		b.Manifest.Models = append(b.Manifest.Models, artifact.ModelInfo{
			Name: m.Name(), Attachment: artifact.AttachFrozen, FittedOn: "O", WeightDecay: 1e-4,
			Calibration: artifact.CalibrationInfo{Kind: propagation.None, Temperature: 0.8},
		})
	}
	return b
}

// Features are tables of the features on S for a bundle's SGC.
func Features(b *artifact.Bundle) *infer.Tables {
	return Model(b, 0).FeatureTables(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X))
}

// Model is one of a bundle's models.
func Model(b *artifact.Bundle, k int) infer.Model {
	m, err := infer.Build(b.Models[k].Name, b.Models[k].Params)
	if err != nil {
		panic(err)
	}
	return m
}

// Confidence is a measured confidence whose curve falls from 0.9 at half of the nodes to 0.3 at all nodes.
func Confidence() baseline.Confidence {
	return baseline.Confidence{
		ECE:      baseline.CalibrationError{ValidationBefore: new(4.75), ValidationAfter: new(0.0), TestAfter: new(2.5)},
		Coverage: 0.75, Threshold: 0.6,
		Curve: []baseline.CoveragePoint{
			{Coverage: 0.5, Threshold: 0.9, Accuracy: 99}, {Coverage: 0.75, Threshold: 0.6, Accuracy: 97.5},
			{Coverage: 1, Threshold: 0.3, Accuracy: 93.75},
		},
	}
}

// Growth is a random dictionary for solving rows of M of arrivals, for all models of a bundle.
func Growth(seed uint64, b *artifact.Bundle) *artifact.Growth {
	rng := rand.New(rand.NewPCG(seed, 5))
	g := &artifact.Growth{Entries: min(4, b.Manifest.SyntheticNodes), Messages: map[string]growth.Messages{}}
	width := 0
	for _, m := range b.Models {
		parts := growth.Messages{C: growth.Part{Scale: rng.Float32()}, Slots: []float32{1}}
		for range m.Tables.U {
			parts.U = append(parts.U, growth.Part{Scale: rng.Float32()})
		}
		if hidden := m.Tables.C.Cols; hidden > 1 {
			parts.U[0], parts.C = growth.Part{Factor: dense(rng, hidden, 3)}, growth.Part{Factor: dense(rng, hidden, 2)}
		}
		g.Messages[m.Name] = parts
		width += parts.Width(m.Tables)
	}
	g.Dictionary = dense(rng, b.Manifest.SyntheticNodes, width)
	return g
}

// Spread returns a spread of random numbers, in the shapes of a bundle.
func Spread(seed uint64, b *artifact.Bundle) *artifact.Spread {
	rng := rand.New(rand.NewPCG(seed, 6))
	n, d, classes := b.Manifest.SyntheticNodes, b.Manifest.Data.Features, len(b.Manifest.Data.Classes)
	s := &artifact.Spread{Means: dense(rng, n, d), Factor: dense(rng, 3, d), Soft: dense(rng, n, classes),
		SoftSpread: dense(rng, 2, classes), Rank: 3, Decay: 1e-6, SoftDecay: 1e-4}
	for range n {
		s.Weights = append(s.Weights, 1+rng.Float32())
	}
	for range d {
		s.Rest = append(s.Rest, rng.Float32())
	}
	return s
}

// others are small models of the architectures that Bundle has not.
func others(rng *rand.Rand, size Size) []infer.Model {
	const hidden = 4
	first := func() *graph.Dense { return dense(rng, size.Features, hidden) }
	second := func() *graph.Dense { return dense(rng, hidden, size.Classes) }
	b1, b2 := dense(rng, 1, hidden).Data, dense(rng, 1, size.Classes).Data
	made := func(name string, layers ...architecture.Layer) infer.Model {
		a, err := architecture.Lookup(name)
		if err != nil {
			panic(err)
		}
		m, err := infer.New(a, layers, a.Alpha, a.Hops)
		if err != nil {
			panic(err)
		}
		return m
	}
	return []infer.Model{
		made("gcn", architecture.Layer{Neighbours: first(), Bias: b1}, architecture.Layer{Neighbours: second(), Bias: b2}),
		made("sage", architecture.Layer{Neighbours: first(), Self: first(), Bias: b1},
			architecture.Layer{Neighbours: second(), Self: second(), Bias: b2}),
		made("appnp", architecture.Layer{Self: first(), Bias: b1}, architecture.Layer{Self: second(), Bias: b2}),
		Cheby(rng, size, 2),
	}
}

// Cheby is one of the given K, hidden 4.
func Cheby(rng *rand.Rand, size Size, order int) infer.Model {
	size = size.withDefaults()
	const hidden = 4
	weights := []infer.Param{{Name: "convs.0.bias", Value: dense(rng, 1, hidden)},
		{Name: "convs.1.bias", Value: dense(rng, 1, size.Classes)}}
	for k := range order {
		weights = append(weights, infer.Param{Name: fmt.Sprintf("convs.0.lins.%d.weight", k),
			Value: dense(rng, size.Features, hidden)},
			infer.Param{Name: fmt.Sprintf("convs.1.lins.%d.weight", k), Value: dense(rng, hidden, size.Classes)})
	}
	m, err := infer.Build("cheby", weights)
	if err != nil {
		panic(err)
	}
	return m
}

func manifest(seed uint64, b *artifact.Bundle, size Size) artifact.Manifest {
	m := artifact.Manifest{
		Created:   time.Date(2026, 11, 21, 5, 35, 40, int(seed%1e9), time.UTC),
		CreatedBy: "artifacttest", Method: "solved", Seed: seed,
		Data: artifact.Data{
			Name: "test", Fingerprint: "sha256:" + strings.Repeat("0f", 32),
			Nodes: size.Nodes, Edges: 3 * size.Nodes, Features: size.Features,
		},
		SyntheticNodes: size.Synthetic,
		Mapping:        artifact.MappingInfo{Rows: size.Nodes, Entries: b.Mapping.Rows.NNZ(), MaxPerRow: size.PerRow},
		Preprocess:     artifact.PreprocessInfo{Kind: b.Preprocess.Kind, Scale: b.Preprocess.Scale},
		Models: []artifact.ModelInfo{{
			Name: "sgc", Attachment: artifact.AttachFrozen, FittedOn: "O", WeightDecay: 1e-3,
			Calibration: artifact.CalibrationInfo{Kind: propagation.None, Temperature: 1.1},
			Propagation: map[string]artifact.PropagationInfo{
				propagation.Labels: {Alpha: 0.1, Gamma: 0.3, Temperature: 0.9},
				propagation.Errors: {Alpha: 0.7, Gamma: 0, Temperature: 1.2},
			},
		}},
		DefaultModel: "sgc",
		Metrics: []artifact.Metric{
			{Model: "sgc", Setting: "O->S", Batch: "node", Calibration: propagation.None, Accuracy: 93.75},
			{Model: "sgc", Setting: "S->S", SharedM: true, Batch: "graph", Calibration: propagation.Labels, Accuracy: 92.1},
		},
	}
	for c := range size.Classes {
		m.Data.Classes = append(m.Data.Classes, fmt.Sprintf("class %d", c))
	}
	return m
}

// Numbers makes a bundle's task numbers, one for each of its classes, with intervals of 1, 2, ….
func Numbers(b *artifact.Bundle) *artifact.Bundle {
	b.Manifest.Task = target.Number
	for k := range b.Models {
		of, info := &b.Models[k], &b.Manifest.Models[k]
		of.Propagations, info.Propagation, info.Calibration.Confidence = nil, nil, baseline.Confidence{}
		for c := range b.Manifest.Data.Classes {
			info.Radius = append(info.Radius, float64(c+1))
		}
	}
	return b
}

// Links makes a bundle's task links, whose first rows of M are candidates with the unit vectors of its outputs.
func Links(b *artifact.Bundle) *artifact.Bundle {
	Numbers(b).Manifest.Task = target.Links
	for k := range b.Manifest.Models {
		b.Manifest.Models[k].Radius = nil
	}
	n := len(b.Manifest.Data.Classes)
	b.Candidates = &artifact.Candidates{IDs: b.Mapping.IDs[:n], Vectors: graph.Identity(n)}
	return b
}

// Labels makes a bundle's task labels, one for each of its classes, with temperatures of 1, 2, ….
func Labels(b *artifact.Bundle) *artifact.Bundle {
	b.Manifest.Task = target.Labels
	clear(b.Synthetic.Labels)
	for k := range b.Models {
		of, info := &b.Models[k], &b.Manifest.Models[k]
		of.Propagations, info.Propagation, info.Calibration.Kind = nil, nil, propagation.None
		info.Calibration.Confidence = Confidence()
		for c := range b.Manifest.Data.Classes {
			info.Temperatures = append(info.Temperatures, float32(c+1))
		}
	}
	return b
}

func model(rng *rand.Rand, b *artifact.Bundle, size Size) artifact.Model {
	sgc, err := infer.NewSGC(dense(rng, size.Features, size.Classes), dense(rng, 1, size.Classes).Data)
	if err != nil {
		panic(err)
	}
	adj, ready := b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X)
	logits := dense(rng, size.Synthetic, size.Classes)
	labels := b.Synthetic.Labels
	return artifact.Model{
		Name: sgc.Name(), Params: sgc.Params(), Tables: sgc.Tables(adj, ready),
		Propagations: map[string]*infer.Tables{
			propagation.Labels: infer.PropagationTables(adj, infer.LabelSeeds(labels, size.Classes), 0.1),
			propagation.Errors: infer.PropagationTables(adj, infer.ErrorSeeds(labels, logits), 0.7)},
	}
}

// parameters are of each kind in turn.
func parameters(rng *rand.Rand, d int) preprocess.Parameters {
	p := preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	switch rng.IntN(3) {
	case 0:
		p = preprocess.Parameters{Kind: preprocess.L2Center, Scale: 4.7, Mean: dense(rng, 1, d).Data}
	case 1:
		p = preprocess.Parameters{Kind: preprocess.Standardize, Scale: 0.3, Mean: dense(rng, 1, d).Data,
			Std: make([]float32, d)}
		for k := range p.Std {
			p.Std[k] = 0.1 + rng.Float32()
		}
	}
	return p
}

func dense(rng *rand.Rand, r, c int) *graph.Dense {
	m := graph.NewDense(r, c)
	for k := range m.Data {
		m.Data[k] = float32(rng.NormFloat64())
	}
	return m
}

// adjacency is symmetric without a diagonal, about half full.
func adjacency(rng *rand.Rand, n int) *graph.CSR {
	var edges []graph.Edge
	for i := range int32(n) {
		for j := range i {
			if rng.IntN(2) == 0 {
				v := rng.Float32()
				edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}, graph.Edge{Row: j, Col: i, Val: v})
			}
		}
	}
	return withValues(graph.NewCSR(n, n, edges))
}

// weights is an M with 0 to k entries a row.
func weights(rng *rand.Rand, size Size) *graph.CSR {
	var edges []graph.Edge
	for i := range int32(size.Nodes) {
		cols := rng.Perm(size.Synthetic)[:rng.IntN(size.PerRow+1)]
		slices.Sort(cols)
		for _, c := range cols {
			edges = append(edges, graph.Edge{Row: i, Col: int32(c), Val: rng.Float32()})
		}
	}
	return withValues(graph.NewCSR(size.Nodes, size.Synthetic, edges))
}

// withValues keeps a matrix without entries from being a pattern.
func withValues(m *graph.CSR) *graph.CSR {
	if m.Val == nil {
		m.ColIdx, m.Val = []int32{}, []float32{}
	}
	return m
}

// AddOwn gives a bundle a perceptron of own features with a hidden layer, which answers beside its first model.
func AddOwn(seed uint64, b *artifact.Bundle) {
	rng := rand.New(rand.NewPCG(seed, 3))
	d, classes := b.Manifest.Data.Features, len(b.Manifest.Data.Classes)
	layer := func(in, out int) architecture.Layer {
		return architecture.Layer{Self: dense(rng, in, out), Bias: dense(rng, 1, out).Data}
	}
	b.Own = []architecture.Layer{layer(d, 4), layer(4, classes)}
	b.Manifest.Models[0].Own = artifact.OwnInfo{Exponents: perceptron.Exponents{None: 2, Few: 0.5, Many: 1}, Gain: 1.25,
		GainAlone: 8}
}
