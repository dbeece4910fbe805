package preflight

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/trainer"
)

// tolerance is the most that two probabilities of one arrival may lie apart. They have the same bits where all is
// well; another processor may round otherwise.
const tolerance = 1e-6

// Answers sends the nodes that a run has answered through the path of a record, from bytes to prediction, on the
// artifact that the run is about to write: in JSON and Protobuf. The first difference is an error with the node,
// the field and both values. Nodes that consumers with these limits refuse are warnings.
func Answers(ctx context.Context, b *artifact.Bundle, answers []trainer.Answer, l event.Limits) (warnings []string,
	err error) {
	if len(answers) == 0 {
		return nil, nil
	}
	r := refusals{}
	version, err := serve(b, answers, l, &r)
	if err != nil {
		return nil, fmt.Errorf("consumers cannot serve the artifact: %w", err)
	}
	sent, arrivals := make([]trainer.Answer, 0, len(answers)), make([]event.Arrival, 0, len(answers))
	for _, answer := range answers {
		a := arrival(&answer)
		refused := l.Edges > 0 && answer.Degree > l.Edges
		if refused {
			r.edges.add(a.ID, answer.Degree)
		} else if refused, err = r.arrival(&a, l); err == nil && !refused {
			refused, err = r.record(&a, l)
		}
		if err != nil {
			return nil, err
		}
		if !refused {
			sent, arrivals = append(sent, answer), append(arrivals, a)
		}
	}
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		records := make([]kafka.Record, len(arrivals))
		for k := range arrivals {
			value, err := codec.AppendArrival(nil, &arrivals[k])
			if err != nil {
				return nil, fmt.Errorf("%s node %q as a record of %s: %w", sent[k].Role, sent[k].ID, codec.ContentType(), err)
			}
			records[k] = kafka.Record{Key: []byte(arrivals[k].ID), Value: value, Position: kafka.Position{Offset: int64(k)},
				Headers: []event.Header{{Key: event.HeaderContentType, Value: []byte(codec.ContentType())}}}
		}
		if err := compare(ctx, version, sent, records, l); err != nil {
			return nil, fmt.Errorf("consumers would answer otherwise than the trainer: %w (record of %s)", err,
				codec.ContentType())
		}
	}
	return r.warnings(), nil
}

// arrival is a node as a producer sends it.
func arrival(answer *trainer.Answer) event.Arrival {
	a := event.Arrival{ID: answer.ID, Edges: answer.Edges, Incoming: answer.Incoming, Types: answer.Types,
		Weights: slices.Clone(answer.Weights), Time: time.Unix(0, 0)}
	if a.Features = replay.Positions(answer.X, 0); answer.Named != nil {
		a.Features = event.Features{Named: answer.Named}
	}
	return a
}

// serve makes a version of the artifact with the rows of M of the nodes' neighbours alone: M need not fit into memory.
// It counts the ids of T that are too long.
func serve(b *artifact.Bundle, answers []trainer.Answer, l event.Limits, r *refusals) (*serving.Version, error) {
	wanted := map[string]bool{}
	for _, a := range answers {
		for _, id := range slices.Concat(a.Edges, a.Incoming) {
			wanted[id] = true
		}
	}
	rows := &graph.CSR{Cols: b.Manifest.SyntheticNodes, RowPtr: []int{0}}
	m := &artifact.Mapping{Rows: rows}
	for piece, err := range b.Pieces() {
		if err != nil {
			return nil, err
		}
		for i, id := range piece.IDs {
			if _, err := r.arrival(&event.Arrival{ID: id}, l); err != nil {
				return nil, err
			}
			if !wanted[id] {
				continue
			}
			cols, vals := piece.Rows.Row(i)
			m.IDs = append(m.IDs, id)
			rows.ColIdx, rows.Val = append(rows.ColIdx, cols...), append(rows.Val, vals...)
			rows.Rows, rows.RowPtr = rows.Rows+1, append(rows.RowPtr, len(rows.ColIdx))
		}
	}
	version, _, err := serving.New(b, mapping.FromArtifact(m), serving.Options{})
	return version, err
}

