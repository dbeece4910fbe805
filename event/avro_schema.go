package event

import (
	_ "embed" // for the schema files
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/avro"

	"rivulet/event/connect"
	"rivulet/event/table"
)

// ArrivalAvro, PredictionAvro and LabelAvro are the Avro schemas of the forms that [Avro] reads and writes.
var (
	//go:embed schema/arrival.avsc
	ArrivalAvro string
	//go:embed schema/prediction.avsc
	PredictionAvro string
	//go:embed schema/label.avsc
	LabelAvro string
)

// avroKind is the kind of an Avro type.
type avroKind uint8

const (
	avroNull avroKind = iota
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroArray
	avroMap
	avroRecord
	avroUnion
)

var avroKinds = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed",
	"enum", "array", "map", "record", "union"}

// avroType is one type of a writer's schema. Types that name themselves make it a graph with cycles.
type avroType struct {
	kind     avroKind
	logical  string // its logicalType
	connect  string // the name that Kafka Connect's converter gives the type, as io.debezium.time.MicroTimestamp
	scale    int    // of a decimal
	size     int    // of a fixed
	symbols  []string
	items    *avroType // of an array, values of a map
	branches []*avroType
	fields   []avroField
	// lead is the byte before a value that is a double: which branch of a union it is. bareDouble, if the type is
	// double itself, and noDouble, if it has no such branch among the first 64.
	lead int
	// indices, values and named are the positions of the fields of that name in a record, -1 for none.
	indices, values, named int
}

// Values of avroType.lead that are no byte.
const (
	bareDouble = -1
	noDouble   = -2
)

// findDouble sets lead.
func (t *avroType) findDouble() {
	t.lead = noDouble
	if t.kind == avroDouble {
		t.lead = bareDouble
	}
	for i, b := range t.branches[:min(64, len(t.branches))] {
		if b.kind == avroDouble {
			t.lead = 2 * i
			return
		}
	}
}

type avroField struct {
	name string
	typ  *avroType
}

// word names the type in errors.
func (t *avroType) word() string { return avroKinds[t.kind] }

// AvroSchema is a schema with which records were written. It says what of them are the fields of an arrival or a
// label: by name, by the aliases of Rivulet's own schemas, and by the types that can be read as what is wanted. It
// does not change, and many goroutines may use it.
type AvroSchema struct {
	root  *avroType
	row   *connect.Type // of what AppendJSON writes
	types int
	// Which field of an arrival, a label or a prediction each field of the root is, nil for none.
	arrival, label, prediction []*table.Field
}

// maxAvroTypes bounds the types of a schema.
const maxAvroTypes = 20_000

// ParseAvro reads a schema. References are the schemas that it names, in an order in which each names only those
// before it. An error is about the schema, not about a record.
func ParseAvro(text string, references ...string) (*AvroSchema, error) {
	var cache avro.SchemaCache
	for _, r := range references {
		if _, err := cache.Parse(r); err != nil {
			return nil, fmt.Errorf("a referenced schema: %s", cutTo(err.Error(), maxLibraryText))
		}
	}
	parsed, err := cache.Parse(text)
	if err != nil {
		return nil, errors.New(cutTo(err.Error(), maxLibraryText))
	}
	c := avroCompiler{named: map[string]*avroType{}}
	root, err := c.compile(parsed.Root().ExpandReferences(), "")
	if err != nil {
		return nil, err
	}
	s := &AvroSchema{root: root, types: c.types}
	s.row = root.connectType(map[*avroType]*connect.Type{})
	s.arrival, s.label = root.roles(arrivalTable, arrivalAliases), root.roles(labelTable, labelAliases)
	s.prediction = root.roles(predictionTable, nil)
	return s, nil
}

// avroCompiler makes types of the library's nodes.
type avroCompiler struct {
	named map[string]*avroType
	types int
}

var avroWords = func() map[string]avroKind {
	words := map[string]avroKind{"error": avroRecord}
	for kind, word := range avroKinds {
		words[word] = avroKind(kind)
	}
	return words
}()

// compile makes the type of a node inside of a namespace.
func (c *avroCompiler) compile(n *avro.SchemaNode, space string) (*avroType, error) {
	if c.types++; c.types > maxAvroTypes {
		return nil, fmt.Errorf("the schema has more than %d types", maxAvroTypes)
	}
	kind, known := avroWords[n.Type]
	if !known {
		return c.reference(n.Type, space)
	}
	t := &avroType{kind: kind, logical: n.LogicalType, scale: n.Scale, size: n.Size, symbols: n.Symbols,
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
	case avroArray:
		t.items, err = c.compile(n.Items, space)
	case avroMap:
		t.items, err = c.compile(n.Values, space)
	case avroUnion:
		t.branches = make([]*avroType, len(n.Branches))
		for i := range n.Branches {
			if t.branches[i], err = c.compile(&n.Branches[i], space); err != nil {
				return nil, err
			}
		}
	case avroRecord:
		err = c.record(t, n, space)
	}
	t.findDouble()
	return t, err
}

func (c *avroCompiler) reference(name, space string) (*avroType, error) {
	if t := c.named[name]; t != nil {
		return t, nil
	}
	if t := c.named[space+"."+name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("the type %s is not defined", cut(name))
}

func (c *avroCompiler) record(t *avroType, n *avro.SchemaNode, space string) error {
	t.fields = make([]avroField, len(n.Fields))
	for i := range n.Fields {
		f := &n.Fields[i]
		typ, err := c.compile(&f.Type, space)
		if err != nil {
			return err
		}
		t.fields[i] = avroField{f.Name, typ}
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
	arrivalAliases = aliasesOf(ArrivalAvro)
	labelAliases   = aliasesOf(LabelAvro)
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

// roles returns the fields of a message that the fields of a record are, nil for those that are none. A field of the
// name itself goes before one of an alias; of several aliases the first counts.
func (t *avroType) roles(m *table.Message, aliases map[string]string) []*table.Field {
	if t.kind != avroRecord {
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
