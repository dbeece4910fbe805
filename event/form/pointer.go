package form

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/json"
)

// find looks for values in a JSON document, in one pass. found[i] is the text of the value of wants[i], a part of
// the document; nil where there is none. A document that is no JSON is an error: of the reason not_finite where the
// parser stopped at the literal NaN or Infinity in a feature, as in Rivulet's own form, and else unparsable.
func (m *Mapping) find(document []byte, wants []want, found [][]byte) error {
	if len(bytes.TrimSpace(document)) == 0 {
		return event.Errorf(event.ReasonUnparsable, "", "the record is empty")
	}
	s := finder{document: document, wants: wants, found: found}
	s.dec = jsontext.NewDecoder(bytes.NewBuffer(document))
	all := make([]int, len(wants))
	for i := range all {
		all[i] = i
	}
	if err := s.value(all, 0); err != nil {
		if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			if field := m.feature(slices.Collect(syntactic.JSONPointer.Tokens())); field != "" {
				err = json.NotFinite(err, document[s.dec.InputOffset():], field)
			}
		}
		return json.Refused(err)
	}
	if _, err := s.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return event.Errorf(event.ReasonUnparsable, "", "the record goes on after its value (byte %d)", s.dec.InputOffset())
	}
	return nil
}

// envelopes are the names of the members that the presets unwrap, outermost first.
var envelopes = map[string][]string{PresetDebezium: {"payload", "after"}, PresetConnect: {"payload"}}

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

func isIndex(token string) bool { return strings.Trim(token, "0123456789") == "" }

type finder struct {
	document []byte
	dec      *jsontext.Decoder
	wants    []want
	found    [][]byte
}

// value reads the next value. among are the wants whose paths lead to it or into it: their first depth names have
// been followed.
func (s *finder) value(among []int, depth int) error {
	begin, here := -1, among[:0:0]
	for _, i := range among {
		if len(s.wants[i].path) == depth {
			here = append(here, i)
		}
	}
	kind := s.dec.PeekKind() // it passes over space, a comma or a colon
	if len(here) > 0 {
		begin = s.begin()
	}
	var err error
	switch {
	case len(here) == len(among):
		err = s.dec.SkipValue()
	case kind == '{':
		err = s.object(among, depth)
	case kind == '[':
		err = s.array(among, depth)
	default:
		err = s.dec.SkipValue()
	}
	if err != nil {
		return err
	}
	for _, i := range here {
		s.found[i] = s.document[begin:s.dec.InputOffset()]
	}
	return nil
}

// begin returns where the next value begins: behind space, and a comma or a colon.
func (s *finder) begin() int {
	at := int(s.dec.InputOffset())
	for at < len(s.document) && bytes.IndexByte([]byte(" \t\r\n,:"), s.document[at]) >= 0 {
		at++
	}
	return at
}

func (s *finder) object(among []int, depth int) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := s.member(name.String(), among, depth); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

func (s *finder) array(among []int, depth int) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; s.dec.PeekKind() != ']'; i++ {
		if err := s.member(strconv.Itoa(i), among, depth); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// member reads the value of a member or an element, or passes over it where no path leads to it.
func (s *finder) member(name string, among []int, depth int) error {
	var inner []int
	for _, i := range among {
		if path := s.wants[i].path; len(path) > depth && path[depth] == name {
			inner = append(inner, i)
		}
	}
	if inner == nil {
		return s.dec.SkipValue()
	}
	return s.value(inner, depth+1)
}
