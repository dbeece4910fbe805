package event

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"sync"
	"time"

	json "github.com/go-json-experiment/json"
)

// predictionJSON is the wire form; the order of its fields is the order in the record. Pointers distinguish a
// missing field from a 0; a wire form of its own keeps [Prediction] free of any one codec's tags.
type predictionJSON struct {
	ID             string              `json:"id"`
	Class          *int                `json:"class"`
	ClassName      string              `json:"class_name,omitzero"`
	Probability    *float32            `json:"probability"`
	Abstained      bool                `json:"abstained,omitzero"`
	Degraded       bool                `json:"degraded,omitzero"`
	Top            []scoreJSON         `json:"top,omitempty"`
	Probabilities  []float32           `json:"probabilities,omitempty"`
	Logits         []float32           `json:"logits,omitempty"`
	Representation *representationJSON `json:"representation,omitzero"`
	Explanation    *explanationJSON    `json:"explanation,omitzero"`
	Artifact       *string             `json:"artifact"`
	Batch          string              `json:"batch,omitzero"`
	Known          *int                `json:"known_neighbours"`
	Arrivals       int                 `json:"arrival_neighbours,omitzero"`
	InBatch        *int                `json:"batch_neighbours"`
	Unknown        *int                `json:"unknown_neighbours"`
	Source         *sourceJSON         `json:"source"`
	ArrivalTime    time.Time           `json:"arrival_time,omitzero"`
	IngestTime     time.Time           `json:"ingest_time,omitzero"`
	PredictedTime  time.Time           `json:"predicted_time,omitzero"`
}

type scoreJSON struct {
	Class       int     `json:"class"`
	Name        string  `json:"name,omitzero"`
	Probability float32 `json:"probability"`
}

type representationJSON struct {
	Kind   string    `json:"kind"`
	Values []float32 `json:"values"`
}

type sourceJSON struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
}

// predictionWire is the memory that one call needs, kept for the next.
type predictionWire struct {
	buf    bytes.Buffer
	fields predictionJSON
	source sourceJSON
	repr   representationJSON
	top    []scoreJSON
}

var predictionWires = sync.Pool{New: func() any { return new(predictionWire) }}

// release drops all references to the caller's memory.
func (w *predictionWire) release() {
	w.buf, w.fields, w.source, w.repr = bytes.Buffer{}, predictionJSON{}, sourceJSON{}, representationJSON{}
	clear(w.top)
	w.top = w.top[:0]
	if cap(w.top) <= maxScratch/64 {
		predictionWires.Put(w)
	}
}

// AppendPrediction appends p as one JSON object to dst. Class names, top, probabilities, logits, representation,
// batch and times are left out if they are empty, abstained and degraded if they are false, arrival_neighbours if
// it is 0. Numbers have the shortest form that reads back as the same float32; times are in UTC. NaN and infinity
// have no JSON form and are an error, as is a time outside the years 1 to 9999; dst is then returned unchanged.
// Such an IngestTime is left out.
func (JSON) AppendPrediction(dst []byte, p *Prediction) ([]byte, error) {
	w := predictionWriter{buf: dst}
	if w.prediction(p); !w.failed {
		return w.buf, nil
	}
	return dst, fmt.Errorf("encoding prediction of %s: %w", cut(strconv.Quote(p.ID)), p.whyNot())
}

// whyNot is why a prediction cannot be written.
func (p *Prediction) whyNot() error {
	if _, err := p.marshal(nil); err != nil {
		return err
	}
	return p.checkWritten()
}

// marshal appends the JSON that the library makes of a prediction.
func (p *Prediction) marshal(dst []byte) ([]byte, error) {
	w := predictionWires.Get().(*predictionWire)
	defer w.release()
	for _, s := range p.Top {
		w.top = append(w.top, scoreJSON(s))
	}
	w.source = sourceJSON(p.Source)
	w.fields = predictionJSON{
		ID:            p.ID,
		Class:         &p.Class,
		ClassName:     p.ClassName,
		Probability:   &p.Probability,
		Abstained:     p.Abstained,
		Degraded:      p.Degraded,
		Top:           w.top,
		Probabilities: p.Probabilities,
		Logits:        p.Logits,
		Artifact:      &p.Artifact,
		Batch:         p.Batch,
		Known:         &p.Known,
		Arrivals:      p.Arrivals,
		InBatch:       &p.InBatch,
		Unknown:       &p.Unknown,
		Source:        &w.source,
		ArrivalTime:   p.ArrivalTime.UTC(),
		IngestTime:    timestamp(p.IngestTime),
		PredictedTime: p.PredictedTime.UTC(),
	}
	if len(p.Representation) > 0 {
		w.repr = representationJSON{Kind: p.RepresentationKind, Values: p.Representation}
		w.fields.Representation = &w.repr
	}
	w.fields.Explanation = p.Explanation.json()
	w.buf = *bytes.NewBuffer(dst)
	err := json.MarshalWrite(&w.buf, &w.fields)
	return w.buf.Bytes(), err
}

