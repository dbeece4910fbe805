package avro

import (
	"slices"
	"strings"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// part is a field of the root, read by a schema of its own: the library then decodes lists straight into the arrival's
// memory. Decoded with the others in one piece, each of their elements would be a Go value of its own.
type part struct {
	name   string
	node   *avro.SchemaNode
	role   *table.Field // the arrival's field; nil: none, and schema is of a record of this value, which is passed over
	schema *avro.Schema
	texts  bool     // an array of strings
	union  []choice // the branches of features that are a union
	choice choice   // other features
}

// choice is a type of features.
type choice struct {
	node   *avro.SchemaNode
	schema *avro.Schema
	shape  shape
}

// shape says into which Go type features are decoded.
type shape uint8

const (
	general shape = iota // any
	dense                // []float32
	pairs                // indexed
	entries              // []entry
)

// indexed are features by their indices; the values may be null.
type indexed struct {
	Indices []int32   `avro:"indices"`
	Values  []float32 `avro:"values"`
}

// entry is a pair of a map. A map has the bytes of an array of such pairs. The array keeps their order, and tells of a
// name that is there twice; the library's maps do not.
type entry struct {
	Key   string `avro:"key"`
	Value any    `avro:"value"`
}

// branchSchema reads which branch of a union a value has: it is written as an int.
var branchSchema = avro.MustParse(`"int"`)

// split makes the parts of the root.
func (s *Schema) split() (err error) {
	if !isRecord(s.root) {
		return nil
	}
	plain := map[string]*avro.Schema{} // of columns without a role, by kind
	s.parts = make([]part, len(s.root.Fields))
	for i := range s.root.Fields {
		f, p := &s.root.Fields[i], &s.parts[i]
		p.name, p.node = f.Name, &f.Type
		if k := slices.Index(s.arrival, f.Name); k >= 0 {
			p.role = &fields.Arrival.Fields[k]
		}
		switch {
		case p.role == nil && isPlain(p.node) && plain[p.node.Type] != nil:
			p.schema = plain[p.node.Type]
		case p.role == nil:
			if p.schema, err = recordOf(avro.SchemaField{Name: "x", Type: *p.node}).Schema(); isPlain(p.node) {
				plain[p.node.Type] = p.schema
			}
		case p.role.Kind == table.Features:
			err = s.features(p)
		default:
			p.texts = (p.role.Kind == table.Edges || p.role.Kind == table.IDs) && p.node.Type == "array" &&
				p.node.Items.Type == "string"
			p.schema, err = p.node.Schema(s.options()...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// partName is the name of types that are made here; others of a schema must not have it.
const partName = "Rivulet_part_of_a_record"

// recordOf is a type of records.
func recordOf(fields ...avro.SchemaField) *avro.SchemaNode {
	return &avro.SchemaNode{Type: "record", Name: partName, Fields: fields}
}

// isPlain reports whether a type has no name and no parts.
func isPlain(n *avro.SchemaNode) bool {
	return isKind[n.Type] && n.Type != "array" && n.Type != "map" && n.Type != "union"
}

// features finds the shapes of a part's types.
func (s *Schema) features(p *part) (err error) {
	if p.node.Type != "union" {
		p.choice, err = s.choose(p.node)
		return err
	}
	p.union = make([]choice, len(p.node.Branches))
	for i := range p.union {
		if p.union[i], err = s.choose(&p.node.Branches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) choose(n *avro.SchemaNode) (c choice, err error) {
	n = s.follow(n)
	c.node = n
	switch values := namedMap(n); {
	case n.Type == "array" && n.Items.Type == "float":
		c.shape = dense
		c.schema, err = n.Schema(raw...)
	case isRecord(n) && isIndexed(n):
		c.shape = pairs
		c.schema, err = n.Schema(raw...)
	case values != nil:
		c.shape, c.node = entries, values
		pair := recordOf(avro.SchemaField{Name: "key", Type: avro.SchemaNode{Type: "string"}},
			avro.SchemaField{Name: "value", Type: *values})
		c.schema, err = (&avro.SchemaNode{Type: "array", Items: pair}).Schema(raw...)
	default:
		c.schema, err = n.Schema(s.options()...)
	}
	return c, err
}

// isIndexed reports whether a record has the types of indexed, and perhaps more fields.
func isIndexed(n *avro.SchemaNode) bool {
	found := 0
	for i := range n.Fields {
		f := &n.Fields[i].Type
		switch n.Fields[i].Name {
		case "indices":
			found++
			if f.Type != "array" || f.Items.Type != "int" {
				return false
			}
		case "values":
			found++
			if f.Type == "union" && len(f.Branches) == 2 && f.Branches[0].Type == "null" {
				f = &f.Branches[1]
			}
			if f.Type != "array" || f.Items.Type != "float" {
				return false
			}
		}
	}
	return found == 2
}

// namedMap returns the type of the values of named features that are a map, or a record that has just that map; nil for
// another type. Values that tell their type themselves are not among them.
func namedMap(n *avro.SchemaNode) *avro.SchemaNode {
	if isRecord(n) && len(n.Fields) == 1 && n.Fields[0].Name == "named" {
		n = &n.Fields[0].Type
	}
	if n.Type != "map" {
		return nil
	}
	types := []avro.SchemaNode{*n.Values}
	if n.Values.Type == "union" {
		types = n.Values.Branches
	}
	for i := range types {
		if t := &types[i]; !isPlain(t) && (t.Type != "array" || !isPlain(t.Items)) {
			return nil
		}
	}
	return n.Values
}

// DecodeArrival reads one record that was written with the schema into a, as [protobuf.Codec.DecodeArrival] does: it
// overwrites all of a, reuses its slices, and the ids of a.Edges are parts of one string. The error is a
// *[event.FieldError]; then the content of a is undefined.
func (s *Schema) DecodeArrival(data []byte, a *event.Arrival) error {
	return s.decodeArrival(data, a, false)
}

// DecodeInPlace is DecodeArrival with ids that are parts of data, which must not change while they are used.
func (s *Schema) DecodeInPlace(data []byte, a *event.Arrival) error {
	return s.decodeArrival(data, a, true)
}

func (s *Schema) decodeArrival(data []byte, a *event.Arrival, p fields.InPlace) error {
	fields.BeginArrival(a)
	if s.parts == nil {
		_, err := s.decode(data, reader{p}, fields.Arrival, s.arrival, table.At(fields.Arrival, a))
		return err
	}
	if err := s.check(data); err != nil {
		return err
	}
	r, base, found := reader{p}, table.At(fields.Arrival, a), uint64(0)
	rest := data
	for i := range s.parts {
		p := &s.parts[i]
		var given bool
		var err error
		if rest, given, err = r.part(p, rest, base); err != nil {
			return err
		}
		if given {
			found |= p.role.Bit
		}
	}
	if err := fields.CheckMissing(fields.Arrival, found); err != nil {
		return err
	}
	if err := goesOn(data, rest); err != nil {
		return err
	}
	if found&fields.ArrivalFeatures == 0 {
		return event.ErrNoFeatures
	}
	return nil
}

// part reads a part, and returns what is behind it.
func (r reader) part(p *part, data []byte, base table.Ref) (rest []byte, given bool, err error) {
	var value any
	switch {
	case p.role == nil:
		if rest, err = p.schema.Decode(data, &struct{}{}, avro.SkipUnknown()); err != nil {
			return nil, false, fields.Inside(p.name, passed(err))
		}
		return rest, false, nil
	case p.role.Kind == table.Features:
		return r.featuresOf(p, data, table.Inside[event.Features](p.role, base))
	case p.texts:
		list := *p.role.Strings(base)
		if rest, err = p.schema.Decode(data, &list, avro.AliasInput()); err != nil {
			return nil, false, fields.Inside(p.name, fault(err))
		}
		if len(list) > 0 {
			*p.role.Strings(base) = list
		}
		return rest, true, r.own(list, p.role.Name)
	}
	if rest, err = p.schema.Decode(data, &value, avro.AliasInput()); err != nil {
		return nil, false, fields.Inside(p.name, fault(err))
	}
	given, err = r.field(p.node, value, p.role, base)
	return rest, given, err
}

// passed is the error of a value that is passed over, without the name of the record that was made for it.
func passed(err error) error {
	f := event.FaultOf(fault(err))
	f.Field = strings.TrimPrefix(strings.TrimPrefix(f.Field, "x"), ".")
	return f
}

// featuresOf reads features, and returns false if they are null.
func (r reader) featuresOf(p *part, data []byte, f *event.Features) (rest []byte, given bool, err error) {
	c := &p.choice
	if p.union != nil {
		var branch int32
		if data, err = branchSchema.Decode(data, &branch); err != nil {
			return nil, false, fields.Inside(p.name, fault(err))
		}
		if branch < 0 || int(branch) >= len(p.union) {
			return nil, false, event.Errorf(event.ReasonUnparsable, "features", "%d is no branch of the union, which has %d",
				branch, len(p.union))
		}
		c = &p.union[branch]
	}
	rest, err = c.read(r, data, f)
	if event.LacksFeatures(err) {
		return rest, false, nil
	}
	if _, is := err.(*event.FieldError); err != nil && !is { //nolint:errorlint // of the library, or made here
		err = fields.Inside(p.name, fault(err))
	}
	return rest, err == nil, err
}

// read reads features of the type. Its error is the library's, or names the field.
func (c *choice) read(r reader, data []byte, f *event.Features) (rest []byte, err error) {
	switch c.shape {
	case dense:
		values := f.Values[:0]
		if rest, err = c.schema.Decode(data, &values, avro.AliasInput()); err != nil {
			return nil, err
		}
		*f = event.Features{Values: values}
		return rest, event.CheckFinite(values, "features")
	case pairs:
		return c.readPairs(data, f)
	case entries:
		var list []entry
		if rest, err = c.schema.Decode(data, &list, avro.AliasInput()); err != nil {
			return nil, err
		}
		return rest, setNamed(f, func(named *fields.NamedList) error { return namedEntries(c.node, list, named) })
	}
	var value any
	if rest, err = c.schema.Decode(data, &value, avro.AliasInput()); err != nil {
		return nil, err
	}
	return rest, r.features(c.node, value, f)
}

func (c *choice) readPairs(data []byte, f *event.Features) (rest []byte, err error) {
	found := indexed{f.Indices[:0], f.Values[:0]}
	if rest, err = c.schema.Decode(data, &found, avro.AliasInput(), avro.SkipUnknown()); err != nil {
		return nil, err
	}
	for i, index := range found.Indices {
		if index < 0 {
			return nil, event.Errorf(event.ReasonFeatureLength, event.Element("features.indices", i),
				"%d is outside 0…2147483647", index)
		}
	}
	f.Sparse, f.Named, f.Indices = true, nil, found.Indices
	if found.Values == nil { // they are null
		f.Values = f.Values[:0]
		fields.SetOnes(f)
		return rest, fields.Order(f)
	}
	f.Values = found.Values
	if err := event.CheckFinite(f.Values, "features.values"); err != nil {
		return nil, err
	}
	return rest, fields.Order(f)
}
