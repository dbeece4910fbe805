package fields

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/table"
)

// The tables of Rivulet's messages. A row is the field's name in JSON, .avsc and errors, its number in .proto, its
// kind and its presence; Go is the name of the Go struct's field where it differs from the JSON name. JSON and Avro
// have the fields in the order of the rows, Protobuf in the order of the numbers. A new field is one row here and one
// field of the struct; tests compare the rows with the structs and with the files of schema/.

// Arrival is the table of event.Arrival.
var Arrival = table.New[event.Arrival]([]table.Field{
	{Name: "id", Number: NumberID, Kind: table.NodeID, Presence: table.Required},
	{Name: "features", Number: NumberDense, Kind: table.Features, Presence: table.Required},
	{Name: "edges", Number: NumberEdges, Kind: table.Edges},
	{Name: "weights", Number: NumberWeights, Kind: table.Floats},
	{Name: "incoming", Number: NumberIncoming, Kind: table.IDs},
	{Name: "types", Number: NumberTypes, Kind: table.IDs},
	{Name: "edge_count", Number: NumberEdgeCount, Kind: table.Count},
	{Name: "time", Number: NumberTime, Kind: table.Time},
}, table.Alternative{Number: NumberSparse, Of: "features"}, table.Alternative{Number: NumberNamed, Of: "features"})

// Numbers of schema/arrival.proto, which the fast reader of plain records knows, too. Features are one of three
// messages.
const (
	NumberID        = 1
	NumberDense     = 2
	NumberSparse    = 3
	NumberEdges     = 4
	NumberTime      = 5
	NumberNamed     = 6
	NumberWeights   = 7
	NumberIncoming  = 8
	NumberEdgeCount = 9
	NumberTypes     = 10
)

// Edge is the table of event.Edge. A reader begins with the weight 1.
var Edge = table.New[event.Edge]([]table.Field{
	{Name: "source", Number: 1, Kind: table.NodeID, Presence: table.Required},
	{Name: "target", Number: 2, Kind: table.NodeID, Presence: table.Required},
	{Name: "weight", Number: 3, Kind: table.Float},
	{Name: "type", Number: 5, Kind: table.Text},
	{Name: "in", Number: 4, Kind: table.Bool},
})

// Label is the table of event.Label.
var Label = table.New[event.Label]([]table.Field{
	{Name: "id", Number: 1, Kind: table.NodeID, Presence: table.Required},
	{Name: "class", Number: 2, Kind: table.OptionalIndex, Hint: "; a name goes into class_name"},
	{Name: "class_name", Number: 3, Kind: table.OptionalText, Hint: "; an index goes into class"},
	{Name: "time", Number: 4, Kind: table.Time},
})

// Prediction is the table of event.Prediction.
var Prediction = table.New[event.Prediction]([]table.Field{
	{Name: "id", Number: 1, Kind: table.ID, Presence: table.Required},
	{Name: "class", Number: 2, Kind: table.Index, Presence: table.Required},
	{Name: "class_name", Number: 3, Kind: table.Text},
	{Name: "probability", Number: 4, Kind: table.Float, Presence: table.Required},
	{Name: "abstained", Number: 5, Kind: table.Bool},
	{Name: "degraded", Number: 19, Kind: table.Bool},
	{Name: "top", Number: 6, Kind: table.List, Message: scoreTable},
	{Name: "probabilities", Number: 7, Kind: table.Floats},
	{Name: "logits", Number: 8, Kind: table.Floats},
	{Name: "representation", Number: 9, Kind: table.Group, Message: RepresentationTable},
	{Name: "explanation", Number: 21, Kind: table.Pointer, Message: explanationTable},
	{Name: "numbers", Number: 22, Kind: table.List, Message: numberTable},
	{Name: "labels", Number: 23, Kind: table.List, Message: scoreTable},
	{Name: "links", Number: 24, Kind: table.List, Message: linkTable},
	{Name: "artifact", Number: 10, Kind: table.Text, Presence: table.Required},
	{Name: "batch", Number: 11, Kind: table.Text},
	{Name: "known_neighbours", Go: "Known", Number: 12, Kind: table.Count, Presence: table.Required},
	{Name: "arrival_neighbours", Go: "Arrivals", Number: 20, Kind: table.Count},
	{Name: "batch_neighbours", Go: "InBatch", Number: 13, Kind: table.Count, Presence: table.Required},
	{Name: "unknown_neighbours", Go: "Unknown", Number: 14, Kind: table.Count, Presence: table.Required},
	{Name: "source", Number: 15, Kind: table.Struct, Presence: table.Required, Message: sourceTable},
	{Name: "arrival_time", Number: 16, Kind: table.Time},
	{Name: "ingest_time", Number: 17, Kind: table.Timestamp},
	{Name: "predicted_time", Number: 18, Kind: table.Time},
})

