package consumer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/infer/version"
)

// predictionSet holds the predictions of a batch, made of the output of the model.
type predictionSet struct {
	predictions []event.Prediction // none for withdrawn arrivals
	answered    []event.Record     // the records of these predictions
	withdrawn   []bool             // per arrival: a prediction of it is not finite
	deadLetters []event.DeadLetter // for the withdrawn arrivals

	output modelOutput
	order  []int32 // classes, to be sorted by probability
}

// modelOutput has the logits of a batch, and everything computed from them. Row i is the batch's arrival i.
type modelOutput struct {
	logits, probabilities, representation *graph.Dense // representation: nil where none is asked for
	explanations                          []event.Explanation
	links                                 [][]event.Link // per arrival, of a task of links
	answer                                target.Answer  // its memory is used again
	reasons                               reasons
}

// predict has the model answer, and makes an event.Prediction of each answer.
//
// Predictions that are not finite, as the model overflows where features are very large, become dead letters: no codec
// could carry them. In a graph batch the neighbours of such an arrival are withdrawn with it.
func (p *Pipeline) predict(ctx context.Context, out *predictionSet, version Version, name string, in *decodedBatch,
	a *attachment) (err error) {
	out.withdrawn, out.deadLetters = zeroed(out.withdrawn, len(in.arrivals)), out.deadLetters[:0]
	out.predictions, out.answered = sized(out.predictions, len(in.arrivals)), out.answered[:0]
	if len(in.arrivals) == 0 {
		return nil
	}
	o := &out.output
	o.logits, o.probabilities = version.Predict(&a.batch) // n×C
	o.representation = p.representation(version, &a.batch, o.logits)
	o.links = nil
	info := version.Info()
	if info.Candidates != nil {
		if o.links, err = BestLinks(ctx, info.Candidates, o.logits, in, p.Output.TopK); err != nil {
			return fmt.Errorf("looking for the best candidates of batch %s: %w", name, err)
		}
	}
	o.explanations = p.reasons(&o.reasons, version, in, a, o.logits, o.probabilities)
	now, n := p.Clock.Now(), 0
	for i, s := range in.arrivals {
		c, pr := a.counts[i], &out.predictions[n]
		*pr = event.Prediction{ID: s.arrival.ID, Key: s.key(), Degraded: a.degraded[i],
			Top: pr.Top, Numbers: pr.Numbers, Labels: pr.Labels, // their memory is used again
			Known: c.known, Arrivals: c.arrivals, InBatch: c.inBatch, Unknown: c.unknown,
			Batch: name, Source: event.Source(s.record.Position),
			ArrivalTime: s.arrival.Time, IngestTime: s.record.Time, PredictedTime: now}
		if p.Traced {
			pr.Trace = event.TraceOf(s.record.Headers)
		}
		p.setAnswer(pr, info, o, i, &out.order)
		if out.withdrawn[i] = !isFinite(pr); out.withdrawn[i] {
			out.deadLetters = append(out.deadLetters, s.deadLetter(event.ReasonNotFinite,
				notFinite(s.arrival, info)))
			continue
		}
		out.answered = append(out.answered, event.Record{Value: s.record.Value, Headers: s.record.Headers})
		n++
	}
	out.predictions = out.predictions[:n]
	return nil
}

// notFinite names the part of an arrival that makes the model's output no number: a weight that no edge of the
// training graph is near to, or else the features.
func notFinite(a *event.Arrival, info *version.Info) string {
	text := "features: the model's output is not finite, they are too far from those of training"
	if !info.Slots.Weighted || info.Slots.Relational() { // edges count by shares, which are 1 at most
		return text
	}
	named := false
	a.EachEdge(func(k int, _ uint32, weights []float32) {
		if named || weights == nil {
			return
		}
		if v := slices.Max(weights); v < 0x1p-126 || info.Slots.Beyond(v) {
			named, text = true, fmt.Sprintf("weights: the model's output is not finite, the edge to %s weighs %g, too far "+
				"from the weights of training", event.Cut(a.Edges[k]), v)
		}
	})
	return text
}

// setAnswer sets the fields of a prediction that depend on the model: of arrival i, by the model's output. order is
// memory for classes.
func (p *Pipeline) setAnswer(pr *event.Prediction, info *version.Info, o *modelOutput, i int, order *[]int32) {
	row, names := o.probabilities.Row(i), info.Classes
	top, labels, numbers := pr.Top, pr.Labels, pr.Numbers // their memory
	a := &o.answer
	info.Task.Decode(a, row, info.Radius)
	pr.Artifact, pr.Class, pr.ClassName, pr.Probability = info.ID, 0, "", a.Confidence
	if a.Class >= 0 {
		pr.Class, pr.ClassName = a.Class, names[a.Class]
	}
	pr.Abstained, pr.Top, pr.Probabilities = false, nil, nil
	if a.Listed {
		pr.Abstained = a.Confidence < info.Threshold
		if pr.Top = appendTop(top[:0], order, p.Output.TopK, row, names); p.Output.Probabilities {
			pr.Probabilities = row
		}
	}
	pr.Labels, pr.Numbers = labelsOf(labels, a, names), numbersOf(numbers, a, names)
	if o.links != nil {
		pr.Links = o.links[i]
	}
	if p.Output.Logits {
		pr.Logits = o.logits.Row(i)
	}
	if o.representation != nil {
		pr.Representation, pr.RepresentationKind = o.representation.Row(i), p.Output.Representation
	}
	if o.explanations != nil {
		pr.Explanation = &o.explanations[i]
	}
}

// representation returns the logits or embeddings that the output asks for, a row for each arrival; nil where it asks
// for none.
func (p *Pipeline) representation(version Version, b *attach.Batch, logits *graph.Dense) *graph.Dense {
	switch p.Output.Representation {
	case event.RepresentationLogits:
		return logits
	case event.RepresentationEmbedding:
		return version.Embedder().Embeddings(b)
	}
	return nil
}
