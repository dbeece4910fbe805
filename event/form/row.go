package form

import (
	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
)

// rowWants are the members by which a connector's record is told: of a change of Debezium, of the converter's schema
// around a record, of ExtractNewRecordState, and of Debezium's records about no row.
var rowWants = []want{
	{"", []string{"op"}}, {"", []string{"after"}}, {"", []string{"schema"}}, {"", []string{"payload"}},
	{"", []string{"__deleted"}}, {"", []string{"__op"}},
	{"", []string{"ddl"}}, {"", []string{"tableChanges"}}, {"", []string{"event_count"}}, {"", []string{"aggregate_type"}},
	{"", []string{"ts_ms"}}, {"", []string{"before"}},
}

// Places among rowWants.
const (
	rowOp = iota
	rowAfter
	rowSchema
	rowPayload
	rowDeleted
	rowAddedOp
	rowDDL
	rowTableChanges
	rowEventCount
	rowAggregate
	rowTime
	rowBefore
)

// row returns the row of a connector's record, and its type if that is known. A record about no row is a [Skip]. So is
// one about a deleted row, which is returned, too, where the record has it.
func (m *Mapping) row(text []byte, t *connect.Type) ([]byte, *connect.Type, error) {
	var memory [rowBefore + 1][]byte
	found := memory[:]
	if err := m.find(text, rowWants, found); err != nil {
		return nil, nil, err
	}
	if isNull(text) {
		return nil, nil, SkipTombstone
	}
	if payload := found[rowPayload]; payload != nil && found[rowOp] == nil &&
		(found[rowSchema] != nil || m.preset == PresetDebezium) {
		if isNull(payload) {
			return nil, nil, SkipTombstone
		}
		text, t = payload, m.types.Type(found[rowSchema])
		clear(found)
		if err := m.find(text, rowWants, found); err != nil {
			return nil, nil, err
		}
	}
	if m.preset == PresetDebezium {
		return changedRow(text, found, t)
	}
	if string(found[rowDeleted]) == `"true"` || string(found[rowDeleted]) == "true" || string(found[rowAddedOp]) == `"d"` {
		return text, t, SkipDelete
	}
	return text, t, nil
}

func isNull(value []byte) bool { return string(value) == "null" }

// changedRow returns the row that a change of Debezium leaves: its member after.
func changedRow(text []byte, found [][]byte, t *connect.Type) ([]byte, *connect.Type, error) {
	op, after := found[rowOp], found[rowAfter]
	switch string(op) {
	case `"c"`, `"r"`, `"u"`:
		if after == nil || isNull(after) {
			return nil, nil, event.Errorf(event.ReasonUnparsable, "after", "is missing in a change %s", op)
		}
		return inner(after), t.Field("after"), nil
	case `"d"`:
		return inner(found[rowBefore]), t.Field("before"), SkipDelete
	case `"t"`, `"m"`:
		return nil, nil, SkipOther
	case "":
		if isAboutNoRow(text, found) {
			return nil, nil, SkipOther
		}
		return nil, nil, event.Errorf(event.ReasonUnparsable, "op", "is missing: the record is no change event of Debezium; "+
			"for rows without the change around them, as ExtractNewRecordState makes, input.mapping.preset is connect")
	}
	return nil, nil, event.Errorf(event.ReasonUnparsable, "op", "%s, want c, r, u, d, t or m", event.Cut(string(op)))
}

// isAboutNoRow reports whether a record without op is one of the following, which Debezium writes beside changes and a
// transform or a setting may send to the same topic:
//
//	heartbeat           {"ts_ms": 1720724527278}
//	change of a table   {"source": {…}, "databaseName": "…", "ddl": "ALTER TABLE …", "tableChanges": […]}
//	transaction         {"status": "BEGIN", "id": "571:53195829", "event_count": null, "data_collections": null}
//	notification        {"id": "…", "aggregate_type": "Initial Snapshot", "type": "COMPLETED"}
func isAboutNoRow(text []byte, found [][]byte) bool {
	for _, member := range []int{rowDDL, rowTableChanges, rowEventCount, rowAggregate} {
		if found[member] != nil {
			return true
		}
	}
	if found[rowTime] == nil {
		return false
	}
	members := 0
	err := connect.Members(text, func(string, jsontext.Value) error { members++; return nil })
	return err == nil && members == 1
}
