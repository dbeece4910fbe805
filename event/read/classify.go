package read

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/json"
)

// Read reads a record into m, whose memory it uses again.
//
// Four kinds of records ask to forget an id. With [Reader.Forget] they are of the kind [KindForget], without it they
// are passed over:
//
//	a record without a value      the id is its key: text, JSON text, a number, or an object that has the id as rows do
//	a delete of Debezium          the id is in the row before
//	a deleted row of Connect      the id is in the row
//	{"id": "n1", "forget": true}  the id, where input.mapping says
//
// After a delete, Debezium writes a tombstone of the same key, which is passed over.
func (r *Reader) Read(rec Record, m *Message) {
	m.Kind, m.Fault, m.ID, m.Skip = KindArrival, nil, "", ""
	m.Edge, m.Label = event.Edge{}, event.Label{}
	m.Arrival.Key, m.Arrival.Features.Absent = nil, false
	if err := r.read(&rec, m); err != nil {
		m.Fault = event.FaultOf(r.withFraming(err, rec.Headers, rec.Value))
		m.ID, m.Edge, m.Label = "", event.Edge{}, event.Label{}
	}
	if m.Fault != nil || m.Kind != KindArrival {
		m.Arrival = event.Arrival{} // may be many times the record: a list of ids takes 16 bytes for each "1,"
	}
}

func (r *Reader) read(rec *Record, m *Message) error {
	isLabel, isEdge := r.Labels, !r.Labels && isEdge(rec.Headers)
	switch {
	case isLabel:
		m.Kind = KindLabel
	case rec.Value == nil || len(rec.Value) == 0 && r.Mapping != nil && r.Mapping.isConnector():
		return r.tombstone(rec.Key, m)
	case isEdge:
		m.Kind = KindEdge
	}
	s, err := r.open(rec)
	own, isJSON := s.by.(json.Codec)
	switch {
	case err != nil:
		return err
	case isLabel:
		return s.by.DecodeLabel(s.payload, &m.Label)
	case isJSON && !isEdge && r.Mapping == nil && own.DecodePlain(s.payload, &m.Arrival, r.InPlace):
		return r.arrived(nil, &s, rec, m) // the plain form has no member forget
	case s.isText() && (r.Mapping != nil || bytes.Contains(rec.Value, []byte(`"forget"`))):
		d := newDocument()
		defer d.release()
		if done, err := r.document(d, &s, rec, m); done {
			return err
		}
	}
	if isEdge {
		return s.by.DecodeEdge(s.payload, &m.Edge)
	}
	if isJSON {
		err = own.DecodeTokens(s.payload, &m.Arrival)
	} else if in, can := s.by.(inPlaceDecoder); can && r.InPlace {
		err = in.DecodeInPlace(s.payload, &m.Arrival)
	} else {
		err = s.by.DecodeArrival(s.payload, &m.Arrival)
	}
	return r.arrived(err, &s, rec, m)
}

// document reads a record as a JSON document. It is not done where the record is in Rivulet's own form after all.
func (r *Reader) document(d *document, s *source, rec *Record, m *Message) (done bool, err error) {
	by, isEdge := r.Mapping, m.Kind == KindEdge
	if by == nil {
		by = ownMapping
	}
	text, t, err := s.document(d)
	var at located
	if err == nil {
		at, err = by.locate(d, text, t)
	}
	switch {
	case err == nil && at.skip == "" && by.hasEdge(d, &at.row):
		m.Kind = KindEdge
		return true, by.fillEdge(d, &at, &m.Edge)
	case isEdge, err != nil && by == ownMapping: // its own form, by whose codec the fault is said
		return false, nil
	case err != nil:
		return true, err
	case at.skip == SkipTombstone:
		return true, r.tombstone(rec.Key, m)
	case at.skip == SkipDelete:
		m.ID, _ = by.id(d, &at)
		return true, r.forget(m, nil)
	case at.skip != "":
		m.Kind, m.Skip = KindSkip, at.skip
		return true, nil
	}
	if asks, err := by.asksToForget(d, &at, rec.Value); asks || err != nil && r.Forget {
		if err == nil {
			m.ID, err = by.id(d, &at)
		}
		return true, r.forget(m, err)
	}
	if by == ownMapping {
		return false, nil
	}
	return true, r.arrived(by.fill(d, &at, &m.Arrival), s, rec, m)
}

