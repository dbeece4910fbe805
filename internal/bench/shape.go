package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// Shape has the sizes of a graph, its condensed one and its arrivals.
type Shape struct {
	Name      string
	Original  int // N, nodes of T
	Entries   int // of T's adjacency matrix, two an edge
	Synthetic int // N'
	Features  int // d
	Classes   int // C
	Words     int // features of a node that are not 0; 0: features are dense
	Edges     int // per arrival, to T
	Strangers int // per arrival: edges to nodes that are not in T, which only its record has
}

// Shapes are the sizes of presets pubmed, flickr and reddit (package dataset), S at 1%, 0.5% and 0.1% of T.
func Shapes() []Shape {
	return []Shape{
		{"pubmed", 18_217, 75_700, 182, 500, 3, 50, 4, 1},
		{"flickr", 44_625, 449_878, 223, 500, 7, 27, 10, 10},
		{"reddit", 153_431, 10_070_000, 154, 602, 41, 0, 66, 34},
	}
}

const (
	hidden     = 256 // units of models that have a hidden layer
	mapEntries = 4   // per row of M
	sEdges     = 10  // per node of S
)

// rng is a source of random numbers for one purpose.
func (s *Shape) rng(purpose string) *rand.Rand {
	seed := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(s.Name + "/" + purpose) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, 13))
}

// dense draws an r×c matrix of mean 0 and a standard deviation.
func dense(rng *rand.Rand, r, c int, deviation float64) *graph.Dense {
	m := graph.NewDense(r, c)
	scale := float32(deviation * math.Sqrt(12)) // of a uniform number
	for k := range m.Data {
		m.Data[k] = (rng.Float32() - 0.5) * scale
	}
	return m
}

// distinct appends k ascending numbers below n to dst, 1 ≤ k ≤ n: one of each of k stretches.
func distinct(rng *rand.Rand, dst []int32, k, n int) []int32 {
	for p := range k {
		lo, hi := p*n/k, (p+1)*n/k
		dst = append(dst, int32(lo+rng.IntN(hi-lo)))
	}
	return dst
}

// model draws a model of an architecture with as few layers as it may have.
func (s *Shape) model(a *architecture.Architecture) (infer.Model, error) {
	rng, in := s.rng("model "+a.Name), s.Features
	layers := make([]architecture.Layer, a.Fewest)
	for l := range layers {
		out := hidden
		if l == len(layers)-1 {
			out = s.Classes
		}
		for _, t := range a.Tensors {
			switch {
			case t.Bias:
				layers[l].Bias = dense(rng, 1, out, 0.1).Data
			case !t.Optional:
				w := dense(rng, in, out, 1/math.Sqrt(float64(in)))
				layers[l].Neighbours = addShare(layers[l].Neighbours, t.Neighbours, w)
				layers[l].Self = addShare(layers[l].Self, t.Self, w)
			}
		}
		in = out
	}
	return infer.New(a, layers, a.Alpha, a.Hops)
}

// addShare returns to + share·w, w for a nil to.
func addShare(to *graph.Dense, share float32, w *graph.Dense) *graph.Dense {
	if share == 0 {
		return to
	}
	if to == nil {
		to = graph.NewDense(w.Rows, w.Cols)
	}
	for k, v := range w.Data {
		to.Data[k] += share * v
	}
	return to
}

// preprocess is the shape's preprocessing: rows to unit length, centred, and scaled to about 1 a value.
func (s *Shape) preprocess() preprocess.Parameters {
	rng := s.rng("preprocess")
	return preprocess.Parameters{Kind: preprocess.L2Center, Scale: float32(math.Sqrt(float64(s.Features))),
		Mean: dense(rng, 1, s.Features, 0.01).Data}
}

// id is the external id of a node of T.
func id(node int) string { return fmt.Sprintf("n%d", node) }

