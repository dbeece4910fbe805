package form

import (
	"errors"
	"strings"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/json"
)

// isEdge reports whether a header says that the record is an edge of its own.
func isEdge(headers []event.Header) bool {
	kind := event.HeaderValue(headers, event.HeaderKind)
	return string(kind) == event.KindEdge || strings.EqualFold(strings.TrimSpace(string(kind)), event.KindEdge)
}

// Edge reads a record into e if it is an edge of its own. It is one if the header rivulet-kind says so, or if a
// [Mapping] finds both ends in it. The error is a *[event.FieldError]; then the content of e is undefined.
func (f *Reader) Edge(headers []event.Header, data []byte, e *event.Edge) (is bool, err error) {
	contentType := ContentTypeOf(headers)
	if f.Mapping != nil && f.Mapping.edge != nil && data != nil {
		if is, err = f.mappedEdge(contentType, headers, data, e); is {
			return true, err
		}
	}
	if !isEdge(headers) {
		return false, nil
	}
	by, payload, err := f.decoder(contentType, headers, data)
	if err == nil {
		err = by.DecodeEdge(payload, e)
	}
	return true, f.withFraming(err, headers, data)
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

// mappedEdge reads an edge from a record of another shape. is says whether the record has both ends. A record that
// cannot be opened is no edge: reading it as an arrival gives the error.
func (f *Reader) mappedEdge(contentType string, headers []event.Header, data []byte, e *event.Edge) (is bool,
	err error) {
	m := f.Mapping
	if m.edge == nil || len(data) == 0 {
		return false, nil
	}
	text, t := data, (*connect.Type)(nil)
	if f.framed(contentType, headers, data) {
		if text, t, err = f.registered(headers, data); err != nil {
			return false, nil
		}
	}
	if m.isConnector() {
		if text, t, err = m.row(text, t); err != nil {
			return false, nil
		}
	}
	var places [5][]byte
	if m.find(text, m.edge, places[:]) != nil || isAbsent(places[0]) || isAbsent(places[1]) {
		return false, nil
	}
	own := append(make([]byte, 0, len(text)+64), '{')
	for i := range m.edge {
		if isAbsent(places[i]) {
			continue
		}
		if len(own) > 1 {
			own = append(own, ',')
		}
		if own, err = m.appendField(append(own, m.edge[i].member...), &m.edge[i], places[i], t); err != nil {
			return true, err
		}
	}
	return true, (json.Codec{}).DecodeEdge(append(own, '}'), e)
}

func isAbsent(value []byte) bool { return value == nil || isNull(value) }
