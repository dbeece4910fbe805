package avro

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// Schema is a schema with which records were written. It maps their fields to the fields of an arrival, a label, an
// edge or a prediction: by name, by the aliases of Rivulet's own schemas, and if the type can be read as the wanted
// one. It does not change, and many goroutines may use it.
type Schema struct {
	library *avro.Schema
	root    *avro.SchemaNode
	named   map[string]*definition // the types that have names, by their full names
	types   int
	row     *connect.Type // the type of AppendJSON's output
	// For the fields of these messages, in the order of their tables, the names of the root's fields; "": none.
	arrival, label, edge, prediction []string
	parts                            []part // of an arrival
}

// definition is a type that has a name.
type definition struct {
	*avro.SchemaNode
	fields map[string]*avro.SchemaNode // the types of a record's fields
}

// record is a value of a type of records.
type record struct {
	of     *definition
	values map[string]any
}

// symbol is a word of an enum.
type symbol string

// fixed is a value of a fixed type.
type fixed struct {
	of    *avro.SchemaNode
	bytes []byte
}

func custom(kind string, decode func(v any, n *avro.SchemaNode) (any, error)) avro.SchemaOpt {
	return avro.CustomType{AvroType: kind, Decode: decode}
}

// raw makes the library decode times and decimals to the numbers and bytes that were written.
var raw = []avro.SchemaOpt{custom("int", nil), custom("long", nil), custom("bytes", nil), custom("string", nil)}

// options are raw, and a record, an enum and a fixed value tell their type, which may be one of a union.
func (s *Schema) options() []avro.SchemaOpt {
	return append(raw[:len(raw):len(raw)],
		custom("record", func(v any, n *avro.SchemaNode) (any, error) {
			return record{s.named[n.Name], v.(map[string]any)}, nil
		}),
		custom("enum", func(v any, _ *avro.SchemaNode) (any, error) { return symbol(v.(string)), nil }),
		custom("fixed", func(v any, n *avro.SchemaNode) (any, error) { return fixed{n, v.([]byte)}, nil }))
}

// Parse reads a schema. The others are schemas that it names, each after the ones that it names itself. An error is
// about the schema, not about a record.
func Parse(text string, others ...string) (*Schema, error) {
	s := &Schema{named: map[string]*definition{}}
	var cache avro.SchemaCache
	for _, r := range others {
		if _, err := cache.Parse(r, s.options()...); err != nil {
			return nil, fmt.Errorf("a referenced schema: %s", event.LibraryText(err))
		}
	}
	var err error
	if s.library, err = cache.Parse(text, s.options()...); err != nil {
		return nil, errors.New(event.LibraryText(err))
	}
	s.root = s.library.Root()
	var c collector
	c.define(s.named, s.root, "")
	if err := c.resolve(s.named); err != nil {
		return nil, err
	}
	s.types = c.types
	s.row = s.connectType(s.root, map[*avro.SchemaNode]*connect.Type{})
	s.arrival, s.label = s.names(fields.Arrival, arrivalAliases), s.names(fields.Label, labelAliases)
	s.edge, s.prediction = s.names(fields.Edge, nil), s.names(fields.Prediction, nil)
	if err := s.split(); err != nil {
		return nil, errors.New(event.LibraryText(err))
	}
	return s, nil
}

// maxTypes bounds the types of a schema.
const maxTypes = 20_000

// collector walks the types of a schema.
type collector struct {
	types      int
	references []reference
}

// reference is a type that is the name of another, and the namespace around it.
type reference struct {
	*avro.SchemaNode
	space string
}

// define collects the definitions inside of a type. space is the namespace around it.
func (c *collector) define(into map[string]*definition, n *avro.SchemaNode, space string) {
	if c.types++; c.types > maxTypes {
		return
	}
	switch {
	case isRecord(n) || n.Type == "enum" || n.Type == "fixed":
		name := n.Name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			space = name[:i]
		} else if space = n.Namespace; space != "" {
			name = space + "." + name
		}
		d := &definition{n, make(map[string]*avro.SchemaNode, len(n.Fields))}
		for i := range n.Fields {
			d.fields[n.Fields[i].Name] = &n.Fields[i].Type
		}
		into[name] = d
	case !isKind[n.Type]:
		c.references = append(c.references, reference{n, space})
	}
	for inner := range children(n) {
		c.define(into, inner, space)
	}
}

// resolve gives each reference the full name of its definition.
func (c *collector) resolve(named map[string]*definition) error {
	if c.types > maxTypes {
		return fmt.Errorf("the schema has more than %d types", maxTypes)
	}
	for _, r := range c.references {
		if full := r.space + "." + r.Type; named[full] != nil {
			r.Type = full
		} else if named[r.Type] == nil {
			return fmt.Errorf("the type %s is not defined", event.Cut(r.Type))
		}
	}
	return nil
}

// isKind has the kinds of types without a name.
var isKind = map[string]bool{"null": true, "boolean": true, "int": true, "long": true, "float": true, "double": true,
	"bytes": true, "string": true, "array": true, "map": true, "union": true}

func isRecord(n *avro.SchemaNode) bool { return n.Type == "record" || n.Type == "error" }

// children yields the types that a type is made of.
func children(n *avro.SchemaNode) iter.Seq[*avro.SchemaNode] {
	return func(yield func(*avro.SchemaNode) bool) {
		switch {
		case n.Type == "array":
			yield(n.Items)
		case n.Type == "map":
			yield(n.Values)
		case n.Type == "union":
			for i := range n.Branches {
				if !yield(&n.Branches[i]) {
					return
				}
			}
		case isRecord(n):
			for i := range n.Fields {
				if !yield(&n.Fields[i].Type) {
					return
				}
			}
		}
	}
}

// follow returns the definition that a type names, or the type itself.
func (s *Schema) follow(n *avro.SchemaNode) *avro.SchemaNode {
	if d := s.named[n.Type]; d != nil {
		return d.SchemaNode
	}
	return n
}

// Names of the fields of Rivulet's schemas by their aliases.
var (
	arrivalAliases = aliasesOf(event.ArrivalAvro)
	labelAliases   = aliasesOf(event.LabelAvro)
)

func aliasesOf(schema string) map[string]string {
	names := map[string]string{}
	for _, f := range avro.MustParse(schema).Root().Fields {
		for _, alias := range f.Aliases {
			names[alias] = f.Name
		}
	}
	return names
}

// names returns the name of the root's field for each field of a message; "": none. A field's own name goes before an
// alias; of several aliases the first counts.
func (s *Schema) names(m *table.Message, aliases map[string]string) []string {
	names := make([]string, len(m.Fields))
	for i := range m.Fields {
		for _, f := range s.root.Fields {
			if f.Name == m.Fields[i].Name || names[i] == "" && aliases[f.Name] == m.Fields[i].Name {
				names[i] = f.Name
			}
			if f.Name == m.Fields[i].Name {
				break
			}
		}
	}
	return names
}
