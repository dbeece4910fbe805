package consumer

import (
	"cmp"
	"slices"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
)

// predictions says in the wire's terms what the model said of each arrival: row i of logits and probabilities (n×C) is
// arrival i. The result is valid until the next batch.
func (p *Pipeline) predictions(in Intake, version Version, arrivals []*slot, logits, probabilities *graph.Dense) []event.Prediction {
	classes, id, threshold, now := version.Classes(), version.ID(), version.Threshold(), p.Clock.Now()
	p.published = slices.Grow(p.published[:0], len(arrivals))[:len(arrivals)]
	for i, s := range arrivals {
		row := probabilities.Row(i)
		best := infer.ArgMax(row)
		pr := event.Prediction{
			ID: s.arrival.ID, Key: s.record.Key,
			Class: best, ClassName: classes[best], Probability: row[best], Abstained: row[best] < threshold, Degraded: s.degraded,
			Top:   p.top(p.published[i].Top[:0], row, classes),
			Known: s.known, Arrivals: len(s.attached), InBatch: s.inBatch, Unknown: s.unknown,
			Artifact: id, Batch: in.Name, Source: s.record.Source,
			ArrivalTime: s.arrival.Time, IngestTime: s.record.Time, PredictedTime: now,
		}
		if p.Output.Probabilities {
			pr.Probabilities = row
		}
		if p.Output.Logits {
			pr.Logits = logits.Row(i)
		}
		p.published[i] = pr
	}
	return p.published
}

// represent adds what a feed computes with, of the kind that is asked for, to the predictions of a batch.
func (p *Pipeline) represent(predictions []event.Prediction, version Version, b *infer.Batch, logits *graph.Dense) {
	rows := logits
	switch p.Output.Representation {
	case event.RepresentationLogits:
	case event.RepresentationEmbedding:
		rows = version.Embed(b)
	default:
		return
	}
	for i := range predictions {
		predictions[i].Representation, predictions[i].RepresentationKind = rows.Row(i), p.Output.Representation
	}
}

// withdraw makes dead letters of predictions that are no numbers: no codec could carry them, and the stream would stop at
// them for good. It happens where features that are far beyond those of training overflow in the model; in a graph batch
// neighbours of such an arrival go with it.
func (p *Pipeline) withdraw(arrivals []*slot, out *event.Batch) {
	kept := out.Predictions[:0]
	for i := range out.Predictions {
		pr := &out.Predictions[i]
		if finite(pr.Probability) && allFinite(pr.Logits) && allFinite(pr.Probabilities) && allFinite(pr.Representation) {
			kept = append(kept, *pr)
			continue
		}
		s := arrivals[i]
		s.withdrawn = true
		out.DeadLetters = append(out.DeadLetters, event.DeadLetter{Key: s.record.Key, Value: s.record.Value, Headers: s.record.Headers,
			Source: s.record.Source, IngestTime: s.record.Time, Reason: event.ReasonNotFinite,
			Detail: "features: the model's output is not finite, they are too far from those of training"})
	}
	out.Predictions = kept
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
func (p *Pipeline) top(dst []event.Score, row []float32, classes []string) []event.Score {
	k := min(p.Output.TopK, len(row))
	if k <= 0 {
		return nil
	}
	p.order = p.order[:0]
	for c := range row {
		p.order = append(p.order, int32(c))
	}
	slices.SortFunc(p.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b))
	})
	for _, c := range p.order[:k] {
		dst = append(dst, event.Score{Class: int(c), Name: classes[c], Probability: row[c]})
	}
	return dst
}
