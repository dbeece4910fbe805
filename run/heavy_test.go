package run

import (
	"bytes"
	stdjson "encoding/json"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/trainer"
)

// heavy is testdata/heavy: tables, random weights of models, arrivals, and the logits that NumPy gives each arrival
// where it is joined alone to the training nodes and its first edge weighs 1, 10, 100, 1000 and 10^6 times as much.
type heavy struct {
	Arrivals []struct {
		ID       string    `json:"id"`
		Features []float64 `json:"features"`
		Edges    []string  `json:"edges"`
		Weights  []float64 `json:"weights"`
	} `json:"arrivals"`
	Models map[string]map[string][][]float32 `json:"models"`
	Logits map[string][][][]float64          `json:"logits"`
}

func readHeavy(t *testing.T) (*dataset.Dataset, heavy) {
	t.Helper()
	var h heavy
	text, err := os.ReadFile("testdata/heavy/golden.json")
	expect.OK(t, err)
	expect.OK(t, stdjson.Unmarshal(text, &h))
	d, err := dataset.Open("testdata/heavy", dataset.OpenOptions{})
	expect.OK(t, err)
	return d, h
}

// model makes a model of the file's tensors.
func (h *heavy) model(t *testing.T, name string) infer.Model {
	t.Helper()
	var params []infer.Param
	for _, tensor := range slices.Sorted(maps.Keys(h.Models[name])) {
		rows := h.Models[name][tensor]
		value := &graph.Dense{Rows: len(rows), Cols: len(rows[0]), Data: slices.Concat(rows...)}
		params = append(params, infer.Param{Name: tensor, Value: value})
	}
	m, err := infer.Build(name, params)
	expect.OK(t, err)
	return m
}

// answers predicts the arrivals as consumers do, with their first edge so many times as heavy.
func (h *heavy) answers(t *testing.T, v *serving.Version, factor float64) (out [][]float32) {
	t.Helper()
	var lines, answers bytes.Buffer
	for _, a := range h.Arrivals {
		a.Weights = slices.Clone(a.Weights)
		a.Weights[0] *= factor
		expect.OK(t, stdjson.NewEncoder(&lines).Encode(a))
	}
	_, _, err := PredictLines(t.Context(), versions{serving.Pinned(v)}, &lines, &answers,
		LineOptions{Mode: attach.Node, Batch: 256, Output: consumer.Output{Logits: true}})
	expect.OK(t, err)
	for line := range bytes.Lines(answers.Bytes()) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
		out = append(out, p.Logits)
	}
	return out
}

// An arrival's edge that weighs up to a million times as much as the graph's is answered about as NumPy answers it on
// the whole graph: its logits are bounded, where they would grow with the root of the weight.
func TestHeavyEdgesAreBounded(t *testing.T) {
	d, h := readHeavy(t)
	for _, name := range slices.Sorted(maps.Keys(h.Models)) {
		o := trainer.Defaults()
		o.Models, o.Weights = []string{name}, map[string]infer.Model{name: h.model(t, name)}
		o.Preprocess, o.Own, o.Propagate, o.Costs = preprocess.None, trainer.OwnNever, false, false
		o.Nodes, o.Entries = 69, 8
		out, err := trainer.Train(t.Context(), d, o, time.Unix(0, 0), trainer.Silent{})
		expect.OK(t, err)
		v, usual := versionOf(t, out.Bundle, serving.Options{}), 0
		for k, factor := range []float64{1, 10, 100, 1000, 1e6} {
			got := h.answers(t, v, factor)
			if len(got) != len(h.Arrivals) {
				t.Fatalf("%s: %d answers", name, len(got))
			}
			var off, scale []float64
			agree := 0
			for i, row := range got {
				want, worst, size := h.Logits[name][i][k], 0.0, 0.0
				for c := range want {
					worst, size = max(worst, math.Abs(float64(row[c])-want[c])), max(size, math.Abs(want[c]))
				}
				off, scale = append(off, worst), append(scale, size)
				if most := slices.Index(want, slices.Max(want)); most == graph.ArgMax(row) {
					agree++
				}
			}
			slices.Sort(off)
			slices.Sort(scale)
			mid := len(off) / 2
			t.Logf("%-5s first edge × %-7g classes as NumPy's %d of %d, logits off by %.2f of the scale in the median, "+
				"%.2f at most", name, factor, agree, len(got), off[mid]/scale[mid], off[len(off)-1]/scale[mid])
			if k == 0 {
				usual = agree
			}
			if bound := map[bool]float64{true: 0.1, false: 0.65}[k == 0]; off[mid] > bound*scale[mid] ||
				off[len(off)-1] > 2.5*scale[mid] || agree < usual-6 {
				t.Errorf("%s, first edge × %g: %d of %d classes are NumPy's, logits off by %v in the median, %v at most, "+
					"NumPy's are %v", name, factor, agree, len(got), off[mid], off[len(off)-1], scale[mid])
			}
		}
	}
}

