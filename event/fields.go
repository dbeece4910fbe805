package event

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"rivulet/event/table"
)

// The tables of Rivulet's messages. A row is the field's name in JSON, .avsc and errors, its number in .proto, its
// kind, its presence and its place in the Go struct. JSON and Avro have the fields in the order of the rows, Protobuf
// in the order of the numbers. A new field is one row here and one field of the struct; tests compare the rows with
// the structs and with the files of schema/.

var arrivalTable = table.New[Arrival]([]table.Field{
	{Name: "id", Number: idNumber, Kind: table.NodeID, Presence: table.Required, Offset: unsafe.Offsetof(Arrival{}.ID)},
	{Name: "features", Number: denseNumber, Kind: table.Features, Presence: table.Required,
		Offset: unsafe.Offsetof(Arrival{}.Features)},
	{Name: "edges", Number: edgesNumber, Kind: table.IDs, Offset: unsafe.Offsetof(Arrival{}.Edges)},
	{Name: "time", Number: timeNumber, Kind: table.Time, Offset: unsafe.Offsetof(Arrival{}.Time)},
}, table.Alternative{Number: sparseNumber, Of: "features"}, table.Alternative{Number: namedNumber, Of: "features"})

// Numbers of schema/arrival.proto, which the fast reader of plain records knows, too. Features are one of three
// messages.
const (
	idNumber     = 1
	edgesNumber  = 4
	timeNumber   = 5
	denseNumber  = 2
	sparseNumber = 3
	namedNumber  = 6
)

var labelTable = table.New[Label]([]table.Field{
	{Name: "id", Number: 1, Kind: table.NodeID, Presence: table.Required, Offset: unsafe.Offsetof(Label{}.ID)},
	{Name: "class", Number: 2, Kind: table.OptionalIndex, Offset: unsafe.Offsetof(Label{}.Class),
		Hint: "; a name goes into class_name"},
	{Name: "class_name", Number: 3, Kind: table.OptionalText, Offset: unsafe.Offsetof(Label{}.ClassName),
		Hint: "; an index goes into class"},
	{Name: "time", Number: 4, Kind: table.Time, Offset: unsafe.Offsetof(Label{}.Time)},
})

var predictionTable = table.New[Prediction]([]table.Field{
	{Name: "id", Number: 1, Kind: table.ID, Presence: table.Required, Offset: unsafe.Offsetof(Prediction{}.ID)},
	{Name: "class", Number: 2, Kind: table.Index, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.Class)},
	{Name: "class_name", Number: 3, Kind: table.Text, Offset: unsafe.Offsetof(Prediction{}.ClassName)},
	{Name: "probability", Number: 4, Kind: table.Float, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.Probability)},
	{Name: "abstained", Number: 5, Kind: table.Bool, Offset: unsafe.Offsetof(Prediction{}.Abstained)},
	{Name: "degraded", Number: 19, Kind: table.Bool, Offset: unsafe.Offsetof(Prediction{}.Degraded)},
	{Name: "top", Number: 6, Kind: table.List, Offset: unsafe.Offsetof(Prediction{}.Top), Message: scoreTable},
	{Name: "probabilities", Number: 7, Kind: table.Floats, Offset: unsafe.Offsetof(Prediction{}.Probabilities)},
	{Name: "logits", Number: 8, Kind: table.Floats, Offset: unsafe.Offsetof(Prediction{}.Logits)},
	{Name: "representation", Number: 9, Kind: table.Group, Message: representationTable},
	{Name: "explanation", Number: 21, Kind: table.Pointer, Offset: unsafe.Offsetof(Prediction{}.Explanation),
		Message: explanationTable},
	{Name: "artifact", Number: 10, Kind: table.Text, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.Artifact)},
	{Name: "batch", Number: 11, Kind: table.Text, Offset: unsafe.Offsetof(Prediction{}.Batch)},
	{Name: "known_neighbours", Number: 12, Kind: table.Count, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.Known)},
	{Name: "arrival_neighbours", Number: 20, Kind: table.Count, Offset: unsafe.Offsetof(Prediction{}.Arrivals)},
	{Name: "batch_neighbours", Number: 13, Kind: table.Count, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.InBatch)},
	{Name: "unknown_neighbours", Number: 14, Kind: table.Count, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.Unknown)},
	{Name: "source", Number: 15, Kind: table.Struct, Presence: table.Required,
		Offset:  unsafe.Offsetof(Prediction{}.Source),
		Message: sourceTable},
	{Name: "arrival_time", Number: 16, Kind: table.Time, Offset: unsafe.Offsetof(Prediction{}.ArrivalTime)},
	{Name: "ingest_time", Number: 17, Kind: table.Timestamp, Offset: unsafe.Offsetof(Prediction{}.IngestTime)},
	{Name: "predicted_time", Number: 18, Kind: table.Time, Offset: unsafe.Offsetof(Prediction{}.PredictedTime)},
})

var scoreTable = table.New[Score]([]table.Field{
	{Name: "class", Number: 1, Kind: table.Index, Presence: table.Always, Offset: unsafe.Offsetof(Score{}.Class)},
	{Name: "name", Number: 2, Kind: table.Text, Offset: unsafe.Offsetof(Score{}.Name)},
	{Name: "probability", Number: 3, Kind: table.Float, Presence: table.Always,
		Offset: unsafe.Offsetof(Score{}.Probability)},
})