// arrived ends the reading of an arrival. err says how it went.
func (r *Reader) arrived(err error, s *source, rec *Record, m *Message) error {
	a := &m.Arrival
	if err != nil && !event.LacksFeatures(err) {
		return err
	}
	if r.Mapping != nil && r.Mapping.preset == PresetCloudEvents && !s.framed {
		if bad := eventTime(string(event.HeaderValue(rec.Headers, "ce_time")), a); bad != nil {
			return bad
		}
	}
	if err != nil && !r.LookUp {
		return err
	}
	a.JoinIncoming()
	if err != nil {
		f := &a.Features
		*f = event.Features{Indices: f.Indices[:0], Values: f.Values[:0], Absent: true}
	}
	return nil
}

// isEdge reports whether a header says that the record is an edge of its own.
func isEdge(headers []event.Header) bool {
	kind := event.HeaderValue(headers, event.HeaderKind)
	return string(kind) == event.KindEdge || strings.EqualFold(strings.TrimSpace(string(kind)), event.KindEdge)
}

// forget makes m a message that asks to forget its ID, or one that is passed over where nothing is forgotten. err says
// why the id cannot be read.
func (r *Reader) forget(m *Message, err error) error {
	if !r.Forget {
		m.Kind, m.Skip = KindSkip, SkipDelete
		return nil
	}
	if m.Kind = KindForget; err == nil && m.ID == "" {
		err = event.Errorf(event.ReasonUnparsable, "id", "cannot be read: the record asks to forget an id")
	}
	return err
}

// tombstone reads a record without a value, whose key names the id to forget.
func (r *Reader) tombstone(key []byte, m *Message) (err error) {
	if !r.Forget || r.Mapping != nil && r.Mapping.preset == PresetDebezium {
		m.Kind, m.Skip = KindSkip, SkipTombstone
		return nil
	}
	by := r.Mapping
	if by == nil {
		by = ownMapping
	}
	m.ID, err = by.idOfKey(key)
	if err != nil {
		err = event.Errorf(event.ReasonUnparsable, "key",
			"%s: a record without a value asks to forget the id that is its key", err)
	}
	return r.forget(m, err)
}

// idOfKey returns the id that the key of a tombstone names.
func (m *Mapping) idOfKey(key []byte) (string, error) {
	text := bytes.TrimSpace(key)
	switch {
	case len(text) == 0:
		return "", errors.New("is missing")
	case text[0] == '{' && jsontext.Value(text).IsValid():
		d := newDocument()
		defer d.release()
		if err := d.index(text, m.recordKey, m); err != nil {
			return "", err
		}
		id := d.at(m.keyID)
		if d.at(m.keySchema) != nil && d.at(m.keyBody) != nil {
			id = d.at(m.bodyID)
		}
		return m.readID(d, id, nil)
	case text[0] == '"' && jsontext.Value(text).IsValid():
		return readID(text)
	case !utf8.Valid(key) || key[0] == 0:
		return "", errors.New("is no text")
	}
	return string(key), nil
}

// rowMembers are the members by which a connector's record is told: of a change of Debezium, of the converter's schema
// around a record, of ExtractNewRecordState, and of Debezium's records about no row.
var rowMembers = [...]string{rowOp: "op", rowAfter: "after", rowSchema: envelopeSchema, rowBody: envelopeBody,
	rowDeleted: "__deleted", rowAddedOp: "__op", rowDDL: "ddl", rowTableChanges: "tableChanges",
	rowEventCount: "event_count", rowAggregate: "aggregate_type", rowTime: "ts_ms", rowBefore: "before"}

// Places among rowMembers.
const (
	rowOp = iota
	rowAfter
	rowSchema
	rowBody
	rowDeleted
	rowAddedOp
	rowDDL
	rowTableChanges
	rowEventCount
	rowAggregate
	rowTime
	rowBefore
)

// Members that a converter puts around a record.
const (
	envelopeSchema = "schema"
	envelopeBody   = "payload"
)

// isConnector reports whether the records come from Kafka Connect.
func (m *Mapping) isConnector() bool { return m.preset == PresetDebezium || m.preset == PresetConnect }

// located is a row in a document.
type located struct {
	row
	t    *connect.Type // of the row; nil: not known
	skip Skip          // why the record is passed over; of a delete the row is there where the record has it
}

