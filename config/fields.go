package config

import (
	"fmt"
	"reflect"
	"strings"
)

// field is one setting: its place in a struct and the contents of its tags.
type field struct {
	key   string // "kafka.topics.arrivals"
	index []int  // for reflect.Value.FieldByIndex
	kind  kind

	def, usage, unit, zero string
	oneof                  []string
	min, max               *int64
	minText, maxText       string
	check                  check
}

// env returns the variable that sets the field.
func (f *field) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}

// section is a struct of fields, with its place.
type section struct {
	key   string // "kafka.topics", "" for the whole
	index []int
}

// schema holds the fields and sections of a struct type, read from its tags.
type schema struct {
	fields   []*field  // in the order of the struct
	sections []section // the whole first
	byKey    map[string]*field
}

// keys returns the keys of all fields.
func (s *schema) keys() []string {
	keys := make([]string, len(s.fields))
	for i, f := range s.fields {
		keys[i] = f.key
	}
	return keys
}

// schemaOf reads a struct type. A wrong tag is a programming error and panics: any test that loads
// the struct finds it.
func schemaOf(t reflect.Type) *schema {
	s := &schema{byKey: map[string]*field{}}
	s.walk(t, "", nil)
	for _, f := range s.fields {
		if s.byKey[f.key] != nil {
			panic(fmt.Sprintf("config: %s has the key %s twice", t, f.key))
		}
		s.byKey[f.key] = f
	}
	return s
}

func (s *schema) walk(t reflect.Type, prefix string, index []int) {
	s.sections = append(s.sections, section{strings.TrimSuffix(prefix, "."), index})
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		key := sf.Tag.Get("key")
		switch {
		case sf.Anonymous && key == "":
			s.walk(sf.Type, prefix, at)
		case key == "" || !sf.IsExported():
			panic(fmt.Sprintf("config: %s.%s has no key or is not exported", t, sf.Name))
		case sf.Type.Kind() == reflect.Struct:
			s.walk(sf.Type, prefix+key+".", at)
		default:
			s.fields = append(s.fields, newField(prefix+key, sf, at))
		}
	}
}

func newField(key string, sf reflect.StructField, index []int) *field {
	def, given := sf.Tag.Lookup("default")
	f := &field{
		key: key, index: index, def: def, usage: sf.Tag.Get("usage"), unit: sf.Tag.Get("unit"), zero: sf.Tag.Get("zero"),
		minText: sf.Tag.Get("min"), maxText: sf.Tag.Get("max"),
	}
	var known bool
	if f.kind, known = kinds[sf.Type]; !known || !given || f.usage == "" {
		panic(fmt.Sprintf("config: %s: type %s is not known, or default or usage is missing", key, sf.Type))
	}
	if words := sf.Tag.Get("oneof"); words != "" {
		f.oneof = strings.Split(words, "|")
	}
	if name := sf.Tag.Get("check"); name != "" {
		if f.check, known = checks[name]; !known {
			panic(fmt.Sprintf("config: %s: no check %q", key, name))
		}
	}
	f.min, f.max = f.bound(f.minText), f.bound(f.maxText)
	return f
}

// bound reads a min or max tag.
func (f *field) bound(text string) *int64 {
	if text == "" {
		return nil
	}
	v, err := f.kind.parse(text)
	if err != nil {
		panic(fmt.Sprintf("config: %s: bound %q: %v", f.key, text, err))
	}
	n := reflect.ValueOf(v).Int()
	return &n
}
