package run

import (
	"bytes"
	"math"
	"testing"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/internal/replay"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// collected keeps what it can of explanations.
type collected []consumer.ExplainedArrival

func (c *collected) Explanation(e *consumer.ExplainedArrival) error {
	kept := *e
	prediction := *e.Prediction
	kept.Prediction = &prediction
	*c = append(*c, kept)
	return nil
}

// Explained predictions are those of predict, for every model, attachment and kind of batch; frozen ones are the sum
// of their shares. Rejected lines are told of, the others go on.
func TestExplainLinesExplainsWhatPredictSays(t *testing.T) {
	b := described(t)
	arrivals, _ := newcomers(b, 7)
	arrivals[6].Edges = append(arrivals[6].Edges, arrivals[5].ID, "nobody")
	var in bytes.Buffer
	expect.OK(t, (&replay.Lines{W: &in}).Send(t.Context(), arrivals))
	in.WriteString("no arrival\n")
	for _, made := range b.Models {
		for _, attachment := range []string{artifact.AttachFrozen, artifact.AttachJoint} {
			for _, mode := range []*attach.Mode{attach.Node, attach.Graph} {
				v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping),
					serving.Options{Model: made.Name, Attachment: attachment})
				expect.OK(t, err)
				from, options := versions{serving.Pinned(v)}, LineOptions{Mode: mode, Batch: 100}
				var predictions bytes.Buffer
				if _, _, err := PredictLines(t.Context(), from, bytes.NewReader(in.Bytes()), &predictions,
					options); err != nil {
					t.Fatal(err)
				}
				var got collected
				explained, rejected, err := ExplainLines(t.Context(), from, bytes.NewReader(in.Bytes()), &got, options)
				if err != nil || explained != len(arrivals) || rejected != 1 {
					t.Fatalf("%d explained, %d rejected, %v", explained, rejected, err)
				}
				lines := bytes.Split(bytes.TrimSpace(predictions.Bytes()), []byte("\n"))
				for i := range got {
					checkExplained(t, made.Name+" "+attachment+" "+mode.Name, &got[i], lines[i])
				}
			}
		}
	}
}

func checkExplained(t *testing.T, what string, e *consumer.ExplainedArrival, line []byte) {
	t.Helper()
	var want event.Prediction
	expect.OK(t, (json.Codec{}).DecodePrediction(line, &want))
	if want.ID != e.Prediction.ID || want.Class != e.Class || float64(want.Probability) != e.Published {
		t.Errorf("%s: explains class %d of %s at %v, predict says %+v", what, e.Class, e.Prediction.ID, e.Published, want)
	}
	if sum := e.Sum(); e.Shares && math.Abs(sum.Class-e.Logit.Class) > 1e-5*max(1, math.Abs(e.Logit.Class)) {
		t.Errorf("%s: shares add up to %v, the logit is %v", what, sum.Class, e.Logit.Class)
	}
	for _, term := range e.Neighbours {
		if e.Edges[term.At] == "nobody" && term.Removed {
			t.Errorf("%s: an unknown id is removed", what)
		}
	}
}

// output.explain reaches the topic of predictions: the strongest shares in order, ids only where asked for, and
// nothing else of a prediction changes.
func TestReasonsReachTheTopicOfPredictions(t *testing.T) {
	b := described(t)
	arrivals, _ := newcomers(b, 6)
	plain := stream(t, stackOf(t, b), arrivals)
	for _, ids := range []bool{false, true} {
		cfg := stackOf(t, b)
		cfg.Output.Explain, cfg.Output.ExplainIDs = 3, ids
		for i, p := range stream(t, cfg, arrivals) {
			if p.Class != plain[i].Class || p.Probability != plain[i].Probability || p.ID != plain[i].ID {
				t.Errorf("%s is %d at %v, without reasons %d at %v", p.ID, p.Class, p.Probability, plain[i].Class,
					plain[i].Probability)
			}
			checkReasons(t, &p, ids)
		}
	}
	for i := range plain {
		if plain[i].Explanation != nil {
			t.Error("a prediction has reasons that nobody asked for")
		}
	}
}

func checkReasons(t *testing.T, p *event.Prediction, ids bool) {
	t.Helper()
	if p.Explanation == nil || len(p.Explanation.Reasons) != 3 || p.Explanation.RunnerUp == p.Class {
		t.Fatalf("%s: explanation %+v, want 3 reasons", p.ID, p.Explanation)
	}
	for k, r := range p.Explanation.Reasons {
		if k > 0 && math.Abs(float64(r.Margin)) > math.Abs(float64(p.Explanation.Reasons[k-1].Margin)) {
			t.Errorf("%s: reason %d is larger than the one before", p.ID, k)
		}
		named, feature := r.ID != "", r.Kind == event.KindFeature
		if (r.Name != "") != feature || named != (ids && !feature) {
			t.Errorf("%s: reason %+v, with ids %v", p.ID, r, ids)
		}
	}
}

// Attached jointly, and by a model that is not linear, predictions have reasons too.
func TestReasonsOfEveryModelAndAttachment(t *testing.T) {
	b := described(t)
	arrivals, _ := newcomers(b, 6)
	for _, attachment := range []string{artifact.AttachFrozen, artifact.AttachJoint} {
		for k := range b.Models {
			cfg := stackOf(t, b)
			cfg.Model, cfg.Attachment, cfg.Output.Explain = b.Models[k].Name, attachment, 3
			for _, p := range stream(t, cfg, arrivals) {
				checkReasons(t, &p, false)
			}
		}
	}
}
