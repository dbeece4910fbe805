package consumer

import (
	"context"
	"fmt"

	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/target"
)

// ExplainedArrival is an arrival with its prediction and the reasons for it.
type ExplainedArrival struct {
	*explain.Explanation
	Prediction *event.Prediction
	Edges      []string     // the arrival's neighbours, in the record's order
	Rows       []attach.Row // the neighbours' rows of M
	Among      []string     // ids of the batch's arrivals, in its order
	Classes    []string     // names by index
	Names      []string     // names of features by position; nil where they have none
}

// Explain takes a batch through the stages of [Pipeline.Process] up to its predictions, and explains each in full. It
// delivers nothing and writes no row of an arrival. Its result is valid until the pipeline's next batch. The version
// must have an explainer.
func (p *Pipeline) Explain(ctx context.Context, in Intake) ([]ExplainedArrival, []event.DeadLetter, error) {
	version, err := p.current()
	if err != nil {
		return nil, nil, err
	}
	if err := version.Info().Task.Require(target.Explanation); err != nil {
		return nil, nil, err
	}
	if version.Explainer() == nil {
		return nil, nil, errNotExplaining
	}
	b := p.batch
	if err := p.answer(ctx, version, in); err != nil {
		return nil, nil, err
	}
	all, err := p.explanations(ctx, version, b)
	if err != nil {
		return nil, nil, err
	}
	return all, b.output().DeadLetters, nil
}

// answer takes a batch through the stages of [Pipeline.Process] up to its predictions, and notes nothing. It looks up
// the rows of M of all neighbours, where Process would need only their numbers.
func (p *Pipeline) answer(ctx context.Context, version Version, in Intake) error {
	b := p.batch
	if err := p.decode(ctx, &b.decoded, in, p.model(version.Info())); err != nil {
		return err
	}
	if err := p.lookupRows(ctx, &b.neighbours, version, &b.decoded); err != nil {
		return fmt.Errorf("%w: %w", ErrLookup, err)
	}
	p.attach(&b.attachment, version, &b.decoded, &b.neighbours)
	return p.predict(ctx, &b.predicted, version, in.Name, &b.decoded, &b.attachment)
}

// maxParts bounds an explanation. Each neighbour is a part, and each synthetic node that it speaks through: an id of
// one byte may have a row of M with thousands.
const maxParts = 1 << 18

// explanations returns the explanation of each prediction of a batch, in the same order; one that would be too large is
// a dead letter. One takes as long as fifty predictions, so ctx is checked before each.
func (p *Pipeline) explanations(ctx context.Context, version Version, b *batch) ([]ExplainedArrival, error) {
	if len(b.decoded.arrivals) == 0 {
		return nil, nil
	}
	among := make([]string, len(b.decoded.arrivals))
	for i, s := range b.decoded.arrivals {
		among[i] = s.arrival.ID
	}
	info := version.Info()
	logits, probabilities := version.Predict(&b.attachment.batch)
	var out []ExplainedArrival
	predicted := b.predicted.predictions
	for i, s := range b.decoded.arrivals {
		if b.predicted.withdrawn[i] {
			continue
		}
		prediction := &predicted[0]
		predicted = predicted[1:]
		if n := partsOf(b.neighbours.rows[i]); n > maxParts {
			b.predicted.deadLetters = append(b.predicted.deadLetters, s.deadLetter(event.ReasonTooLarge,
				fmt.Sprintf("edges: an explanation has %d neighbours and synthetic nodes, at most %d may be", n, maxParts)))
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		explanation := version.Explainer().Explain(&b.attachment.batch, b.attachment.rows, i, logits.Row(i),
			probabilities.Row(i))
		out = append(out, ExplainedArrival{Prediction: prediction, Edges: s.arrival.Edges, Rows: b.neighbours.rows[i],
			Among: among, Classes: info.Classes, Names: info.Names, Explanation: explanation})
	}
	return out, nil
}

func partsOf(rows []attach.Row) int {
	n := len(rows)
	for i := range rows {
		n += len(rows[i].Cols)
	}
	return n
}