// locate finds the row of a document whose type is known, or nil.
func (m *Mapping) locate(d *document, text []byte, t *connect.Type) (at located, err error) {
	if err := d.index(text, m.record, m); err != nil {
		return at, err
	}
	if !m.isConnector() {
		return located{row: m.outer.row, t: t}, nil
	}
	e := &m.outer
	if isNull(d.at(e.all)) {
		return located{skip: SkipTombstone}, nil
	}
	if payload := d.at(e.members[rowBody]); payload != nil && d.at(e.members[rowOp]) == nil &&
		(d.at(e.members[rowSchema]) != nil || m.preset == PresetDebezium) {
		if isNull(payload) {
			return located{skip: SkipTombstone}, nil
		}
		t, e = m.types.Type(d.at(e.members[rowSchema])), &m.inner
	}
	if m.preset == PresetDebezium {
		return m.changed(d, e, t)
	}
	at = located{row: e.row, t: t}
	if deleted := string(d.at(e.members[rowDeleted])); deleted == `"true"` || deleted == "true" ||
		string(d.at(e.members[rowAddedOp])) == `"d"` {
		at.skip = SkipDelete
	}
	return at, nil
}

// changed finds the row that a change of Debezium leaves, its member after, or the one that it deletes.
func (m *Mapping) changed(d *document, e *envelope, t *connect.Type) (at located, err error) {
	switch op := d.at(e.members[rowOp]); string(op) {
	case `"c"`, `"r"`, `"u"`:
		if isAbsent(d.at(e.members[rowAfter])) {
			return at, event.Errorf(event.ReasonUnparsable, "after", "is missing in a change %s", op)
		}
		at = located{row: e.after, t: t.Field("after")}
	case `"d"`:
		at = located{row: e.before, t: t.Field("before"), skip: SkipDelete}
	case `"t"`, `"m"`:
		return located{skip: SkipOther}, nil
	case "":
		if m.isAboutNoRow(d, e) {
			return located{skip: SkipOther}, nil
		}
		return at, event.Errorf(event.ReasonUnparsable, "op", "is missing: the record is no change event of Debezium; "+
			"for rows without the change around them, as ExtractNewRecordState makes, input.mapping.preset is connect")
	default:
		return at, event.Errorf(event.ReasonUnparsable, "op", "%s, want c, r, u, d, t or m", event.Cut(string(op)))
	}
	if text, is := textOf(d.at(at.all)); is { // the row stands in a JSON string
		at.row = m.aloneRow
		if err = d.index(text, m.alone, m); err != nil && at.skip != "" {
			at.row, err = row{}, nil // the id of a deleted row is not known then
		}
	}
	return at, err
}

// isAboutNoRow reports whether a record without op is one of the following, which Debezium writes beside changes and a
// transform or a setting may send to the same topic:
//
//	heartbeat           {"ts_ms": 1720724527278}
//	change of a table   {"source": {…}, "databaseName": "…", "ddl": "ALTER TABLE …", "tableChanges": […]}
//	transaction         {"status": "BEGIN", "id": "571:53195829", "event_count": null, "data_collections": null}
//	notification        {"id": "…", "aggregate_type": "Initial Snapshot", "type": "COMPLETED"}
func (m *Mapping) isAboutNoRow(d *document, e *envelope) bool {
	for _, member := range []int{rowDDL, rowTableChanges, rowEventCount, rowAggregate} {
		if d.at(e.members[member]) != nil {
			return true
		}
	}
	if d.at(e.members[rowTime]) == nil {
		return false
	}
	members := 0
	err := connect.Members(d.at(e.all), func(string, jsontext.Value) error { members++; return nil })
	return err == nil && members == 1
}

// hasEdge reports whether both ends of an edge are in a row.
func (m *Mapping) hasEdge(d *document, at *row) bool {
	return m.edge != nil && !isAbsent(d.at(at.edge[0])) && !isAbsent(d.at(at.edge[1]))
}

// asksToForget reports whether a record has "forget": true. Records of connectors have deletes instead.
func (m *Mapping) asksToForget(d *document, at *located, record []byte) (bool, error) {
	if m.isConnector() || !bytes.Contains(record, []byte(`"forget"`)) {
		return false, nil
	}
	switch value := d.at(at.forget); string(value) {
	case "", "false", "null":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, event.Errorf(event.ReasonUnparsable, "forget", "%s, want true or false", event.Cut(string(value)))
	}
}
