package preflight

import (
	"slices"
	"strings"
	"testing"

	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// severalLabels returns a data set with the class of each node and a second label.
func severalLabels(t *testing.T) *dataset.Dataset {
	t.Helper()
	d := small(t)
	classes := len(d.Classes)
	d.Task, d.Classes = target.Labels, append(slices.Clone(d.Classes), "positive")
	d.Targets = graph.NewDense(d.Nodes(), classes+1)
	for i := range d.Labels {
		if d.Labels[i] < 0 {
			continue
		}
		if d.Targets.Row(i)[d.Labels[i]] = 1; d.X.Dense.Row(i)[0] > 0 {
			d.Targets.Row(i)[classes] = 1
		}
		d.Labels[i] = 0
	}
	return d
}

// Consumers predict the trainer's probabilities of labels, and publish the labels of one half and more; a sample does,
// too. Settings that not every task has refuse the artifact by their name.
func TestConsumersPredictLabels(t *testing.T) {
	out := train(t, severalLabels(t))
	if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err != nil || warnings != nil {
		t.Fatalf("%v, %q", err, warnings)
	}
	if sent, err := Sample(t.Context(), severalLabels(t), options(), standard); err != nil || sent == 0 {
		t.Errorf("a sample: %d nodes, %v", sent, err)
	}
	rows := mapping.FromBundle(out.Bundle)
	for want, o := range map[string]serving.Options{
		"output.explain": {Explain: true}, "the page": {Capabilities: []*target.Capability{target.TopK, target.Page}},
		"the artifact has parameter": {Calibration: "lp"},
	} {
		if _, _, err := serving.New(out.Bundle, rows, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	version, _, err := serving.New(out.Bundle, rows, serving.Options{Coverage: 0.5,
		Capabilities: []*target.Capability{target.TopK, target.Probabilities, target.LabelsTopic}})
	expect.OK(t, err)
	sink := &predictions{}
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: consumer.Pin{Version: version}, Deliverer: sink,
		Mode: attach.Node, Limits: standard, Output: consumer.Output{Probabilities: true, TopK: 1}})
	expect.OK(t, err)
	in := consumer.Intake{Name: "some"}
	for k := range out.Answers {
		a := arrival(&out.Answers[k])
		value, err := json.Codec{}.AppendArrival(nil, &a)
		expect.OK(t, err)
		in.Records = append(in.Records, kafka.Record{Key: []byte("k"), Value: value})
	}
	if err := pipeline.Process(t.Context(), in); err != nil || len(sink.records) != len(out.Answers) {
		t.Fatalf("%d predictions: %v", len(sink.records), err)
	}
	abstained, several := 0, 0
	for k, p := range sink.records {
		said := 0
		for c, v := range p.Probabilities {
			if of := slices.IndexFunc(p.Labels, func(s event.Score) bool { return s.Class == c }); of >= 0 {
				said++
				if v < 0.5 || p.Labels[of].Probability != v || p.Labels[of].Name != version.Info().Classes[c] {
					t.Errorf("label %+v of probabilities %v", p.Labels[of], p.Probabilities)
				}
			} else if v >= 0.5 {
				t.Errorf("%v lack label %d of %v", p.Labels, c, p.Probabilities)
			}
		}
		if said > 1 {
			several++
		}
		if p.Abstained {
			abstained++
		}
		if p.Abstained != (p.Probability < version.Info().Threshold) || p.Probability < 0.5 || p.ClassName != "" ||
			p.Labels == nil ||
			len(p.Top) != 1 || p.Numbers != nil {
			t.Errorf("%s: %+v", out.Answers[k].ID, p)
		}
		data, err := (avro.Codec{}).AppendPrediction(nil, &p)
		var read event.Prediction
		if err == nil {
			err = avro.Codec{}.DecodePrediction(data, &read)
		}
		if err != nil || !slices.Equal(read.Labels, p.Labels) || len(read.Top) != 1 {
			t.Errorf("Avro has %v, want %v: %v", read.Labels, p.Labels, err)
		}
	}
	if abstained == 0 || several == 0 {
		t.Errorf("%d abstain, and %d have several labels", abstained, several)
	}
	if _, _, err = pipeline.Explain(t.Context(), in); err == nil ||
		!strings.Contains(err.Error(), "an explanation is for") {
		t.Errorf("labels are explained: %v", err)
	}
	out.Answers[0].Probabilities[0] += 0.5
	expect.Error(t, expect.ErrorOf(Answers(t.Context(), out.Bundle, out.Answers, standard)),
		"probabilities[0]", "another probability is no error")
}