// What is served of an edge above the heaviest is what is served of one of that weight, to the byte: logits,
// probabilities after each propagation, reasons, and the row that the arrival gets.
func TestHeavyEdgesAreTheHeaviest(t *testing.T) {
	d, h := readHeavy(t)
	o := trainer.Defaults()
	o.Models, o.Costs, o.Hidden = []string{"sgc", "gcn"}, false, 8
	out, err := trainer.Train(t.Context(), d, o, time.Unix(0, 0), trainer.Silent{})
	expect.OK(t, err)
	heaviest := float64(slices.Max(out.Bundle.Slots.Upper))
	when := regexp.MustCompile(`,"predicted_time":"[^"]*"`)
	for _, model := range o.Models {
		for _, kind := range []string{propagation.None, propagation.Labels, propagation.Errors} {
			v := versionOf(t, out.Bundle, serving.Options{Model: model, Calibration: kind, Explain: true})
			var all [2]string
			for k, weight := range []float64{heaviest, 1e9 * heaviest} {
				var lines, answers bytes.Buffer
				for _, a := range h.Arrivals {
					a.Weights = slices.Clone(a.Weights)
					a.Weights[0] = weight
					expect.OK(t, stdjson.NewEncoder(&lines).Encode(a))
				}
				_, _, err := PredictLines(t.Context(), versions{serving.Pinned(v)}, &lines, &answers, LineOptions{
					Mode: attach.Graph, Batch: 256,
					Output: consumer.Output{Logits: true, Probabilities: true, Explain: 3, ExplainIDs: true}})
				expect.OK(t, err)
				all[k] = when.ReplaceAllString(answers.String(), "")
			}
			if all[0] != all[1] || !strings.Contains(all[0], "explanation") {
				t.Errorf("%s, %s: an edge of %g is answered\n%s, one of 10^9 times as much\n%s", model, kind, heaviest,
					all[0], all[1])
			}
		}
	}
	grower, err := out.Bundle.Grower(nil)
	expect.OK(t, err)
	var rows [2]*graph.CSR
	for k, weight := range []float32{float32(heaviest), 1e9 * float32(heaviest)} {
		a := h.Arrivals[0]
		x := graph.NewDense(1, len(a.Features))
		for c, v := range a.Features {
			x.Data[c] = float32(v)
		}
		cols, vals := out.Bundle.Mapping.Rows.Row(3)
		batch := &attach.Batch{X: graph.Features{Dense: x}}
		version := versionOf(t, out.Bundle, serving.Options{})
		version.Attach(batch, [][]attach.Row{{{Known: true, Cols: cols, Vals: vals,
			Edge: &attach.Edge{Weights: []float32{weight}}}}})
		rows[k] = grower.Grow(batch).Rows
	}
	expect.Same(t, rows[0], rows[1], "rows of arrivals")
}

func versionOf(t *testing.T, b *artifact.Bundle, o serving.Options) *serving.Version {
	t.Helper()
	expect.OK(t, b.Seal())
	v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), o)
	expect.OK(t, err)
	return v
}

// Where a weight makes the model's output no number, the dead letter says so, and does not blame the features: a mean
// takes weights as they are, and a row of M times 3e38 overflows.
func TestWeightsThatOverflowAreNamed(t *testing.T) {
	d, h := readHeavy(t)
	o := trainer.Defaults()
	o.Models, o.Costs, o.Hidden, o.Propagate, o.Own = []string{"sage"}, false, 8, false, trainer.OwnNever
	out, err := trainer.Train(t.Context(), d, o, time.Unix(0, 0), trainer.Silent{})
	expect.OK(t, err)
	v := versionOf(t, out.Bundle, serving.Options{})
	for _, weight := range []float64{3e38, 1e-44} {
		a := h.Arrivals[0]
		a.Weights = slices.Clone(a.Weights)
		for k := range a.Weights {
			a.Weights[k] = weight
		}
		line, err := stdjson.Marshal(a)
		expect.OK(t, err)
		said := ""
		_, _, err = PredictLines(t.Context(), versions{serving.Pinned(v)}, bytes.NewReader(line), new(bytes.Buffer),
			LineOptions{Mode: attach.Node, Batch: 1, Rejected: func(_ int64, d *event.DeadLetter) { said = d.Detail }})
		expect.OK(t, err)
		if !strings.Contains(said, "the edge to "+a.Edges[0]+" weighs") || strings.Contains(said, "features") {
			t.Errorf("edges of %g: the dead letter says %q", weight, said)
		}
	}
}