// representationTable has fields of the prediction itself.
var representationTable = table.New[Prediction]([]table.Field{
	{Name: "kind", Number: 1, Kind: table.Word, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.RepresentationKind),
		Words:  []string{"", RepresentationLogits, RepresentationEmbedding}},
	{Name: "values", Number: 2, Kind: table.Floats, Presence: table.Required,
		Offset: unsafe.Offsetof(Prediction{}.Representation)},
})

var explanationTable = table.New[Explanation]([]table.Field{
	{Name: "runner_up", Number: 1, Kind: table.OptionalIndex, Offset: unsafe.Offsetof(Explanation{}.RunnerUp)},
	{Name: "reasons", Number: 2, Kind: table.List, Presence: table.Required,
		Offset:  unsafe.Offsetof(Explanation{}.Reasons),
		Message: reasonTable},
})

var reasonTable = table.New[Reason]([]table.Field{
	{Name: "kind", Number: 1, Kind: table.Word, Presence: table.Required, Offset: unsafe.Offsetof(Reason{}.Kind),
		Words: []string{"", KindFeature, KindNeighbour, KindArrival}},
	{Name: "name", Number: 2, Kind: table.Text, Offset: unsafe.Offsetof(Reason{}.Name)},
	{Name: "id", Number: 3, Kind: table.Text, Offset: unsafe.Offsetof(Reason{}.ID)},
	{Name: "share", Number: 4, Kind: table.Float, Presence: table.Always, Offset: unsafe.Offsetof(Reason{}.Share)},
	{Name: "margin", Number: 5, Kind: table.Float, Presence: table.Always, Offset: unsafe.Offsetof(Reason{}.Margin)},
})

var sourceTable = table.New[Source]([]table.Field{
	{Name: "topic", Number: 1, Kind: table.Text, Presence: table.Always, Offset: unsafe.Offsetof(Source{}.Topic)},
	{Name: "partition", Number: 2, Kind: table.Int32, Presence: table.Always,
		Offset: unsafe.Offsetof(Source{}.Partition)},
	{Name: "offset", Number: 3, Kind: table.Int64, Presence: table.Always, Offset: unsafe.Offsetof(Source{}.Offset)},
})

// Bits of fields in the sets that readers find.
var (
	arrivalFeatures = arrivalTable.ByName([]byte("features")).Bit
	labelClass      = labelTable.ByName([]byte("class")).Bit
	labelClassName  = labelTable.ByName([]byte("class_name")).Bit
)

// begin empties a prediction for a reader, which uses the memory of its lists again. Key is not part of a record and
// stays.
func (p *Prediction) begin() {
	*p = Prediction{Key: p.Key, Top: p.Top[:0], Probabilities: p.Probabilities[:0], Logits: p.Logits[:0],
		Representation: p.Representation[:0]}
}

// end gives lists that the record has not, or has empty, the value nil. An error is always that the record cannot be
// read: the other reasons are about arrivals.
func (p *Prediction) end(err error) error {
	p.Top, p.Probabilities, p.Logits = nilIfEmpty(p.Top), nilIfEmpty(p.Probabilities), nilIfEmpty(p.Logits)
	p.Representation = nilIfEmpty(p.Representation)
	var fault *FieldError
	if errors.As(err, &fault) {
		fault.Reason = ReasonUnparsable
	}
	return err
}

func nilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// checkIndex refuses an index or a count that not every form can hold.
func checkIndex(f *table.Field, v int64) error {
	hi := int64(math.MaxUint32)
	if f.Kind == table.OptionalIndex {
		hi = math.MaxInt32
	}
	if v < 0 || v > hi {
		return fieldErrorf(ReasonUnparsable, f.Name, "%d is outside 0…%d", v, hi)
	}
	return nil
}

// checkWord refuses a word that is none of the field's.
func checkWord(f *table.Field, word string) error {
	if f.WordNumber(word) > 0 {
		return nil
	}
	last := len(f.Words) - 1
	return fieldErrorf(ReasonUnparsable, f.Name, "%s, want \"%s\" or %q", cut(strconv.Quote(word)),
		strings.Join(f.Words[1:last], `", "`), f.Words[last])
}

// checkNumbers refuses NaN and infinity among values that are not features.
func checkNumbers(values []float32, field string) error {
	for k, v := range values {
		if v-v != 0 {
			return notFinite(element(field, k), v)
		}
	}
	return nil
}

func notFinite(field string, v float32) error {
	return fieldErrorf(ReasonUnparsable, field, "%v, want a finite number", v)
}

// inside puts the path of a message before the path of its field.
func inside(message string, err error) error {
	var field *FieldError
	if errors.As(err, &field) {
		field.Field = strings.TrimSuffix(message+"."+field.Field, ".")
	}
	return err
}

// checkMissing refuses a message without a required field.
func checkMissing(m *table.Message, found uint64) error {
	if f := m.Lacks(found); f != nil {
		return fieldErrorf(ReasonUnparsable, f.Name, "is missing")
	}
	return nil
}

// checkGroup refuses a group without values.
func checkGroup(m *table.Message, base unsafe.Pointer) error {
	if len(m.Values(base)) == 0 {
		return fieldErrorf(ReasonUnparsable, "values", "is missing or empty")
	}
	return nil
}