// Bundle draws a sealed artifact with models of the architectures, in their order.
func (s *Shape) Bundle(architectures []*architecture.Architecture) (*artifact.Bundle, error) {
	rng := s.rng("synthetic")
	b := &artifact.Bundle{
		Preprocess: s.preprocess(),
		Synthetic: artifact.Synthetic{Adj: s.synthetic(rng), X: dense(rng, s.Synthetic, s.Features, 1),
			Labels: make([]int32, s.Synthetic)},
		Mapping: s.mapping(),
	}
	for j := range b.Synthetic.Labels {
		b.Synthetic.Labels[j] = int32(j % s.Classes)
	}
	b.Manifest = artifact.Manifest{Created: time.Unix(1_800_000_000, 0).UTC(), CreatedBy: "rivulet bench",
		Method: "random",
		Data: artifact.Data{Name: s.Name + " (random numbers)", Fingerprint: "sha256:" + strings.Repeat("0", 64),
			Nodes: s.Original, Edges: s.Entries / 2, Features: s.Features},
		SyntheticNodes: s.Synthetic,
		Mapping:        artifact.MappingInfo{Rows: s.Original, Entries: b.Mapping.Rows.NNZ(), MaxPerRow: mapEntries},
		Preprocess:     artifact.PreprocessInfo{Kind: b.Preprocess.Kind, Scale: b.Preprocess.Scale},
		DefaultModel:   architectures[0].Name}
	for c := range s.Classes {
		b.Manifest.Data.Classes = append(b.Manifest.Data.Classes, fmt.Sprintf("class-%d", c))
	}
	for _, a := range architectures {
		m, err := s.model(a)
		if err != nil {
			return nil, fmt.Errorf("drawing a %s: %w", a.Name, err)
		}
		b.Models = append(b.Models, artifact.Model{Name: m.Name(), Params: m.Params(),
			Tables: m.Tables(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X))})
		b.Manifest.Models = append(b.Manifest.Models, artifact.ModelInfo{Name: m.Name(), Attachment: artifact.AttachFrozen,
			FittedOn: "O", Calibration: artifact.CalibrationInfo{Kind: propagation.None, Temperature: 1}})
	}
	if err := b.Seal(); err != nil {
		return nil, fmt.Errorf("an artifact in the shape of %s: %w", s.Name, err)
	}
	return b, nil
}

// synthetic draws A', symmetric with weights.
func (s *Shape) synthetic(rng *rand.Rand) *graph.CSR {
	var edges []graph.Edge
	for i := range int32(s.Synthetic) {
		for _, j := range distinct(rng, nil, min(sEdges, s.Synthetic)/2, s.Synthetic) {
			if i != j {
				v := rng.Float32()
				edges = append(edges, graph.Edge{Row: i, Col: j, Val: v}, graph.Edge{Row: j, Col: i, Val: v})
			}
		}
	}
	return graph.NewCSR(s.Synthetic, s.Synthetic, edges)
}

// mapping draws M, mapEntries a row.
func (s *Shape) mapping() *artifact.Mapping {
	return drawMapping(s.rng("mapping"), 0, s.Original, s.Synthetic)
}

// drawMapping draws the rows of M of n nodes from one on.
func drawMapping(rng *rand.Rand, from, n, synthetic int) *artifact.Mapping {
	m := &artifact.Mapping{IDs: make([]string, n),
		Rows: &graph.CSR{Rows: n, Cols: synthetic, RowPtr: make([]int, n+1)}}
	for i := range m.IDs {
		m.IDs[i] = id(from + i)
		m.Rows.ColIdx = distinct(rng, m.Rows.ColIdx, min(mapEntries, synthetic), synthetic)
		m.Rows.RowPtr[i+1] = len(m.Rows.ColIdx)
	}
	m.Rows.Val = make([]float32, len(m.Rows.ColIdx))
	for p := range m.Rows.Val {
		m.Rows.Val[p] = rng.Float32()
	}
	return m
}
