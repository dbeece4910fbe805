package event

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// AppendPrediction appends p as a record of schema/prediction.avsc to dst, so that the same prediction always gives
// the same bytes. What [Protobuf.AppendPrediction] refuses is an error, and dst is then returned as it was.
func (Avro) AppendPrediction(dst []byte, p *Prediction) ([]byte, error) {
	w := avroWriter{buf: dst}
	w.id("id", p.ID)
	w.integer("class", int64(p.Class), 0, math.MaxInt32)
	w.text("class_name", p.ClassName)
	w.finite("probability", p.Probability)
	w.boolean(p.Abstained)
	w.boolean(p.Degraded)
	w.top(p.Top)
	w.floats("probabilities", p.Probabilities)
	w.floats("logits", p.Logits)
	w.representation(p)
	w.explanation(p.Explanation)
	w.text("artifact", p.Artifact)
	w.text("batch", p.Batch)
	w.integer("known_neighbours", int64(p.Known), 0, math.MaxInt64)
	w.integer("arrival_neighbours", int64(p.Arrivals), 0, math.MaxInt64)
	w.integer("batch_neighbours", int64(p.InBatch), 0, math.MaxInt64)
	w.integer("unknown_neighbours", int64(p.Unknown), 0, math.MaxInt64)
	w.text("source.topic", p.Source.Topic)
	w.integer("source.partition", int64(p.Source.Partition), math.MinInt32, math.MaxInt32)
	w.long(p.Source.Offset)
	w.time("arrival_time", p.ArrivalTime)
	w.time("ingest_time", timestamp(p.IngestTime))
	w.time("predicted_time", p.PredictedTime)
	if w.err != nil {
		return dst, fmt.Errorf("encoding prediction of %s: %w", cut(strconv.Quote(p.ID)), w.err)
	}
	return w.buf, nil
}

func (w *avroWriter) finite(field string, v float32) {
	if v-v != 0 {
		w.fail(fieldErrorf(ReasonNotFinite, field, "%v, want a finite number", v))
	}
	w.float(v)
}

func (w *avroWriter) top(list []Score) {
	if len(list) > 0 {
		w.long(int64(len(list)))
	}
	for i := range list {
		s := &list[i]
		w.integer("top.class", int64(s.Class), 0, math.MaxInt32)
		w.text("top.name", s.Name)
		w.finite("top.probability", s.Probability)
	}
	w.long(0)
}

func (w *avroWriter) representation(p *Prediction) {
	if len(p.Representation) == 0 {
		w.long(0)
		return
	}
	w.long(1)
	switch p.RepresentationKind {
	case RepresentationLogits:
		w.long(0)
	case RepresentationEmbedding:
		w.long(1)
	default:
		w.fail(fieldErrorf(ReasonUnparsable, "representation.kind", "%s, want %s or %s",
			cut(strconv.Quote(p.RepresentationKind)), RepresentationLogits, RepresentationEmbedding))
	}
	w.floats("representation.values", p.Representation)
}

func (w *avroWriter) explanation(e *Explanation) {
	if e == nil {
		w.long(0)
		return
	}
	w.fail(e.check())
	w.long(1)
	if e.RunnerUp < 0 {
		w.long(0)
	} else {
		w.long(1)
		w.integer("explanation.runner_up", int64(e.RunnerUp), 0, math.MaxInt32)
	}
	if len(e.Reasons) > 0 {
		w.long(int64(len(e.Reasons)))
	}
	for k := range e.Reasons {
		r := &e.Reasons[k]
		w.long(int64(slices.Index(reasonKinds, r.Kind) - 1)) // the enum begins at 0
		w.text("explanation.reasons.name", r.Name)
		w.text("explanation.reasons.id", r.ID)
		w.finite("explanation.reasons.share", r.Share)
		w.finite("explanation.reasons.margin", r.Margin)
	}
	w.long(0)
}

func (e *explanationAvro) event() *Explanation {
	if e == nil {
		return nil
	}
	out := &Explanation{RunnerUp: -1}
	if e.RunnerUp != nil {
		out.RunnerUp = *e.RunnerUp
	}
	for _, r := range e.Reasons {
		out.Reasons = append(out.Reasons, Reason(r))
	}
	return out
}

// predictionAvro is schema/prediction.avsc for the library.
type predictionAvro struct {
	ID             string              `avro:"id"`
	Class          int                 `avro:"class"`
	ClassName      string              `avro:"class_name"`
	Probability    float32             `avro:"probability"`
	Abstained      bool                `avro:"abstained"`
	Degraded       bool                `avro:"degraded"`
	Top            []scoreAvro         `avro:"top"`
	Probabilities  []float32           `avro:"probabilities"`
	Logits         []float32           `avro:"logits"`
	Representation *representationAvro `avro:"representation"`
	Explanation    *explanationAvro    `avro:"explanation"`
	Artifact       string              `avro:"artifact"`
	Batch          string              `avro:"batch"`
	Known          int                 `avro:"known_neighbours"`
	Arrivals       int                 `avro:"arrival_neighbours"`
	InBatch        int                 `avro:"batch_neighbours"`
	Unknown        int                 `avro:"unknown_neighbours"`
	Source         sourceAvro          `avro:"source"`
	ArrivalTime    *time.Time          `avro:"arrival_time"`
	IngestTime     *time.Time          `avro:"ingest_time"`
	PredictedTime  *time.Time          `avro:"predicted_time"`
}

type scoreAvro struct {
	Class       int     `avro:"class"`
	Name        string  `avro:"name"`
	Probability float32 `avro:"probability"`
}

type representationAvro struct {
	Kind   string    `avro:"kind"`
	Values []float32 `avro:"values"`
}

type explanationAvro struct {
	RunnerUp *int         `avro:"runner_up"`
	Reasons  []reasonAvro `avro:"reasons"`
}

type reasonAvro struct {
	Kind   string  `avro:"kind"`
	Name   string  `avro:"name"`
	ID     string  `avro:"id"`
	Share  float32 `avro:"share"`
	Margin float32 `avro:"margin"`
}

type sourceAvro struct {
	Topic     string `avro:"topic"`
	Partition int    `avro:"partition"`
	Offset    int64  `avro:"offset"`
}

// DecodePrediction reads a record of schema/prediction.avsc into p. It overwrites all of p.
func (Avro) DecodePrediction(data []byte, p *Prediction) error {
	var r predictionAvro
	rest, err := ownPrediction.Decode(data, &r)
	if err != nil {
		return fieldErrorf(ReasonUnparsable, "", "%s", cutTo(err.Error(), maxLibraryText))
	}
	if len(rest) > 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record goes on after its %d bytes", len(data)-len(rest))
	}
	if r.ID == "" {
		return fieldErrorf(ReasonUnparsable, "id", "is missing")
	}
	*p = Prediction{ID: r.ID, Class: r.Class, ClassName: r.ClassName, Probability: r.Probability, Abstained: r.Abstained,
		Degraded: r.Degraded, Probabilities: r.Probabilities, Logits: r.Logits, Artifact: r.Artifact, Batch: r.Batch,
		Known: r.Known, Arrivals: r.Arrivals, InBatch: r.InBatch, Unknown: r.Unknown, Source: Source(r.Source),
		ArrivalTime: given(r.ArrivalTime), IngestTime: given(r.IngestTime), PredictedTime: given(r.PredictedTime)}
	for _, s := range r.Top {
		p.Top = append(p.Top, Score(s))
	}
	if r.Representation != nil {
		p.RepresentationKind, p.Representation = r.Representation.Kind, r.Representation.Values
	}
	p.Explanation = r.Explanation.event()
	return nil
}

func given(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
