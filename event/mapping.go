package event

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Presets of [MappingOptions].
const (
	PresetNone        = "none"
	PresetDebezium    = "debezium"
	PresetCloudEvents = "cloudevents"
)

// MappingOptions say where an arrival is in a record. Pointers are as in RFC 6901, below what the preset unwraps; "#"
// is the whole of it.
type MappingOptions struct {
	// Preset is debezium, cloudevents, or none (also "").
	Preset string
	// ID, Features, Edges and Time are where these fields are; empty means /id, /features, /edges and /time. Named points
	// to an object with the features by their names, and takes the place of Features.
	ID, Features, Named, Edges, Time string
	// TimeUnit is the unit of a time that is a number since 1970: s, ms, us or ns; none (also ""): it is text.
	TimeUnit string
	// Key points to the key of the prediction; empty: the prediction has the key of the record.
	Key string
}

// Mapping finds the fields of an arrival in records of another shape. It may be used by many goroutines at once.
type Mapping struct {
	preset string
	unit   int64 // nanoseconds, 0: times are text
	wants  []want
	key    int // its place among wants, -1 for none
}

// want is a value that is looked for in a record.
type want struct {
	member string   // of Rivulet's form, as it is written before the value
	path   []string // names and indices from the top on
}

// timeUnits are the values of TimeUnit.
var timeUnits = map[string]int64{"": 0, "none": 0, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// NewMapping returns a mapping; nil where the options ask for nothing but Rivulet's own form. An error names the
// option.
func NewMapping(o MappingOptions) (*Mapping, error) {
	if o == (MappingOptions{}) || o == (MappingOptions{Preset: PresetNone, TimeUnit: PresetNone}) {
		return nil, nil
	}
	m := &Mapping{preset: o.Preset, key: -1}
	switch o.Preset {
	case "":
		m.preset = PresetNone
	case PresetNone, PresetDebezium, PresetCloudEvents:
	default:
		return nil, fmt.Errorf("preset is %q, want %s, %s or %s", o.Preset, PresetNone, PresetDebezium, PresetCloudEvents)
	}
	unit, known := timeUnits[o.TimeUnit]
	if !known {
		return nil, fmt.Errorf("time_unit is %q, want none, s, ms, us or ns", o.TimeUnit)
	}
	m.unit = unit
	if o.Named != "" && o.Features != "" {
		return nil, fmt.Errorf("features is %q and named is %q: want one of them", o.Features, o.Named)
	}
	if err := m.want("id", `"id":`, o.ID, "/id"); err != nil {
		return nil, err
	}
	var err error
	if o.Named != "" {
		err = m.want("named", `"features":{"named":`, o.Named, "")
	} else {
		err = m.want("features", `"features":`, o.Features, "/features")
	}
	err = errors.Join(err, m.want("edges", `"edges":`, o.Edges, "/edges"), m.want("time", memberTime, o.Time, "/time"))
	if o.Key != "" {
		m.key = len(m.wants)
		err = errors.Join(err, m.want("key", "", o.Key, ""))
	}
	return m, err
}

const memberTime = `"time":`

func (m *Mapping) want(option, member, pointer, otherwise string) error {
	if pointer == "" {
		pointer = otherwise
	}
	path, err := ParsePointer(pointer)
	if err != nil {
		return fmt.Errorf("%s is %q: %w", option, pointer, err)
	}
	m.wants = append(m.wants, want{member, path})
	return nil
}

// ParsePointer returns the names and indices of a JSON pointer (RFC 6901); "#" is the whole document.
func ParsePointer(pointer string) ([]string, error) {
	if pointer == "#" {
		return nil, nil
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, errors.New(`want a JSON pointer (RFC 6901), which begins with "/", or "#" for the whole record`)
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		rest := strings.ReplaceAll(strings.ReplaceAll(token, "~0", ""), "~1", "")
		if strings.Contains(rest, "~") {
			return nil, errors.New(`in a JSON pointer "~" is written "~0", and "/" in a name "~1"`)
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// Skip is why a record is passed over: it is no arrival, and nothing is wrong with it.
type Skip string

// Why records are passed over.
const (
	SkipDelete    Skip = "delete"    // a change that removes a row
	SkipTombstone Skip = "tombstone" // a record without a value
	SkipOther     Skip = "other"     // a truncated table, or a message of a database
)

// Skips lists all reasons for which a record is passed over.
var Skips = []Skip{SkipDelete, SkipTombstone, SkipOther}

// Error returns the reason in words.
func (s Skip) Error() string { return "the record is passed over: " + string(s) }

// mapped reads a record through the mapping.
func (f *Forms) mapped(contentType string, headers []Header, data []byte, a *Arrival) error {
	m := f.Mapping
	if m.preset == PresetDebezium && len(data) == 0 {
		return SkipTombstone
	}
	if f.framed(contentType, data) {
		w, payload, err := f.open(data)
		if err != nil {
			return err
		}
		text, err := w.AppendJSON(nil, payload)
		if err != nil {
			return err
		}
		return m.arrival(text, a)
	}
	if m.preset == PresetCloudEvents {
		if isStructured(contentType) {
			return f.structured(data, a)
		}
		return withEventTime(f.plain(contentType, data, a), headerText(headers, "ce_time"), a)
	}
	return f.plain(contentType, data, a)
}

// plain reads a record that is not wrapped. Only JSON is mapped: the other forms have Rivulet's own fields.
func (f *Forms) plain(contentType string, data []byte, a *Arrival) error {
	codec, err := f.codec(contentType)
	if err != nil {
		return err
	}
	if _, isJSON := codec.(JSON); !isJSON {
		return codec.DecodeArrival(data, a)
	}
	return f.Mapping.arrival(data, a)
}

// arrival reads a record in JSON.
func (m *Mapping) arrival(text []byte, a *Arrival) error {
	if m.preset == PresetDebezium {
		row, err := changedRow(text)
		if err != nil {
			return err
		}
		text = row
	}
	return m.read(text, a)
}

// read writes what it finds as Rivulet's own form, and reads that.
func (m *Mapping) read(text []byte, a *Arrival) error {
	var places [6][]byte
	found := places[:len(m.wants)]
	if err := find(text, m.wants, found); err != nil {
		return err
	}
	own := append(make([]byte, 0, len(text)+64), '{')
	for i, w := range m.wants {
		if found[i] == nil || i == m.key {
			continue
		}
		if len(own) > 1 {
			own = append(own, ',')
		}
		own = append(own, w.member...)
		var err error
		switch {
		case w.member == memberTime && m.unit > 0:
			if own, err = m.appendTime(own, found[i]); err != nil {
				return err
			}
		default:
			own = append(own, found[i]...)
		}
		if strings.Count(w.member, "{") > 0 {
			own = append(own, '}')
		}
	}
	lacking := (JSON{}).DecodeArrival(append(own, '}'), a)
	if lacking != nil && !lacksFeatures(lacking) {
		return lacking
	}
	a.Key = nil
	if m.key >= 0 && found[m.key] != nil {
		if err := readKey(found[m.key], a); err != nil {
			return err
		}
	}
	return lacking
}

// appendTime writes a number since 1970 as text.
func (m *Mapping) appendTime(dst []byte, value jsontext.Value) ([]byte, error) {
	if value.Kind() == 'n' {
		return append(dst, "null"...), nil
	}
	v, err := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
	if err != nil {
		return dst, fieldErrorf(ReasonUnparsable, "time", "%s, want an integer since 1970", cut(string(value)))
	}
	t := unixTime(v, m.unit)
	if err := checkYears(t, "time"); err != nil {
		return dst, err
	}
	return append(t.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}

// readKey takes a string or a number for the key of the prediction; null for none.
func readKey(value jsontext.Value, a *Arrival) error {
	switch value.Kind() {
	case 'n':
		return nil
	case '"':
		key, err := jsontext.AppendUnquote(nil, value)
		a.Key = key
		return err
	case '0':
		a.Key = append([]byte{}, value...)
		return nil
	}
	return fieldErrorf(ReasonUnparsable, "key", "%s, want a string or a number", cut(string(value)))
}

// changedRow returns the row that a change of Debezium leaves: its member after. The converter may have wrapped the
// change, with its schema.
func changedRow(text []byte) ([]byte, error) {
	var found [5][]byte
	if err := find(text, changeWants, found[:]); err != nil {
		return nil, err
	}
	op, after := found[0], found[1]
	if op == nil {
		op, after = found[2], found[3]
	}
	if string(text) == "null" || op == nil && string(found[4]) == "null" {
		return nil, SkipTombstone
	}
	switch string(op) {
	case `"c"`, `"r"`, `"u"`:
		if after == nil || string(after) == "null" {
			return nil, fieldErrorf(ReasonUnparsable, "after", "is missing in a change %s", op)
		}
		return after, nil
	case `"d"`:
		return nil, SkipDelete
	case `"t"`, `"m"`:
		return nil, SkipOther
	case "":
		return nil, fieldErrorf(ReasonUnparsable, "op", "is missing: the record is no change event of Debezium")
	}
	return nil, fieldErrorf(ReasonUnparsable, "op", "%s, want c, r, u, d, t or m", cut(string(op)))
}

var changeWants = []want{{"", []string{"op"}}, {"", []string{"after"}}, {"", []string{"payload", "op"}},
	{"", []string{"payload", "after"}}, {"", []string{"payload"}}}
