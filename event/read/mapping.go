package read

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rivulet/event"
	"rivulet/event/connect"
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

// Mapping finds the fields of an arrival, or of an edge of its own, in records of another shape. It may be used by many
// goroutines at once.
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

	// record is the layout of a record: outer is at its top, inner in its member payload. alone is the layout of a row
	// that stands as text in a JSON string.
	record       *layout
	outer, inner envelope
	alone        *layout
	aloneRow     row
	// recordKey is the layout of a record's key that is an object: the id is at its top, or in its member payload.
	recordKey                         *layout
	keySchema, keyBody, keyID, bodyID place
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
		m.lay()
	}
	return m, err
}

// edgeWants are the places of an edge's fields; nil where the options have none.
func (o MappingOptions) edgeWants() ([]want, error) {
	if o.Source+o.Target+o.Weight+o.In+o.Type == "" {
		return nil, nil
	}
	if o.Source == "" || o.Target == "" {
		return nil, errors.New("source and target go together: want both, or neither of source, target, weight, in and type")
	}
	var m Mapping
	err := errors.Join(m.want("source", `"source":`, o.Source, ""), m.want("target", `"target":`, o.Target, ""),
		m.want("weight", `"weight":`, o.Weight, "/weight"), m.want("in", `"in":`, o.In, "/in"),
		m.want("type", `"type":`, o.Type, "/type"))
	return m.wants, err
}

// ownMapping finds an id, and the wish to forget it, where Rivulet's own form has them.
var ownMapping = func() *Mapping {
	m := &Mapping{preset: PresetNone, key: -1, named: -1, wants: []want{{memberID, []string{"id"}}}}
	m.lay()
	return m
}()

// row has the places of the values of a row.
type row struct {
	all         place // the row itself
	wants, edge []place
	forget      place
}

// envelope has the places of the members of a connector's record, and of the rows in it.
type envelope struct {
	all                place
	members            [rowBefore + 1]place
	row, after, before row // the record itself, and its members after and before
}

// lay makes the layouts of records from the wants.
func (m *Mapping) lay() {
	m.record, m.alone, m.recordKey = newLayout(), newLayout(), newLayout()
	m.outer, m.inner, m.aloneRow = m.envelope(), m.envelope(envelopeBody), m.row(m.alone)
	id := m.wants[0].path
	m.keySchema, m.keyBody = m.recordKey.add(envelopeSchema), m.recordKey.add(envelopeBody)
	m.keyID = m.recordKey.add(id...)
	m.bodyID = m.recordKey.add(slices.Concat([]string{envelopeBody}, id)...)
}

func (m *Mapping) envelope(at ...string) (e envelope) {
	inside := func(member string) []string { return append(slices.Clone(at), member) }
	switch {
	case !m.isConnector() && len(at) > 0:
		return e
	case m.isConnector():
		e.all = m.record.add(at...)
		for i, member := range rowMembers {
			e.members[i] = m.record.add(inside(member)...)
		}
	}
	if m.preset == PresetDebezium {
		e.after, e.before = m.row(m.record, inside("after")...), m.row(m.record, inside("before")...)
	} else {
		e.row = m.row(m.record, at...)
	}
	return e
}

// row returns the places of a row that is at a path.
func (m *Mapping) row(l *layout, at ...string) row {
	r := row{all: l.add(at...), forget: l.add(slices.Concat(at, []string{"forget"})...)}
	for _, w := range m.wants {
		r.wants = append(r.wants, l.add(slices.Concat(at, w.path)...))
	}
	for _, w := range m.edge {
		r.edge = append(r.edge, l.add(slices.Concat(at, w.path)...))
	}
	return r
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

// envelopes are the names of the members that the presets unwrap, outermost first.
var envelopes = map[string][]string{PresetDebezium: {envelopeBody, "after"}, PresetConnect: {envelopeBody}}

// feature returns the name of the feature, as in dead letters, to which a path from the top of a record leads; empty
// where it leads to none. With a preset the path begins with its envelope: payload, after, vector, 3.
func (m *Mapping) feature(path []string) string {
	for _, member := range envelopes[m.preset] {
		if len(path) > 0 && path[0] == member {
			path = path[1:]
		}
	}
	for i, w := range m.wants {
		if len(path) <= len(w.path) || !slices.Equal(w.path, path[:len(w.path)]) {
			continue
		}
		switch first := path[len(w.path)]; {
		case i == m.named && !m.own[first]:
			return event.NamedField(first)
		case w.member == memberFeatures && (first == "values" || first == "named" || isIndex(first)):
			return json.FieldPath(append([]string{"features"}, path[len(w.path):]...))
		}
	}
	return ""
}
