package consumer

import (
	"rivulet/consumer/answer"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/target"
)

// predictionSet holds the predictions of a batch, made of the output of its models.
type predictionSet struct {
	// none for withdrawn arrivals; one of each model, side by side in the order of the models
	predictions []event.Prediction
	answered    []event.Record     // the records of these predictions
	withdrawn   []bool             // per arrival: a prediction of it is not finite
	deadLetters []event.DeadLetter // for the withdrawn arrivals
	tombstones  []event.Tombstone  // for ids that are to be forgotten

	outputs []output // per model
	first   string   // name of the first of several models
	order   []int32  // classes, to be sorted by probability
}

// output has the logits of one model for a batch, and everything computed from them. Row i is the batch's arrival i.
type output struct {
	logits, probabilities, representation *graph.Dense // representation: nil where none is asked for
	explanations                          []event.Explanation
	links                                 [][]event.Link // per arrival, of a task of links
	reasons                               reasons
}

// predict has each model answer, and makes an event.Prediction of each answer.
//
// Predictions that are not finite, as the model overflows where features are very large, become dead letters: no codec
// could carry them. In a graph batch the neighbours of such an arrival are withdrawn with it. An arrival has the
// predictions of all models, or is one dead letter.
func (p *Pipeline) predict(out *predictionSet, version Version, name string, in *decodedBatch, a *attachment) {
	models := []Model{{Version: version}}
	if p.Models != nil {
		models = p.Models.Of(version)
	}
	out.first = models[0].Name
	out.withdrawn, out.deadLetters = zeroed(out.withdrawn, len(in.arrivals)), out.deadLetters[:0]
	out.predictions, out.answered = sized(out.predictions, len(models)*len(in.arrivals)), out.answered[:0]
	if out.tombstones = out.tombstones[:0]; p.Tombstones {
		defer func() { out.tombstones = in.forgets.AppendTombstones(out.tombstones, out.withdrawn, len(models)) }()
	}
	out.outputs = sized(out.outputs, len(models))
	if len(in.arrivals) == 0 {
		return
	}
	for k, model := range models {
		o := &out.outputs[k]
		o.logits, o.probabilities = model.Predict(&a.batch) // n×C
		o.representation = p.representation(model.Version, &a.batch, o.logits)
		o.links = nil
		if tasked := otherTask(model.Version); tasked != nil && tasked.Candidates() != nil {
			o.links = answer.Links(tasked.Candidates(), o.logits, in, p.Output.TopK)
		}
		o.explanations = p.reasons(&o.reasons, model.Version, in, a, o.logits, o.probabilities)
	}
	now, n := p.Clock.Now(), 0
	for i, s := range in.arrivals {
		c, finite := a.counts[i], true
		for k := range models {
			pr := &out.predictions[n+k]
			*pr = event.Prediction{ID: s.arrival.ID, Key: s.key(), Degraded: a.degraded[i],
				Top: pr.Top, Numbers: pr.Numbers, Labels: pr.Labels, // their memory is used again
				Known: c.known, Arrivals: c.arrivals, InBatch: c.inBatch, Unknown: c.unknown,
				Canary: p.candidate, Batch: name, Source: event.Source(s.record.Position),
				ArrivalTime: s.arrival.Time, IngestTime: s.record.Time, PredictedTime: now}
			if p.Traced {
				pr.Trace = event.TraceOf(s.record.Headers)
			}
			p.answerBy(pr, &models[k], &out.outputs[k], i, &out.order)
			finite = finite && answer.IsFinite(pr)
		}
		if out.withdrawn[i] = !finite; !finite {
			out.deadLetters = append(out.deadLetters, s.deadLetter(event.ReasonNotFinite,
				"features: the model's output is not finite, they are too far from those of training"))
			continue
		}
		for range models {
			out.answered = append(out.answered, event.Record{Value: s.record.Value, Headers: s.record.Headers})
		}
		n += len(models)
	}
	out.predictions = out.predictions[:n]
}

// answerBy sets the fields of a prediction that depend on the model: of arrival i, by the model's output. order is
// memory for classes.
func (p *Pipeline) answerBy(pr *event.Prediction, model *Model, o *output, i int, order *[]int32) {
	row, classes := o.probabilities.Row(i), model.Classes()
	numbers, labels := pr.Numbers, pr.Labels
	pr.Artifact, pr.Model, pr.Numbers, pr.Labels = model.ID(), model.Name, nil, nil
	best := infer.ArgMax(row)
	pr.Class, pr.ClassName, pr.Probability = best, classes[best], row[best]
	pr.Abstained = row[best] < model.Threshold()
	pr.Top = answer.Top(pr.Top[:0], order, p.Output.TopK, row, classes)
	if p.Output.Probabilities {
		pr.Probabilities = row
	}
	if tasked := otherTask(model.Version); tasked != nil {
		pr.Numbers, pr.Labels = numbers, labels
		if answerTask(pr, row, tasked); o.links != nil {
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
