package avro

import (
	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
)

// connectName returns the name that Kafka Connect's Avro converter gave a type; empty for others. It names types that
// Avro has no logical type for, such as Debezium's timestamp in microseconds.
func connectName(n *avro.SchemaNode) string {
	name, _ := n.Props["connect.name"].(string)
	return name
}

// stamp returns the nanoseconds of one unit of a number that Kafka Connect, and not Avro, declares a time; 0 for
// others.
func (t *schemaType) stamp() int64 {
	if t.connect == "" || t.unit() > 0 || t.kind != kindInt && t.kind != kindLong {
		return 0
	}
	return connect.MeaningOf(t.connect).Nanoseconds()
}

// ConnectType returns the type of the values that [Schema.AppendJSON] writes.
func (s *Schema) ConnectType() *connect.Type { return s.row }

// connectType makes the type of a value as AppendJSON writes it: times as their numbers, decimals as numbers.
func (t *schemaType) connectType(made map[*schemaType]*connect.Type) *connect.Type {
	if known, is := made[t]; is {
		return known
	}
	if t.kind == kindUnion { // a union of null and a value
		var only *schemaType
		for _, b := range t.branches {
			if b.kind != kindNull {
				if only != nil {
					return nil
				}
				only = b
			}
		}
		if only == nil {
			return nil
		}
		return only.connectType(made)
	}
	out := &connect.Type{Name: t.connect, Bytes: t.kind == kindBytes || t.kind == kindFixed}
	made[t] = out
	switch meaning := connect.MeaningOf(t.connect); {
	case meaning == connect.Decimal, meaning == connect.ScaleInside, t.unit() > 0: // AppendJSON has written it in full
	default:
		out.Meaning = meaning
	}
	if t.items != nil {
		out.Items = t.items.connectType(made)
	}
	if t.kind == kindRecord {
		out.Fields = make(map[string]*connect.Type, len(t.fields))
		for _, f := range t.fields {
			out.Fields[f.name] = f.typ.connectType(made)
		}
	}
	return out
}

// scaled appends the number of a VariableScaleDecimal, a record of a scale and the bytes of an integer.
func (w *jsonWriter) scaled(t *schemaType) error {
	scale, unscaled := int64(0), []byte(nil)
	for _, f := range t.fields {
		typ, err := w.resolve(f.typ, f.name)
		if err != nil {
			return err
		}
		switch typ.kind {
		case kindInt, kindLong:
			scale, err = w.integer(typ, f.name)
		default:
			unscaled, err = w.bytes(typ, f.name)
		}
		if err != nil {
			return err
		}
	}
	if scale < -maxScale || scale > maxScale {
		return event.Errorf(event.ReasonUnparsable, "", "a decimal with the scale %d (byte %d)", scale, w.at)
	}
	w.dst = connect.AppendDecimal(w.dst, unscaled, int(scale))
	return nil
}

// maxScale bounds the digits of a decimal's fraction.
const maxScale = 1000

// isScaled reports whether the type is a VariableScaleDecimal.
func (t *schemaType) isScaled() bool {
	if connect.MeaningOf(t.connect) != connect.ScaleInside || t.kind != kindRecord || len(t.fields) != 2 {
		return false
	}
	scale, value := t.fields[0].typ.kind, t.fields[1].typ.kind
	return t.fields[0].name == "scale" && (scale == kindInt || scale == kindLong) && t.fields[1].name == "value" &&
		value == kindBytes
}
