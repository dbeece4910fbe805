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
func stamp(n *avro.SchemaNode) int64 {
	if n.Props == nil || units[n.LogicalType] > 0 || n.Type != "int" && n.Type != "long" {
		return 0
	}
	return connect.MeaningOf(connectName(n)).Nanoseconds()
}

// ConnectType returns the type of the values that [Schema.AppendJSON] writes.
func (s *Schema) ConnectType() *connect.Type { return s.row }

// connectType makes the type of a value as AppendJSON writes it: times as their numbers, decimals as numbers.
func (s *Schema) connectType(n *avro.SchemaNode, made map[*avro.SchemaNode]*connect.Type) *connect.Type {
	n = s.follow(n)
	if known, is := made[n]; is {
		return known
	}
	if n.Type == "union" { // of null and a value
		var only *avro.SchemaNode
		for i := range n.Branches {
			if n.Branches[i].Type != "null" {
				if only != nil {
					return nil
				}
				only = &n.Branches[i]
			}
		}
		if only == nil {
			return nil
		}
		return s.connectType(only, made)
	}
	out := &connect.Type{Name: connectName(n), Bytes: n.Type == "bytes" || n.Type == "fixed"}
	made[n] = out
	switch meaning := connect.MeaningOf(out.Name); {
	case meaning == connect.Decimal, meaning == connect.ScaleInside, units[n.LogicalType] > 0: // written in full
	default:
		out.Meaning = meaning
	}
	switch {
	case n.Type == "array":
		out.Items = s.connectType(n.Items, made)
	case n.Type == "map":
		out.Items = s.connectType(n.Values, made)
	case isRecord(n):
		out.Fields = make(map[string]*connect.Type, len(n.Fields))
		for i := range n.Fields {
			out.Fields[n.Fields[i].Name] = s.connectType(&n.Fields[i].Type, made)
		}
	}
	return out
}

// scaled appends the number of a VariableScaleDecimal, and returns false for another record.
func scaled(dst []byte, of record) ([]byte, bool, error) {
	if len(of.values) != 2 || connect.MeaningOf(connectName(of.of.SchemaNode)) != connect.ScaleInside {
		return dst, false, nil
	}
	scale, isScale := integer(of.values["scale"])
	unscaled, isValue := of.values["value"].([]byte)
	if !isScale || !isValue {
		return dst, false, nil
	}
	if scale < -maxScale || scale > maxScale {
		return dst, true, event.Errorf(event.ReasonUnparsable, "", "a decimal with the scale %d", scale)
	}
	return connect.AppendDecimal(dst, unscaled, int(scale)), true, nil
}

// maxScale bounds the digits of a decimal's fraction.
const maxScale = 1000