var scoreTable = table.New[event.Score]([]table.Field{
	{Name: "class", Number: 1, Kind: table.Index, Presence: table.Always},
	{Name: "name", Number: 2, Kind: table.Text},
	{Name: "probability", Number: 3, Kind: table.Float, Presence: table.Always},
})

var numberTable = table.New[event.Number]([]table.Field{
	{Name: "name", Number: 1, Kind: table.Text, Presence: table.Always},
	{Name: "value", Number: 2, Kind: table.Float, Presence: table.Always},
	{Name: "lower", Number: 3, Kind: table.Float, Presence: table.Always},
	{Name: "upper", Number: 4, Kind: table.Float, Presence: table.Always},
})

var linkTable = table.New[event.Link]([]table.Field{
	{Name: "id", Number: 1, Kind: table.Text, Presence: table.Always},
	{Name: "score", Number: 2, Kind: table.Float, Presence: table.Always},
})

// RepresentationTable has fields of the prediction itself.
var RepresentationTable = table.New[event.Prediction]([]table.Field{
	{Name: "kind", Go: "RepresentationKind", Number: 1, Kind: table.Word, Presence: table.Required,
		Words: []string{"", event.RepresentationLogits, event.RepresentationEmbedding}},
	{Name: "values", Go: "Representation", Number: 2, Kind: table.Floats, Presence: table.Required},
})

var explanationTable = table.New[event.Explanation]([]table.Field{
	{Name: "runner_up", Number: 1, Kind: table.OptionalIndex},
	{Name: "reasons", Number: 2, Kind: table.List, Presence: table.Required, Message: reasonTable},
})

var reasonTable = table.New[event.Reason]([]table.Field{
	{Name: "kind", Number: 1, Kind: table.Word, Presence: table.Required,
		Words: []string{"", event.KindFeature, event.KindNeighbour, event.KindArrival}},
	{Name: "name", Number: 2, Kind: table.Text},
	{Name: "id", Number: 3, Kind: table.Text},
	{Name: "share", Number: 4, Kind: table.Float, Presence: table.Always},
	{Name: "margin", Number: 5, Kind: table.Float, Presence: table.Always},
})

var sourceTable = table.New[event.Source]([]table.Field{
	{Name: "topic", Number: 1, Kind: table.Text, Presence: table.Always},
	{Name: "partition", Number: 2, Kind: table.Int32, Presence: table.Always},
	{Name: "offset", Number: 3, Kind: table.Int64, Presence: table.Always},
})

// Bits of fields in the sets that readers find.
var (
	ArrivalFeatures = Arrival.ByName([]byte("features")).Bit
	labelClass      = Label.ByName([]byte("class")).Bit
	labelClassName  = Label.ByName([]byte("class_name")).Bit
)

// BeginArrival empties an arrival for a reader, which uses the memory of its edges again and sets its features.
func BeginArrival(a *event.Arrival) {
	a.ID, a.Edges, a.Weights, a.Time = "", a.Edges[:0], nil, time.Time{}
	a.Incoming, a.Types, a.Relations, a.EdgeCount = nil, nil, nil, 0
}

// BeginPrediction empties a prediction for a reader, which uses the memory of its lists again. Key is not part of a
// record and stays.
func BeginPrediction(p *event.Prediction) {
	*p = event.Prediction{Key: p.Key, Top: p.Top[:0], Probabilities: p.Probabilities[:0], Logits: p.Logits[:0],
		Representation: p.Representation[:0], Numbers: p.Numbers[:0], Labels: p.Labels[:0], Links: p.Links[:0]}
}

// EndPrediction sets lists that the record has not, or has empty, to nil. An error is always that the record cannot
// be read: the other reasons are about arrivals.
func EndPrediction(p *event.Prediction, err error) error {
	p.Top, p.Probabilities, p.Logits = nilIfEmpty(p.Top), nilIfEmpty(p.Probabilities), nilIfEmpty(p.Logits)
	p.Representation, p.Numbers, p.Labels = nilIfEmpty(p.Representation), nilIfEmpty(p.Numbers), nilIfEmpty(p.Labels)
	p.Links = nilIfEmpty(p.Links)
	if fault, ok := errors.AsType[*event.FieldError](err); ok {
		fault.Reason = event.ReasonUnparsable
	}
	return err
}

func nilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// CheckIndex refuses an index or a count that not every form can hold.
func CheckIndex(f *table.Field, v int64) error {
	hi := int64(math.MaxUint32)
	if f.Kind == table.OptionalIndex {
		hi = math.MaxInt32
	}
	if v < 0 || v > hi {
		return event.Errorf(event.ReasonUnparsable, f.Name, "%d is outside 0…%d", v, hi)
	}
	return nil
}

// CheckWord refuses a word that is none of the field's.
func CheckWord(f *table.Field, word string) error {
	if f.WordNumber(word) > 0 {
		return nil
	}
	last := len(f.Words) - 1
	return event.Errorf(event.ReasonUnparsable, f.Name, "%s, want \"%s\" or %q", event.Cut(strconv.Quote(word)),
		strings.Join(f.Words[1:last], `", "`), f.Words[last])
}

// CheckNumbers refuses NaN and infinity among values that are not features.
func CheckNumbers(values []float32, field string) error {
	for k, v := range values {
		if v-v != 0 {
			return NotFinite(event.Element(field, k), v)
		}
	}
	return nil
}

// NotFinite refuses a number that is not finite.
func NotFinite(field string, v float32) error {
	return event.Errorf(event.ReasonUnparsable, field, "%v, want a finite number", v)
}

// Inside puts the path of a message before the path of its field.
func Inside(message string, err error) error {
	if field, ok := errors.AsType[*event.FieldError](err); ok {
		field.Field = strings.TrimSuffix(message+"."+field.Field, ".")
	}
	return err
}

// CheckMissing refuses a message without a required field.
func CheckMissing(m *table.Message, found uint64) error {
	if f := m.Lacks(found); f != nil {
		return event.Errorf(event.ReasonUnparsable, f.Name, "is missing")
	}
	return nil
}

// CheckGroup refuses a group without values.
func CheckGroup(m *table.Message, base table.Ref) error {
	if len(m.Values(base)) == 0 {
		return event.Errorf(event.ReasonUnparsable, "values", "is missing or empty")
	}
	return nil
}

// CheckLabel refuses a label that a reader would refuse.
func CheckLabel(l *event.Label) error {
	if l.Class > math.MaxInt32 {
		return event.Errorf(event.ReasonUnparsable, "class", "%d is outside 0…%d", l.Class, math.MaxInt32)
	}
	return checkClass(l, l.Class != event.ByName, l.ClassName != "")
}

// CheckReadLabel is CheckLabel for a reader, which has found a set of fields.
func CheckReadLabel(l *event.Label, found uint64) error {
	return checkClass(l, found&labelClass != 0, found&labelClassName != 0)
}

// checkClass refuses a label without an id, and one that gives its class twice or not at all.
func checkClass(l *event.Label, hasClass, hasName bool) error {
	switch {
	case l.ID == "":
		return event.Errorf(event.ReasonUnparsable, "id", "is missing")
	case hasClass && hasName:
		return event.Errorf(event.ReasonUnparsable, "class", "%d and class_name are both given, want one of them", l.Class)
	case !hasClass && !hasName:
		return event.Errorf(event.ReasonUnparsable, "class", "is missing, and so is class_name")
	case hasName && l.ClassName == "":
		return event.Errorf(event.ReasonUnparsable, "class_name", "is empty")
	case !hasName && l.Class < 0:
		return event.Errorf(event.ReasonUnparsable, "class", "%d is below 0", l.Class)
	}
	return nil
}

// Place returns the path of a field, or of its element i if i is not negative.
func Place(field string, i int) string {
	if i < 0 {
		return field
	}
	return event.Element(field, i)
}

// CheckText refuses bytes that are not UTF-8.
func CheckText(text []byte, field string) error {
	if utf8.Valid(text) {
		return nil
	}
	return event.Errorf(event.ReasonUnparsable, field, "%s is not UTF-8", Quoted(text))
}

// Quoted returns the beginning of a text of any bytes in quotes, for an error.
func Quoted(text []byte) string {
	return event.Cut(strconv.Quote(string(text[:min(len(text), event.MaxQuoted)])))
}

// NotUTF8 refuses a text that is not UTF-8.
func NotUTF8(field, text string) error {
	return event.Errorf(event.ReasonUnparsable, field, "%s is not UTF-8", event.Cut(strconv.Quote(text)))
}

// CheckYears refuses a time that cannot be written.
func CheckYears(t time.Time, field string) error {
	if !connect.InYears(t) {
		return event.Errorf(event.ReasonUnparsable, field, "%v is outside the years 1…9999 in UTC", t)
	}
	return nil
}