// compare decodes records and predicts them, and compares the predictions with the answers.
func compare(ctx context.Context, version *serving.Version, answers []trainer.Answer, records []kafka.Record,
	l event.Limits) error {
	decoder := consumer.NewDecoder(read.Reader{}, l)
	decoder.Reads(version.Info().Schema, graph.Slots{})
	taken, err := decoder.Messages(ctx, records, version.Info().Features)
	if err != nil {
		return err
	}
	for k := range answers {
		if err := taken[k].Err(read.KindArrival); err != nil {
			return fmt.Errorf("%s node %q is refused: %w", answers[k].Role, answers[k].ID, err)
		}
		if err := sameArrival(&answers[k], &taken[k].Arrival); err != nil {
			return fmt.Errorf("%s node %q: %w", answers[k].Role, answers[k].ID, err)
		}
	}
	out := &predictions{}
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: consumer.Pin{Version: version},
		Deliverer: out, Mode: attach.Node, Limits: l, Output: consumer.Output{Probabilities: true}})
	if err == nil {
		err = pipeline.Process(ctx, consumer.Intake{Name: "preflight", Records: records})
	}
	if err != nil {
		return err
	}
	for k := range answers {
		of := &answers[k]
		i := slices.IndexFunc(out.records, func(p event.Prediction) bool { return p.Source.Offset == int64(k) })
		if i < 0 {
			return fmt.Errorf("%s node %q gets no prediction: %s", of.Role, of.ID, out.dead)
		}
		want := version.Info().Task.Fitted().List(target.IntervalEach, len(of.Probabilities))
		if n := len(out.records[i].Numbers); n != want {
			return fmt.Errorf("%s node %q: %d numbers at a consumer and %d at the trainer", of.Role, of.ID, n, want)
		}
		for c, n := range out.records[i].Numbers {
			want, scale := float64(of.Probabilities[c]), max(1, version.Info().Radius[c], math.Abs(float64(of.Probabilities[c])))
			if !(math.Abs(float64(n.Value)-want) <= tolerance*scale) {
				return fmt.Errorf("%s node %q: %s is %v at a consumer and %v at the trainer", of.Role, of.ID, n.Name, n.Value, want)
			}
		}
		if err := sameLinks(ctx, of, out.records[i].Links, version); err != nil {
			return err
		}
		for c, p := range out.records[i].Probabilities {
			if want := of.Probabilities[c]; !(math.Abs(float64(p-want)) <= tolerance) {
				return fmt.Errorf("%s node %q: probabilities[%d] (class %q) is %v at a consumer and %v at the trainer", of.Role,
					of.ID, c, version.Info().Classes[c], p, want)
			}
		}
	}
	return nil
}

// sameLinks compares the candidates of a prediction with the best for the trainer's embedding of the node.
func sameLinks(ctx context.Context, of *trainer.Answer, got []event.Link, version *serving.Version) error {
	candidates := version.Info().Candidates
	if candidates == nil {
		return nil
	}
	embedding := &graph.Dense{Rows: 1, Cols: len(of.Probabilities), Data: of.Probabilities}
	best, err := consumer.BestLinks(ctx, candidates, embedding, neighbours(of.Edges), 0)
	if err != nil {
		return err
	}
	want := best[0]
	if len(got) != len(want) {
		return fmt.Errorf("%s node %q: %d candidates at a consumer and %d at the trainer", of.Role, of.ID, len(got),
			len(want))
	}
	for k, l := range got {
		if w := want[k]; !(math.Abs(float64(l.Score-w.Score)) <= tolerance*max(1, math.Abs(float64(w.Score)))) {
			return fmt.Errorf("%s node %q: candidate %d is %q of score %v at a consumer and %q of %v at the trainer", of.Role,
				of.ID, k+1, l.ID, l.Score, w.ID, w.Score)
		}
	}
	return nil
}

// sameArrival compares a decoded arrival with the trainer's node.
func sameArrival(of *trainer.Answer, a *event.Arrival) error {
	if a.ID != of.ID {
		return fmt.Errorf("id is %q at a consumer and %q at the trainer", a.ID, of.ID)
	}
	got, want := row(len(answerRow(of)), a.Features), answerRow(of)
	for k := range want {
		if got[k] != want[k] {
			return fmt.Errorf("features[%d] is %v at a consumer and %v at the trainer", k, got[k], want[k])
		}
	}
	edges := slices.Compact(slices.Sorted(slices.Values(slices.Concat(of.Edges, of.Incoming))))
	if got := slices.Sorted(slices.Values(a.Edges)); !slices.Equal(got, edges) {
		return fmt.Errorf("edges are %.200q at a consumer and %.200q at the trainer", got, edges)
	}
	return nil
}

func answerRow(of *trainer.Answer) []float32 {
	return row(of.X.Cols(), replay.Positions(of.X, 0))
}

// row is a dense row of features by position.
func row(width int, f event.Features) []float32 {
	if !f.Sparse {
		return f.Values
	}
	out := make([]float32, width)
	for k, c := range f.Indices {
		out[c] += f.Values[k]
	}
	return out
}

// predictions keeps the output of a batch.
type predictions struct {
	records []event.Prediction
	dead    string // the first dead letter
}

// Publish implements [consumer.Deliverer].
func (p *predictions) Publish(_ context.Context, b event.Batch, _ kafka.Offsets) ([]kafka.Refusal, error) {
	for _, of := range b.Predictions {
		of.Probabilities, of.Numbers = slices.Clone(of.Probabilities), slices.Clone(of.Numbers) // links are made anew
		p.records = append(p.records, of)
	}
	if len(b.DeadLetters) > 0 {
		p.dead = b.DeadLetters[0].Reason + ": " + b.DeadLetters[0].Detail
	}
	return nil, nil
}

// neighbours are the neighbours of the batch's only arrival.
type neighbours []string

// NeighboursOf returns them.
func (n neighbours) NeighboursOf(int) []string { return n }
