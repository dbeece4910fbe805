package form

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/json"
)

// Presets of [MappingOptions].
const (
	PresetNone        = "none"
	PresetDebezium    = "debezium"
	PresetCloudEvents = "cloudevents"
	PresetConnect     = "connect"
)

// MappingOptions say where an arrival is in a record. Pointers are as in RFC 6901, and begin below the preset's
// envelope; "#" points to the whole.
type MappingOptions struct {
	// Preset is debezium, connect (rows of Kafka Connect, with or without the converter's schema around them, also changes
	// that Debezium's ExtractNewRecordState has unwrapped), cloudevents (whose attributes are in headers), or none (also
	// "").
	Preset string
	// ID, Features, Edges, Weights, Incoming, Types, EdgeCount and Time are where these fields are; empty means /id,
	// /features and so on. Named points to an object with the features by their names, and takes the place of Features.
	ID, Features, Named, Edges, Weights, Incoming, Types, EdgeCount, Time string
	// TimeUnit is the unit of a time that is a number since 1970: s, ms, us or ns; none (also ""): it is text.
	TimeUnit string
	// Key points to the key of the prediction; empty: the prediction has the key of the record.
	Key string
	// Source, Target, Weight, In and Type are where the fields of an edge of its own are ([event.Edge]). A record that has
	// both ends is an edge. Empty Source and Target: no record is told to be an edge by its content.
	Source, Target, Weight, In, Type string
	// NamedTimeUnit is the unit of named features that are times and come as numbers since 1970: days, s, ms, us or ns;
	// none: such numbers are no times; auto (also ""): none, but with the presets debezium and connect the unit is taken
	// from the record's schema, else it is the only one that the magnitude allows.
	NamedTimeUnit string
	// Decimals is auto (also "") or text: whether digits as text, with these presets and without a schema, may be bytes in
	// base64, and are then no number.
	Decimals string
	// Placeholder is the text that a connector sends for an unchanged value that it does not have, with these presets;
	// empty: there is none. Unavailable is refuse (also ""), or missing, as which the value then counts.
	Placeholder, Unavailable string
}

// Mapping finds the fields of an arrival in records of another shape. It may be used by many goroutines at once.
type Mapping struct {
	preset string
	unit   int64 // nanoseconds, 0: times are text
	wants  []want
	key    int // its place among wants, -1 for none
	named  int // its place for named features
	// rows reads values as connectors write them; nil: they are as in Rivulet's own form.
	rows  *connect.Reader
	types connect.Cache   // schemas beside rows, parsed
	edge  []want          // of an edge of its own, source and target first; nil: there are none
	own   map[string]bool // members beside the named features that are the arrival's other fields
}

// want is a value to look for in a record.
type want struct {
	member string   // field of Rivulet's form, as written before the value
	path   []string // names and indices from the top on
}

