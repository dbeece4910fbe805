package connect

import (
	"sync"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Meaning is the meaning of a value of a simple type.
type Meaning uint8

// Meanings of values.
const (
	Plain       Meaning = iota // itself
	Days                       // a date: days since 1970
	Millis                     // a timestamp, in units since 1970
	Micros                     //
	Nanos                      //
	Year                       // a year, as 2026
	ISODate                    // a date as text, with a zone: 2026-03-01Z
	Decimal                    // an integer, its bytes in base64; Scale digits of it are a fraction
	ScaleInside                // the same in an object with its scale: {"scale": 2, "value": "EDM="}
	Bits                       // bits, the lowest byte first, in base64
	Unreadable                 // nothing that a feature can be made of, such as a geometry
)

// meanings maps the type names of Kafka Connect and Debezium. Names that are not here are plain: io.debezium.data.Enum,
// Json, Xml and Uuid are texts, for example, and times of day are numbers.
var meanings = map[string]Meaning{
	"org.apache.kafka.connect.data.Date":      Days,
	"org.apache.kafka.connect.data.Timestamp": Millis,
	"org.apache.kafka.connect.data.Decimal":   Decimal,
	"io.debezium.time.Date":                   Days,
	"io.debezium.time.Timestamp":              Millis,
	"io.debezium.time.MicroTimestamp":         Micros,
	"io.debezium.time.NanoTimestamp":          Nanos,
	"io.debezium.time.Year":                   Year,
	"io.debezium.time.IsoDate":                ISODate,
	"io.debezium.data.VariableScaleDecimal":   ScaleInside,
	"io.debezium.data.Bits":                   Bits,
	"io.debezium.data.geometry.Geometry":      Unreadable,
	"io.debezium.data.geometry.Geography":     Unreadable,
	"io.debezium.data.geometry.Point":         Unreadable,
}

// MeaningOf returns the meaning of the name of a type.
func MeaningOf(name string) Meaning { return meanings[name] }

// nanos are the nanoseconds of one unit of meanings that are times.
var nanos = map[Meaning]int64{Days: 86400e9, Millis: 1e6, Micros: 1e3, Nanos: 1}

// Nanoseconds returns the length of one unit of a time since 1970, 0 for another meaning.
func (m Meaning) Nanoseconds() int64 { return nanos[m] }

// time returns the time that a number is by its meaning.
func (m Meaning) time(n int64) time.Time {
	if m == Year {
		return time.Date(int(max(-1, min(n, 10_000))), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return Since(n, m.Nanoseconds())
}

// Type is the type of a value; nil: not known.
type Type struct {
	Name    string // of the meaning, as io.debezium.time.Date; may be empty
	Meaning Meaning
	Bytes   bool             // the value is bytes, in base64
	Scale   int              // of a Decimal
	Fields  map[string]*Type // of an object
	Items   *Type            // of a list
}

// Field returns the type of a member of an object, nil if there is none.
func (t *Type) Field(name string) *Type {
	if t == nil {
		return nil
	}
	return t.Fields[name]
}

// At returns the type at the end of a path of names.
func (t *Type) At(path []string) *Type {
	for _, name := range path {
		if t != nil && t.Items != nil {
			t = t.Items
			continue
		}
		t = t.Field(name)
	}
	return t
}

func (t *Type) items() *Type {
	if t == nil {
		return nil
	}
	return t.Items
}

func (t *Type) meaning() Meaning {
	if t == nil {
		return Plain
	}
	return t.Meaning
}

// schemaJSON is a schema as Connect's JSON converter writes it.
type schemaJSON struct {
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Field      string            `json:"field"`
	Fields     []schemaJSON      `json:"fields"`
	Items      *schemaJSON       `json:"items"`
	Values     *schemaJSON       `json:"values"`
	Parameters map[string]string `json:"parameters"`
}

// maxDepth bounds the nesting of types and values.
const maxDepth = 64

// ParseType reads the schema of a converter; nil if the text is no schema.
func ParseType(text []byte) *Type {
	var s schemaJSON
	if json.Unmarshal(text, &s, json.RejectUnknownMembers(false), jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return s.compile(0)
}

func (s *schemaJSON) compile(depth int) *Type {
	if s == nil || depth > maxDepth {
		return nil
	}
	t := &Type{Name: s.Name, Meaning: MeaningOf(s.Name), Bytes: s.Type == "bytes", Items: s.Items.compile(depth + 1)}
	if t.Meaning == Decimal {
		scale, err := parseScale(s.Parameters["scale"])
		if t.Scale = scale; err != nil {
			t.Meaning = Unreadable
		}
	}
	if s.Fields != nil {
		t.Fields = make(map[string]*Type, len(s.Fields))
		for i := range s.Fields {
			t.Fields[s.Fields[i].Field] = s.Fields[i].compile(depth + 1)
		}
	}
	return t
}

// maxCached bounds the schemas that a [Cache] remembers: a topic has one, and one more for each change of its table.
const maxCached = 64

// Cache remembers the types of schemas, which each record repeats. Many goroutines may use it; the zero Cache is empty.
type Cache struct {
	mu    sync.RWMutex
	types map[string]*Type
}

// Type returns the type in a schema, nil if the text is no schema.
func (c *Cache) Type(text []byte) *Type {
	if len(text) == 0 {
		return nil
	}
	c.mu.RLock()
	t, known := c.types[string(text)]
	c.mu.RUnlock()
	if known {
		return t
	}
	t = ParseType(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.types) >= maxCached || c.types == nil {
		c.types = map[string]*Type{}
	}
	c.types[string(text)] = t
	return t
}
