package consumer

import (
	"context"
	"fmt"

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

// notFinite says what of an arrival makes the model's output no number: a weight that no edge of the training graph is
// near to, or else the features.
func notFinite(a *event.Arrival, info *version.Info) string {
	if info.Weighted {
		for k, v := range a.Weights {
			if v < 0x1p-126 || info.Bins.Beyond(v) {
				return fmt.Sprintf("weights: the model's output is not finite, the edge to %s weighs %g, too far from the "+
					"weights of training", event.Cut(a.Edges[k]), v)
			}
		}
	}
	return "features: the model's output is not finite, they are too far from those of training"
}

// setAnswer sets the fields of a prediction that depend on the model: of arrival i, by the model's output. order is
// memory for classes.
func (p *Pipeline) setAnswer(pr *event.Prediction, info *version.Info, o *modelOutput, i int, order *[]int32) {
	row, classes := o.probabilities.Row(i), info.Classes
	numbers, labels := pr.Numbers, pr.Labels
	pr.Artifact, pr.Numbers, pr.Labels = info.ID, nil, nil
	best := graph.ArgMax(row)
	pr.Class, pr.ClassName, pr.Probability = best, classes[best], row[best]
	pr.Abstained = row[best] < info.Threshold
	pr.Top = appendTop(pr.Top[:0], order, p.Output.TopK, row, classes)
	if p.Output.Probabilities {
		pr.Probabilities = row
	}
	if info.Task != target.Classes {
		pr.Numbers, pr.Labels = numbers, labels
		if answerTask(pr, row, info); o.links != nil {
			pr.Links = o.links[i]
		}
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

// answerTask sets the labels or the numbers of a prediction from the model's output for the arrival, and clears the
// class; links are set apart, for a whole batch. It uses the memory of the prediction's labels and numbers again.
func answerTask(pr *event.Prediction, row []float32, info *version.Info) {
	task, names := info.Task, info.Classes
	pr.Class, pr.ClassName, pr.Probability = 0, "", task.Confidence(row)
	if pr.Abstained = pr.Probability < info.Threshold; task == target.Labels {
		pr.Labels = appendLabels(pr.Labels[:0], row, names)
		return
	}
	if pr.Abstained, pr.Top, pr.Probabilities = false, nil, nil; task == target.Number {
		pr.Numbers = appendNumbers(pr.Numbers[:0], row, names, info.Radius)
	}
}
