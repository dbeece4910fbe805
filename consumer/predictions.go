package consumer

import (
	"rivulet/consumer/answer"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/target"
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
		defer func() { out.tombstones = in.forgets.AppendTombstones(out.tombstones, out.withdrawn) }()
	}
	if len(in.arrivals) == 0 {
		return
	}
	logits, probabilities := version.Predict(&a.batch) // n×C
	now := p.Clock.Now()
	representation := p.representation(version, &a.batch, logits)
	reasons := p.reasons(&out.reasons, version, in, a, logits, probabilities)
	classes, id, threshold, tasked := version.Classes(), version.ID(), version.Threshold(), otherTask(version)
	var links [][]event.Link // of each arrival, of a task of links
	if tasked != nil && tasked.Candidates() != nil {
		neighbours := make([][]string, len(in.arrivals))
		for i, s := range in.arrivals {
			neighbours[i] = s.arrival.Edges
		}
		links = answer.Links(tasked.Candidates(), logits, neighbours, p.Output.TopK)
	}
	n := 0
	for i, s := range in.arrivals {
		pr, row, c := &out.predictions[n], probabilities.Row(i), a.counts[i]
		best, numbers, labels := infer.ArgMax(row), pr.Numbers, pr.Labels
		*pr = event.Prediction{
			ID: s.arrival.ID, Key: s.key(),
			Class: best, ClassName: classes[best], Probability: row[best], Abstained: row[best] < threshold,
			Degraded: a.degraded[i], Top: answer.Top(pr.Top[:0], &out.order, p.Output.TopK, row, classes),
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
			if answerTask(pr, row, tasked); links != nil {
				pr.Links = links[i]
			}
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
		if out.withdrawn[i] = !answer.IsFinite(pr); out.withdrawn[i] {
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

// otherTask returns the version if its task is another one than classes; nil otherwise.
func otherTask(v Version) Tasked {
	if t, ok := v.(Tasked); ok && t.Task() != target.Classes {
		return t
	}
	return nil
}

// answerTask sets the labels or the numbers of a prediction from the model's output for the arrival, and clears the
// class; links are set apart, for a whole batch. It uses the memory of the prediction's labels and numbers again.
func answerTask(pr *event.Prediction, row []float32, version Tasked) {
	task, names := version.Task(), version.Classes()
	pr.Class, pr.ClassName, pr.Probability = 0, "", task.Confidence(row)
	if pr.Abstained = pr.Probability < version.Threshold(); task == target.Labels {
		pr.Labels = answer.Labels(pr.Labels[:0], row, names)
		return
	}
	if pr.Abstained, pr.Top, pr.Probabilities = false, nil, nil; task == target.Number {
		pr.Numbers = answer.Numbers(pr.Numbers[:0], row, names, version.Radius())
	}
}