// timeUnits are the values of TimeUnit.
var timeUnits = map[string]int64{"": 0, "none": 0, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// NewMapping returns a mapping; nil where the options ask for nothing but Rivulet's own form. An error names the
// option.
func NewMapping(o MappingOptions) (*Mapping, error) {
	if o.isNone() {
		return nil, nil
	}
	m := &Mapping{preset: o.Preset, key: -1, named: -1, own: map[string]bool{}}
	switch o.Preset {
	case "":
		m.preset = PresetNone
	case PresetNone, PresetDebezium, PresetConnect, PresetCloudEvents:
	default:
		return nil, fmt.Errorf("preset is %q, want %s, %s, %s or %s", o.Preset, PresetNone, PresetDebezium, PresetConnect,
			PresetCloudEvents)
	}
	var err error
	if m.rows, err = o.reader(); err != nil {
		return nil, err
	}
	unit, known := timeUnits[o.TimeUnit]
	if !known {
		return nil, fmt.Errorf("time_unit is %q, want none, s, ms, us or ns", o.TimeUnit)
	}
	m.unit = unit
	if o.Named != "" && o.Features != "" {
		return nil, fmt.Errorf("features is %q and named is %q: want one of them", o.Features, o.Named)
	}
	if err := m.want("id", memberID, o.ID, "/id"); err != nil {
		return nil, err
	}
	if o.Named != "" {
		m.named = len(m.wants)
		err = m.want("named", "", o.Named, "")
	} else {
		err = m.want("features", memberFeatures, o.Features, "/features")
	}
	err = errors.Join(err, m.want("edges", `"edges":`, o.Edges, "/edges"),
		m.want("weights", `"weights":`, o.Weights, "/weights"),
		m.want("incoming", `"incoming":`, o.Incoming, "/incoming"), m.want("types", `"types":`, o.Types, "/types"),
		m.want("edge_count", `"edge_count":`, o.EdgeCount, "/edge_count"), m.want("time", memberTime, o.Time, "/time"))
	if o.Key != "" {
		m.key = len(m.wants)
		err = errors.Join(err, m.want("key", "", o.Key, ""))
	}
	if err == nil {
		m.findOwn()
		m.edge, err = o.edgeWants()
	}
	return m, err
}

// isNone reports whether the options ask for Rivulet's own form. Options for values count only with a preset.
func (o MappingOptions) isNone() bool {
	return (o.Preset == "" || o.Preset == PresetNone) && (o.TimeUnit == "" || o.TimeUnit == PresetNone) &&
		o.ID+o.Features+o.Named+o.Edges+o.Weights+o.Incoming+o.Types+o.EdgeCount+o.Time+o.Key+o.Source+o.Target+
			o.Weight+o.In+o.Type == ""
}

// reader returns the reader of values as connectors write them; nil where the options ask for none.
func (o MappingOptions) reader() (*connect.Reader, error) {
	unit, known := namedUnits[o.NamedTimeUnit]
	switch {
	case !known:
		return nil, fmt.Errorf("named_time_unit is %q, want auto, none, days, s, ms, us or ns", o.NamedTimeUnit)
	case o.Decimals != "" && o.Decimals != "auto" && o.Decimals != "text":
		return nil, fmt.Errorf("decimals is %q, want auto or text", o.Decimals)
	case o.Unavailable != "" && o.Unavailable != "refuse" && o.Unavailable != "missing":
		return nil, fmt.Errorf("unavailable is %q, want refuse or missing", o.Unavailable)
	}
	r := connect.Options{Unit: unit, TextDecimals: o.Decimals == "text", Placeholder: o.Placeholder,
		Missing: o.Unavailable == "missing"}
	if o.Preset == PresetDebezium || o.Preset == PresetConnect {
		return connect.NewReader(r), nil
	}
	if r.Placeholder = ""; unit > 0 {
		return connect.NewReader(r), nil
	}
	return nil, nil
}

// namedUnits are the values of NamedTimeUnit.
var namedUnits = map[string]int64{"": connect.Guess, "auto": connect.Guess, "none": 0, "days": 86400e9, "s": 1e9,
	"ms": 1e6,
	"us": 1e3, "ns": 1}

// findOwn finds the names beside the named features under which the arrival's other fields are: in a table's row that
// is read by "#", the columns of the id, the edges, the time and the key.
func (m *Mapping) findOwn() {
	if m.named < 0 {
		return
	}
	at := m.wants[m.named].path
	for i, w := range m.wants {
		if i != m.named && len(w.path) > len(at) && slices.Equal(w.path[:len(at)], at) {
			m.own[w.path[len(at)]] = true
		}
	}
}

// Optional reports whether a name among the named features may be no feature of the model: it is another field of the
// arrival, or one that ExtractNewRecordState adds, such as __op and __source_ts_ms.
func (m *Mapping) Optional(name string) bool {
	return m.own[name] || m.preset == PresetConnect && strings.HasPrefix(name, "__")
}

const (
	memberID       = `"id":`
	memberFeatures = `"features":`
	memberTime     = `"time":`
)

func (m *Mapping) want(option, member, pointer, otherwise string) error {
	pointer = cmp.Or(pointer, otherwise)
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
	// a connector's record that is about no row, such as a heartbeat or a change of a table
	SkipOther Skip = "other"
	// an edge of its own, where no arrival waits for edges (attach.wait)
	SkipEdge Skip = "edge"
)

// Skips lists all reasons for which a record is passed over.
var Skips = []Skip{SkipDelete, SkipTombstone, SkipOther, SkipEdge}

// Error returns the reason in words.
func (s Skip) Error() string { return "the record is passed over: " + string(s) }

// mapped reads a record through the mapping.
func (f *Reader) mapped(contentType string, headers []event.Header, data []byte, a *event.Arrival) error {
	m := f.Mapping
	if m.isConnector() && len(data) == 0 {
		return SkipTombstone
	}
	if f.framed(contentType, headers, data) {
		text, t, err := f.registered(headers, data)
		if err != nil {
			return err
		}
		return m.arrival(text, t, a)
	}
	err := f.plain(contentType, data, a)
	if m.preset == PresetCloudEvents && (err == nil || event.LacksFeatures(err)) {
		if bad := eventTime(string(event.HeaderValue(headers, "ce_time")), a); bad != nil {
			return bad
		}
	}
	return err
}

// eventTime gives an arrival without a time the one of its CloudEvent.
func eventTime(text string, a *event.Arrival) error {
	if text == "" || !a.Time.IsZero() {
		return nil
	}
	var t time.Time
	if t.UnmarshalText([]byte(text)) != nil || !connect.InYears(t) {
		return event.Errorf(event.ReasonUnparsable, "ce_time", "%s of the event, want an RFC 3339 string", event.Cut(text))
	}
	a.Time = t.UTC()
	return nil
}

// plain reads a record that is not wrapped. Only JSON is mapped: the other forms have Rivulet's own fields.
func (f *Reader) plain(contentType string, data []byte, a *event.Arrival) error {
	codec, err := f.codec(contentType)
	if err != nil {
		return err
	}
	if _, isJSON := codec.(json.Codec); !isJSON {
		return codec.DecodeArrival(data, a)
	}
	return f.Mapping.arrival(data, nil, a)
}

// isConnector reports whether the records come from Kafka Connect.
func (m *Mapping) isConnector() bool { return m.preset == PresetDebezium || m.preset == PresetConnect }

// arrival reads a record in JSON, whose type a registry's schema has given, or else nobody.
func (m *Mapping) arrival(text []byte, t *connect.Type, a *event.Arrival) (err error) {
	if m.isConnector() {
		if text, t, err = m.row(text, t); err != nil {
			if errors.Is(err, SkipDelete) {
				deleted, _ := m.forget(text, t)
				a.ID = deleted.ID
			}
			return err
		}
	}
	return m.read(text, t, a)
}

// read rewrites the wanted values in Rivulet's own form, and decodes that; named features it decodes by itself.
func (m *Mapping) read(text []byte, t *connect.Type, a *event.Arrival) error {
	var places [9][]byte
	found := places[:len(m.wants)]
	if err := m.find(text, m.wants, found); err != nil {
		return err
	}
	own := append(make([]byte, 0, len(text)+64), '{')
	for i, w := range m.wants {
		if found[i] == nil || i == m.key || i == m.named {
			continue
		}
		if len(own) > 1 {
			own = append(own, ',')
		}
		var err error
		if own, err = m.appendField(append(own, w.member...), &w, found[i], t); err != nil {
			return err
		}
	}
	lacking := (json.Codec{}).DecodeArrival(append(own, '}'), a)
	if lacking != nil && !event.LacksFeatures(lacking) {
		return lacking
	}
	if m.named >= 0 && found[m.named] != nil {
		lacking = json.DecodeRow(inner(found[m.named]), m.rows, t.At(m.wants[m.named].path), &a.Features)
		if lacking != nil && !event.LacksFeatures(lacking) {
			return lacking
		}
	}
	a.Key = nil
	if m.key >= 0 && found[m.key] != nil {
		if err := m.readKey(found[m.key], t.At(m.wants[m.key].path), a); err != nil {
			return err
		}
	}
	return lacking
}

// appendField writes the value of a field as Rivulet's own form has it.
func (m *Mapping) appendField(dst []byte, w *want, value jsontext.Value, t *connect.Type) ([]byte, error) {
	if w.member != memberID && w.member != memberTime {
		switch text := inner(value); {
		case text.IsValid(): // else it could end the member, and begin another one
			value = text
		case w.member == memberFeatures:
			if err := json.DecodeFeatures(text, new(event.Features)); err != nil {
				return dst, err
			}
		}
	}
	switch {
	case w.member == memberTime && m.unit > 0:
		return m.appendTime(dst, value)
	case m.rows == nil:
		return append(dst, value...), nil
	}
	var err error
	if t = t.At(w.path); w.member == memberTime {
		dst, err = m.rows.AppendTime(dst, value, t)
	} else {
		dst, err = m.rows.AppendPlain(dst, value, t)
	}
	if errors.Is(err, connect.ErrUnavailable) {
		return dst, event.Errorf(event.ReasonFeatureMissing, strings.Trim(w.member, `":`), "%s", err)
	}
	return dst, err
}

// inner returns the text that begins a list or an object and stands in a JSON string, as in columns of the type json:
// "[\"n1\",\"n2\"]". It need not be JSON. Any other value is returned as it is.
func inner(value jsontext.Value) jsontext.Value {
	if value.Kind() != '"' || len(value) < 4 || value[1] != '[' && value[1] != '{' {
		return value
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return value
	}
	return text
}

// appendTime writes a number since 1970 as text.
func (m *Mapping) appendTime(dst []byte, value jsontext.Value) ([]byte, error) {
	if value.Kind() == 'n' {
		return append(dst, "null"...), nil
	}
	v, err := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
	if err != nil {
		return dst, event.Errorf(event.ReasonUnparsable, "time", "%s, want an integer since 1970", event.Cut(string(value)))
	}
	t := connect.Since(v, m.unit)
	if err := fields.CheckYears(t, "time"); err != nil {
		return dst, err
	}
	return append(t.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}

// readKey takes a string or a number for the key of the prediction; null for none.
func (m *Mapping) readKey(value jsontext.Value, t *connect.Type, a *event.Arrival) (err error) {
	if m.rows != nil {
		if value, err = m.rows.AppendPlain(nil, value, t); err != nil {
			return event.Errorf(event.ReasonUnparsable, "key", "%s", err)
		}
	}
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
	return event.Errorf(event.ReasonUnparsable, "key", "%s, want a string or a number", event.Cut(string(value)))
}
