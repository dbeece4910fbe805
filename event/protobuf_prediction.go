package event

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of schema/prediction.proto.
const (
	predictionID             = 1
	predictionClass          = 2
	predictionClassName      = 3
	predictionProbability    = 4
	predictionAbstained      = 5
	predictionTop            = 6
	predictionProbabilities  = 7
	predictionLogits         = 8
	predictionRepresentation = 9
	predictionArtifact       = 10
	predictionBatch          = 11
	predictionKnown          = 12
	predictionInBatch        = 13
	predictionUnknown        = 14
	predictionSource         = 15
	predictionArrivalTime    = 16
	predictionIngestTime     = 17
	predictionPredictedTime  = 18
	predictionDegraded       = 19
	predictionArrivals       = 20
	predictionExplanation    = 21

	scoreClass       = 1
	scoreName        = 2
	scoreProbability = 3

	representationKind   = 1
	representationValues = 2

	sourceTopic     = 1
	sourcePartition = 2
	sourceOffset    = 3
)

var (
	predictionFields = []wireField{
		predictionID:             {"id", bytesField},
		predictionClass:          {"class", varintField},
		predictionClassName:      {"class_name", bytesField},
		predictionProbability:    {"probability", floatField},
		predictionAbstained:      {"abstained", varintField},
		predictionTop:            {"top", bytesList},
		predictionProbabilities:  {"probabilities", floatList},
		predictionLogits:         {"logits", floatList},
		predictionRepresentation: {"representation", bytesField},
		predictionArtifact:       {"artifact", bytesField},
		predictionBatch:          {"batch", bytesField},
		predictionKnown:          {"known_neighbours", varintField},
		predictionInBatch:        {"batch_neighbours", varintField},
		predictionUnknown:        {"unknown_neighbours", varintField},
		predictionSource:         {"source", bytesField},
		predictionArrivalTime:    {"arrival_time", bytesField},
		predictionIngestTime:     {"ingest_time", bytesField},
		predictionPredictedTime:  {"predicted_time", bytesField},
		predictionDegraded:       {"degraded", varintField},
		predictionArrivals:       {"arrival_neighbours", varintField},
		predictionExplanation:    {"explanation", bytesField},
	}
	scoreFields = []wireField{
		scoreClass: {"class", varintField}, scoreName: {"name", bytesField}, scoreProbability: {"probability", floatField},
	}
	representationFields = []wireField{
		representationKind: {"kind", varintField}, representationValues: {"values", floatList},
	}
	sourceFields = []wireField{
		sourceTopic: {"topic", bytesField}, sourcePartition: {"partition", varintField}, sourceOffset: {"offset", varintField},
	}
)

// representationKinds are the kinds by their number.
var representationKinds = []string{1: RepresentationLogits, 2: RepresentationEmbedding}

// AppendPrediction appends p as one message to dst. Fields are in the order of their numbers, and what is 0 or empty
// is left out: the same prediction always gives the same bytes. NaN, infinity, text that is not UTF-8, a class, a
// count or a partition that the schema's integers cannot hold, and a time outside the years 1 to 9999 are errors,
// and dst is then returned unchanged; such an IngestTime is left out.
func (Protobuf) AppendPrediction(dst []byte, p *Prediction) ([]byte, error) {
	w := wireWriter{buf: dst}
	w.id(predictionID, "id", p.ID)
	w.index(predictionClass, "class", p.Class)
	w.text(predictionClassName, "class_name", p.ClassName)
	w.float(predictionProbability, "probability", p.Probability)
	if p.Abstained {
		w.integer(predictionAbstained, "abstained", 1, 0, 1)
	}
	for k := range p.Top {
		w.score(k, &p.Top[k])
	}
	w.numbers(predictionProbabilities, "probabilities", p.Probabilities)
	w.numbers(predictionLogits, "logits", p.Logits)
	w.representation(p)
	w.text(predictionArtifact, "artifact", p.Artifact)
	w.text(predictionBatch, "batch", p.Batch)
	w.index(predictionKnown, "known_neighbours", p.Known)
	w.index(predictionInBatch, "batch_neighbours", p.InBatch)
	w.index(predictionUnknown, "unknown_neighbours", p.Unknown)
	start := w.begin(predictionSource)
	w.text(sourceTopic, "source.topic", p.Source.Topic)
	w.integer(sourcePartition, "source.partition", int64(p.Source.Partition), math.MinInt32, math.MaxInt32)
	w.integer(sourceOffset, "source.offset", p.Source.Offset, math.MinInt64, math.MaxInt64)
	w.end(start)
	w.time(predictionArrivalTime, "arrival_time", p.ArrivalTime)
	w.time(predictionIngestTime, "ingest_time", timestamp(p.IngestTime))
	w.time(predictionPredictedTime, "predicted_time", p.PredictedTime)
	if p.Degraded {
		w.integer(predictionDegraded, "degraded", 1, 0, 1)
	}
	w.index(predictionArrivals, "arrival_neighbours", p.Arrivals)
	w.explanation(p.Explanation)
	if w.err != nil {
		return dst, fmt.Errorf("encoding prediction of %s: %w", cut(strconv.Quote(p.ID)), w.err)
	}
	return w.buf, nil
}

