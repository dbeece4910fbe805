package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/parquet-go/parquet-go"
)

// maxDepth bounds tables in tables of the flat buffer of Arrow's schema.
const maxDepth = 32

// durations returns the columns that hold durations, by the schema in the file's metadata: Arrow's, which pyarrow,
// pandas and polars keep there, or Spark's. In Parquet itself they are integers.
func durations(f *parquet.File) map[string]bool {
	found := map[string]bool{}
	var spark struct {
		Fields []struct {
			Name string
			Type json.RawMessage // "interval day to second", or an object that has it
		}
	}
	text, _ := f.Lookup("org.apache.spark.sql.parquet.row.metadata")
	_ = json.Unmarshal([]byte(text), &spark) // it is a hint
	for _, c := range spark.Fields {
		found[c.Name] = bytes.Contains(c.Type, []byte(`"interval`))
	}
	text, ok := f.Lookup("ARROW:schema")
	if !ok {
		return found
	}
	message, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(message) < 8 {
		return found // it is a hint
	}
	defer func() { _ = recover() }() // offsets beyond the message
	const header, fields = 2, 1      // of Message.fbs and Schema.fbs
	schema := flat{message[8:], 0}.at(0).field(header).at(0)
	schema.field(fields).each(func(column flat) {
		if column.holdsDuration(0) {
			found[column.field(0).text()] = true
		}
	})
	return found
}

// flat is a place in a FlatBuffer: the bytes of a table, or of a field that refers to something.
// https://flatbuffers.dev/internals/
type flat struct {
	b     []byte
	place int
}

// at follows the reference at a place.
func (f flat) at(skip int) flat {
	return flat{f.b, f.place + skip + int(binary.LittleEndian.Uint32(f.b[f.place+skip:]))}
}

// field returns the place of a field of a table; 0 if it is absent.
func (f flat) field(k int) flat {
	if f.place == 0 {
		return f
	}
	types := f.place - int(int32(binary.LittleEndian.Uint32(f.b[f.place:])))
	if 4+2*k >= int(binary.LittleEndian.Uint16(f.b[types:])) {
		return flat{f.b, 0}
	}
	offset := int(binary.LittleEndian.Uint16(f.b[types+4+2*k:]))
	if offset == 0 {
		return flat{f.b, 0}
	}
	return flat{f.b, f.place + offset}
}

// each calls use with the tables of a vector that a field refers to.
func (f flat) each(use func(flat)) {
	if f.place == 0 {
		return
	}
	vector := f.at(0)
	for k := range int(binary.LittleEndian.Uint32(f.b[vector.place:])) {
		use(vector.at(4 + 4*k))
	}
}

func (f flat) text() string {
	vector := f.at(0)
	n := int(binary.LittleEndian.Uint32(f.b[vector.place:]))
	return string(f.b[vector.place+4:][:n])
}

// holdsDuration reports whether a column of Schema.fbs, or one in it, is a duration.
func (f flat) holdsDuration(depth int) (holds bool) {
	const kind, children, duration = 2, 5, 18
	if of := f.field(kind); of.place != 0 && f.b[of.place] == duration || depth > maxDepth {
		return true
	}
	f.field(children).each(func(inner flat) { holds = holds || inner.holdsDuration(depth+1) })
	return holds
}