// checkWritten refuses a prediction that the wire form could hold but a reader would refuse.
func (p *Prediction) checkWritten() error {
	if p.ID == "" {
		return fieldErrorf(ReasonUnparsable, "id", "is empty")
	}
	if len(p.Representation) > 0 {
		if err := checkKind(p.RepresentationKind); err != nil {
			return err
		}
	}
	if err := p.Explanation.check(); err != nil {
		return err
	}
	return checkTimes(p.ArrivalTime, time.Time{}, p.PredictedTime)
}

func checkTimes(arrival, ingest, predicted time.Time) error {
	return cmp.Or(checkYears(arrival, "arrival_time"), checkYears(ingest, "ingest_time"),
		checkYears(predicted, "predicted_time"))
}

func checkKind(kind string) error {
	switch kind {
	case RepresentationLogits, RepresentationEmbedding:
		return nil
	}
	return fieldErrorf(ReasonUnparsable, "representation.kind", "%s, want %q or %q",
		cut(strconv.Quote(kind)), RepresentationLogits, RepresentationEmbedding)
}

// DecodePrediction reads one JSON record into p, for readers of the predictions topic and for tests. It overwrites
// all of p except Key, which is not part of the payload, and reuses the slices that the record fills, except
// Representation. The error is a *[FieldError], then the content of p is undefined.
func (JSON) DecodePrediction(data []byte, p *Prediction) error {
	w := predictionWires.Get().(*predictionWire)
	defer w.release()
	w.fields = predictionJSON{
		Top:           w.top[:0],
		Probabilities: p.Probabilities[:0],
		Logits:        p.Logits[:0],
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record is empty")
	}
	if err := json.Unmarshal(data, &w.fields); err != nil {
		return parseError(err)
	}
	w.top = w.fields.Top
	if err := w.fields.check(); err != nil {
		return err
	}
	w.fields.store(p)
	return nil
}

// check refuses a record without its required fields, and indices and counts below 0.
func (w *predictionJSON) check() error {
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"id", w.ID == ""},
		{"class", w.Class == nil},
		{"probability", w.Probability == nil},
		{"artifact", w.Artifact == nil},
		{"known_neighbours", w.Known == nil},
		{"batch_neighbours", w.InBatch == nil},
		{"unknown_neighbours", w.Unknown == nil},
		{"source", w.Source == nil},
	} {
		if field.missing {
			return fieldErrorf(ReasonUnparsable, field.name, "is missing")
		}
	}
	for _, field := range []struct {
		name  string
		value int
	}{
		{"class", *w.Class},
		{"known_neighbours", *w.Known},
		{"arrival_neighbours", w.Arrivals},
		{"batch_neighbours", *w.InBatch},
		{"unknown_neighbours", *w.Unknown},
	} {
		if field.value < 0 {
			return fieldErrorf(ReasonUnparsable, field.name, "%d is below 0", field.value)
		}
	}
	for k, s := range w.Top {
		if s.Class < 0 {
			return fieldErrorf(ReasonUnparsable, element("top", k)+".class", "%d is below 0", s.Class)
		}
	}
	if r := w.Representation; r != nil {
		if len(r.Values) == 0 {
			return fieldErrorf(ReasonUnparsable, "representation.values", "is missing or empty")
		}
		if err := checkKind(r.Kind); err != nil {
			return err
		}
	}
	if err := w.Explanation.check(); err != nil {
		return err
	}
	return checkTimes(w.ArrivalTime, w.IngestTime, w.PredictedTime)
}

// store copies the record into p; a list that the record lacks becomes nil.
func (w *predictionJSON) store(p *Prediction) {
	top := p.Top[:0]
	for _, s := range w.Top {
		top = append(top, Score(s))
	}
	*p = Prediction{
		ID:            w.ID,
		Key:           p.Key,
		Class:         *w.Class,
		ClassName:     w.ClassName,
		Probability:   *w.Probability,
		Abstained:     w.Abstained,
		Degraded:      w.Degraded,
		Top:           nilIfEmpty(top),
		Probabilities: nilIfEmpty(w.Probabilities),
		Logits:        nilIfEmpty(w.Logits),
		Artifact:      *w.Artifact,
		Batch:         w.Batch,
		Known:         *w.Known,
		Arrivals:      w.Arrivals,
		InBatch:       *w.InBatch,
		Unknown:       *w.Unknown,
		Source:        Source(*w.Source),
		ArrivalTime:   w.ArrivalTime.UTC(),
		IngestTime:    w.IngestTime.UTC(),
		PredictedTime: w.PredictedTime.UTC(),
	}
	if r := w.Representation; r != nil {
		p.Representation, p.RepresentationKind = r.Values, r.Kind
	}
	p.Explanation = w.Explanation.event()
}

func nilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
