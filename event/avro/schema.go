package avro

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// typeKind is the kind of an Avro type.
type typeKind uint8

const (
	kindNull typeKind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindArray
	kindMap
	kindRecord
	kindUnion
)

var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed",
	"enum", "array", "map", "record", "union"}

// schemaType is one type of a writer's schema. Types that name themselves make it a graph with cycles.
type schemaType struct {
	kind     typeKind
	logical  string // its logicalType
	connect  string // the name that Kafka Connect's converter gives the type, as io.debezium.time.MicroTimestamp
	scale    int    // of a decimal
	size     int    // of a fixed
	symbols  []string
	items    *schemaType // of an array; the values of a map
	branches []*schemaType
	fields   []schemaField
	// lead is the byte before a value that is a double: which branch of a union it is. bareDouble, if the type is
	// double itself, and noDouble, if it has no such branch among the first 64.
	lead int
	// indices, values and named are the positions of a record's fields of these names, −1 for none.
	indices, values, named int
}

// Values of schemaType.lead that are no byte.
const (
	bareDouble = -1
	noDouble   = -2
)

// findDouble sets lead.
func (t *schemaType) findDouble() {
	t.lead = noDouble
	if t.kind == kindDouble {
		t.lead = bareDouble
	}
	for i, b := range t.branches[:min(64, len(t.branches))] {
		if b.kind == kindDouble {
			t.lead = 2 * i
			return
		}
	}
}

type schemaField struct {
	name string
	typ  *schemaType
}

// word names the type in errors.
func (t *schemaType) word() string { return kindNames[t.kind] }

// Schema is a schema with which records were written. It maps their fields to the fields of an arrival, a label or a
// prediction: by name, by the aliases of Rivulet's own schemas, and if the type can be read as the wanted one. It does
// not change, and many goroutines may use it.
type Schema struct {
	root  *schemaType
	row   *connect.Type // the type of AppendJSON's output
	types int
	// The field of an arrival, a label, an edge or a prediction for each field of the root; nil for none.
	arrival, label, edge, prediction []*table.Field
}

// maxTypes bounds the types of a schema.
const maxTypes = 20_000

// Parse reads a schema. References are the schemas that it names, each after the ones that it names itself. An error is
// about the schema, not about a record.
func Parse(text string, references ...string) (*Schema, error) {
	var cache avro.SchemaCache
	for _, r := range references {
		if _, err := cache.Parse(r); err != nil {
			return nil, fmt.Errorf("a referenced schema: %s", event.LibraryText(err))
		}
	}
	parsed, err := cache.Parse(text)
	if err != nil {
		return nil, errors.New(event.LibraryText(err))
	}
	c := compiler{named: map[string]*schemaType{}}
	root, err := c.compile(parsed.Root().ExpandReferences(), "")
	if err != nil {
		return nil, err
	}
	s := &Schema{root: root, types: c.types}
	s.row = root.connectType(map[*schemaType]*connect.Type{})
	s.arrival, s.label = root.roles(fields.Arrival, arrivalAliases), root.roles(fields.Label, labelAliases)
	s.edge, s.prediction = root.roles(fields.Edge, nil), root.roles(fields.Prediction, nil)
	return s, nil
}

// compiler makes types of the library's nodes.
type compiler struct {
	named map[string]*schemaType
	types int
}

var kindsByName = func() map[string]typeKind {
	words := map[string]typeKind{"error": kindRecord}
	for kind, word := range kindNames {
		words[word] = typeKind(kind)
	}
	return words
}()

// compile makes the type of a node inside of a namespace.
func (c *compiler) compile(n *avro.SchemaNode, space string) (*schemaType, error) {
	if c.types++; c.types > maxTypes {
		return nil, fmt.Errorf("the schema has more than %d types", maxTypes)
	}
	kind, known := kindsByName[n.Type]
	if !known {
		return c.reference(n.Type, space)
	}
	t := &schemaType{kind: kind, logical: n.LogicalType, scale: n.Scale, size: n.Size, symbols: n.Symbols,
		connect: connectName(n),
		indices: -1, values: -1, named: -1}
	if n.Name != "" {
		name := n.Name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			space = name[:i]
		} else if space = n.Namespace; space != "" {
			name = space + "." + name
		}
		c.named[name] = t
	}
	var err error
	switch kind {
	case kindArray:
		t.items, err = c.compile(n.Items, space)
	case kindMap:
		t.items, err = c.compile(n.Values, space)
	case kindUnion:
		t.branches = make([]*schemaType, len(n.Branches))
		for i := range n.Branches {
			if t.branches[i], err = c.compile(&n.Branches[i], space); err != nil {
				return nil, err
			}
		}
	case kindRecord:
		err = c.record(t, n, space)
	}
	t.findDouble()
	return t, err
}

func (c *compiler) reference(name, space string) (*schemaType, error) {
	if t := c.named[name]; t != nil {
		return t, nil
	}
	if t := c.named[space+"."+name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("the type %s is not defined", event.Cut(name))
}

func (c *compiler) record(t *schemaType, n *avro.SchemaNode, space string) error {
	t.fields = make([]schemaField, len(n.Fields))
	for i := range n.Fields {
		f := &n.Fields[i]
		typ, err := c.compile(&f.Type, space)
		if err != nil {
			return err
		}
		t.fields[i] = schemaField{f.Name, typ}
		switch f.Name {
		case "indices":
			t.indices = i
		case "values":
			t.values = i
		case "named":
			t.named = i
		}
	}
	return nil
}

// arrivalAliases and labelAliases give the names of the fields of Rivulet's schemas by their aliases.
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

// roles returns the message's field for each field of a record; nil for none. A field's own name goes before an alias;
// of several aliases the first counts.
func (t *schemaType) roles(m *table.Message, aliases map[string]string) []*table.Field {
	if t.kind != kindRecord {
		return nil
	}
	roles, taken := make([]*table.Field, len(t.fields)), map[*table.Field]bool{}
	for i, f := range t.fields {
		if field := m.ByName([]byte(f.name)); field != nil {
			roles[i], taken[field] = field, true
		}
	}
	for i, f := range t.fields {
		if field := m.ByName([]byte(aliases[f.name])); field != nil && !taken[field] {
			roles[i], taken[field] = field, true
		}
	}
	return roles
}