// index writes an index or a count.
func (w *wireWriter) index(num protowire.Number, field string, v int) {
	w.integer(num, field, int64(v), 0, math.MaxUint32)
}

// numbers writes a list of finite floats.
func (w *wireWriter) numbers(num protowire.Number, field string, values []float32) {
	w.fail(checkNumbers(values, field))
	w.floats(num, values)
}

func (w *wireWriter) score(k int, s *Score) {
	score := wireWriter{buf: w.buf}
	start := score.begin(predictionTop)
	score.index(scoreClass, "class", s.Class)
	score.text(scoreName, "name", s.Name)
	score.float(scoreProbability, "probability", s.Probability)
	score.end(start)
	w.take(&score, "top", k)
}

// take takes over what another writer has appended to the same message for element k of a list. The element's path is made only if
// there is an error, as it costs an allocation.
func (w *wireWriter) take(of *wireWriter, list string, k int) {
	w.buf = of.buf
	if of.err != nil {
		w.fail(inside(element(list, k), of.err))
	}
}

func (w *wireWriter) representation(p *Prediction) {
	if len(p.Representation) == 0 {
		return
	}
	w.fail(checkKind(p.RepresentationKind))
	start := w.begin(predictionRepresentation)
	w.index(representationKind, "representation.kind", slices.Index(representationKinds, p.RepresentationKind))
	w.numbers(representationValues, "representation.values", p.Representation)
	w.end(start)
}

// checkNumbers refuses lists with NaN or infinity. It is called once a record: a list may come in many pieces.
func (p *Prediction) checkNumbers() error {
	return cmp.Or(checkNumbers(p.Probabilities, "probabilities"), checkNumbers(p.Logits, "logits"),
		checkNumbers(p.Representation, "representation.values"))
}

// checkNumbers does checkFinite's work for values that are not features.
func checkNumbers(values []float32, field string) error {
	for k, v := range values {
		if v-v != 0 {
			return fieldErrorf(ReasonUnparsable, element(field, k), "%v, want a finite number", v)
		}
	}
	return nil
}

// DecodePrediction reads one Protobuf record into p, for readers of the predictions topic and for tests.
// It overwrites all of p except Key, which is not part of the payload, and reuses the slices that the
// record fills. The error is a
// *[FieldError], then the content of p is undefined.
func (Protobuf) DecodePrediction(data []byte, p *Prediction) error {
	*p = Prediction{Key: p.Key, Top: p.Top[:0], Probabilities: p.Probabilities[:0], Logits: p.Logits[:0],
		Representation: p.Representation[:0]}
	if len(data) == 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record is empty")
	}
	var hasSource bool
	err := walk(data, 0, predictionFields, func(v wireValue) error {
		hasSource = hasSource || v.num == predictionSource
		return p.read(v)
	})
	switch {
	case err != nil:
		return err
	case p.ID == "":
		return fieldErrorf(ReasonUnparsable, "id", "is missing")
	case !hasSource:
		return fieldErrorf(ReasonUnparsable, "source", "is missing")
	}
	if err := p.checkNumbers(); err != nil {
		return err
	}
	p.Top, p.Probabilities, p.Logits = nilIfEmpty(p.Top), nilIfEmpty(p.Probabilities), nilIfEmpty(p.Logits)
	p.Representation = nilIfEmpty(p.Representation)
	return nil
}

