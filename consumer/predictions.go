package consumer

import (
	"cmp"
	"slices"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
)

// predictionSet holds the predictions of a batch, made of the model's output.
type predictionSet struct {
	predictions []event.Prediction // without the withdrawn ones, in the arrivals' order
	answered    []event.Record     // the records of these predictions
	withdrawn   []bool             // per arrival: its prediction is not finite
	deadLetters []event.DeadLetter // for the withdrawn arrivals
	tombstones  []event.Tombstone  // for ids that are to be forgotten

	order   []int32 // classes, to be sorted by probability
	reasons reasons
}

// predict runs the model, and makes an event.Prediction for each arrival.
//
// Predictions that are not finite are withdrawn and become dead letters: no codec could carry them, and the stream
// would stop at them for good. They occur if features are so large that the model overflows; in a graph
// batch the neighbours of such an arrival are withdrawn with it.
func (p *Pipeline) predict(out *predictionSet, version Version, name string, in *decodedBatch, a *attachment) {
	out.withdrawn, out.deadLetters = zeroed(out.withdrawn, len(in.arrivals)), out.deadLetters[:0]
	out.predictions, out.answered = sized(out.predictions, len(in.arrivals)), out.answered[:0]
	if out.tombstones = out.tombstones[:0]; p.Tombstones {
		defer func() { out.tombstones = in.forgets.appendTombstones(out.tombstones, out.withdrawn) }()
	}
	if len(in.arrivals) == 0 {
		return
	}
	logits, probabilities := version.Predict(&a.batch) // n×C
	now := p.Clock.Now()
	representation := p.representation(version, &a.batch, logits)
	reasons := p.reasons(&out.reasons, version, in, a, logits, probabilities)
	classes, id, threshold, tasked := version.Classes(), version.ID(), version.Threshold(), otherTask(version)
	n := 0
	for i, s := range in.arrivals {
		pr, row, c := &out.predictions[n], probabilities.Row(i), a.counts[i]
		best, numbers, labels := infer.ArgMax(row), pr.Numbers, pr.Labels
		*pr = event.Prediction{
			ID: s.arrival.ID, Key: s.key(),
			Class: best, ClassName: classes[best], Probability: row[best], Abstained: row[best] < threshold,
			Degraded: a.degraded[i], Top: p.top(out, pr.Top[:0], row, classes),
			Known: c.known, Arrivals: c.arrivals, InBatch: c.inBatch, Unknown: c.unknown,
			Artifact: id, Canary: p.candidate, Batch: name, Source: event.Source(s.record.Position),
			ArrivalTime: s.arrival.Time, IngestTime: s.record.Time, PredictedTime: now,
		}
		if p.Traced {
			pr.Trace = event.TraceOf(s.record.Headers)
		}
		if p.Output.Probabilities {
			pr.Probabilities = row
		}
		if tasked != nil {
			pr.Numbers, pr.Labels = numbers, labels
			answerTask(pr, row, tasked)
		}
		if p.Output.Logits {
			pr.Logits = logits.Row(i)
		}
		if representation != nil {
			pr.Representation, pr.RepresentationKind = representation.Row(i), p.Output.Representation
		}
		if reasons != nil {
			pr.Explanation = &reasons[i]
		}
		if out.withdrawn[i] = !isNumber(pr); out.withdrawn[i] {
			out.deadLetters = append(out.deadLetters, s.deadLetter(event.ReasonNotFinite,
				"features: the model's output is not finite, they are too far from those of training"))
			continue
		}
		out.answered = append(out.answered, event.Record{Value: s.record.Value, Headers: s.record.Headers})
		n++
	}
	out.predictions = out.predictions[:n]
}

// representation returns the logits or embeddings that the output asks for, a row for each arrival; nil where it asks
// for none.
func (p *Pipeline) representation(version Version, b *attach.Batch, logits *graph.Dense) *graph.Dense {
	switch p.Output.Representation {
	case event.RepresentationLogits:
		return logits
	case event.RepresentationEmbedding:
		return version.Embed(b)
	}
	return nil
}

// isNumber reports whether a prediction can be written.
func isNumber(pr *event.Prediction) bool {
	for _, n := range pr.Numbers {
		if !finite(n.Value) || !finite(n.Lower) || !finite(n.Upper) {
			return false
		}
	}
	return finite(pr.Probability) && allFinite(pr.Logits) && allFinite(pr.Probabilities) && allFinite(pr.Representation)
}

// finite is false for NaN and for both infinities.
func finite(v float32) bool { return v-v == 0 }

func allFinite(values []float32) bool {
	for _, v := range values {
		if !finite(v) {
			return false
		}
	}
	return true
}

// top appends the Output.TopK most probable classes to dst, best first; of equal ones the lower index first, as in
// [infer.ArgMax].
func (p *Pipeline) top(out *predictionSet, dst []event.Score, row []float32, classes []string) []event.Score {
	k := min(p.Output.TopK, len(row))
	if k <= 0 {
		return nil
	}
	out.order = out.order[:0]
	for c := range row {
		out.order = append(out.order, int32(c))
	}
	slices.SortFunc(out.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b))
	})
	for _, c := range out.order[:k] {
		dst = append(dst, event.Score{Class: int(c), Name: classes[c], Probability: row[c]})
	}
	return dst
}