func (p *Prediction) read(v wireValue) (err error) {
	field := predictionFields[v.num].name
	switch v.num {
	case predictionID:
		p.ID, err = wireID(v, false)
	case predictionClass:
		p.Class, err = v.index(field)
	case predictionClassName:
		p.ClassName, err = v.string(field)
	case predictionProbability:
		p.Probability, err = v.number(field)
	case predictionAbstained:
		p.Abstained = v.bits != 0
	case predictionDegraded:
		p.Degraded = v.bits != 0
	case predictionTop:
		p.Top, err = appendScore(p.Top, v)
	case predictionProbabilities:
		p.Probabilities, err = v.floats(p.Probabilities, field)
	case predictionLogits:
		p.Logits, err = v.floats(p.Logits, field)
	case predictionRepresentation:
		err = p.readRepresentation(v)
	case predictionArtifact:
		p.Artifact, err = v.string(field)
	case predictionBatch:
		p.Batch, err = v.string(field)
	case predictionKnown:
		p.Known, err = v.index(field)
	case predictionArrivals:
		p.Arrivals, err = v.index(field)
	case predictionExplanation:
		p.Explanation, err = readExplanation(v)
	case predictionInBatch:
		p.InBatch, err = v.index(field)
	case predictionUnknown:
		p.Unknown, err = v.index(field)
	case predictionSource:
		p.Source, err = readSource(v)
	case predictionArrivalTime:
		p.ArrivalTime, err = v.time(field)
	case predictionIngestTime:
		p.IngestTime, err = v.time(field)
	case predictionPredictedTime:
		p.PredictedTime, err = v.time(field)
	}
	return err
}

func appendScore(top []Score, v wireValue) ([]Score, error) {
	var s Score
	err := walk(v.bytes, v.at, scoreFields, func(v wireValue) (err error) {
		switch v.num {
		case scoreClass:
			s.Class, err = v.index("class")
		case scoreName:
			s.Name, err = v.string("name")
		case scoreProbability:
			s.Probability, err = v.number("probability")
		}
		return err
	})
	if err != nil {
		return top, inside(element("top", len(top)), err)
	}
	return append(top, s), nil
}

func (p *Prediction) readRepresentation(v wireValue) error {
	const field = "representation"
	var kind int64
	err := walk(v.bytes, v.at, representationFields, func(v wireValue) (err error) {
		if v.num == representationKind {
			kind, err = v.integer("kind", 1, int64(len(representationKinds))-1)
		} else {
			p.Representation, err = v.floats(p.Representation, "values")
		}
		return err
	})
	switch {
	case err != nil:
		return inside(field, err)
	case kind == 0:
		return fieldErrorf(ReasonUnparsable, field+".kind", "is missing")
	case len(p.Representation) == 0:
		return fieldErrorf(ReasonUnparsable, field+".values", "is missing or empty")
	}
	p.RepresentationKind = representationKinds[kind]
	return nil
}

func readSource(v wireValue) (s Source, err error) {
	err = walk(v.bytes, v.at, sourceFields, func(v wireValue) (err error) {
		switch v.num {
		case sourceTopic:
			s.Topic, err = v.string("topic")
		case sourcePartition:
			var partition int64
			partition, err = v.integer("partition", math.MinInt32, math.MaxInt32)
			s.Partition = int(partition)
		case sourceOffset:
			s.Offset = int64(v.bits)
		}
		return err
	})
	if err != nil {
		return s, inside("source", err)
	}
	return s, nil
}

// index returns an index or a count.
func (v wireValue) index(field string) (int, error) {
	i, err := v.integer(field, 0, math.MaxUint32)
	return int(i), err
}

func (v wireValue) string(field string) (string, error) {
	text, err := v.text(field)
	return string(text), err
}

// number returns a finite float.
func (v wireValue) number(field string) (float32, error) {
	f := v.float()
	if f-f != 0 {
		return 0, fieldErrorf(ReasonUnparsable, field, "%v, want a finite number", f)
	}
	return f, nil
}
