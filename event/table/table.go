// Package table describes a message by one row a field: its name in JSON, Avro and errors, its Protobuf number, its
// kind, and its place in the Go struct. Writers and readers of all wire forms walk the rows, so that a new field is
// one row and the struct's field.
//
// The rows of Rivulet's own messages are in package fields. A row holds the offset of the struct's field, as a call of
// a function for each field would cost a writer a tenth of its speed (BenchmarkAppendPrediction). No other package
// casts: [New] panics if the kind of a row does not fit the Go type at its offset, and [At] if a table is not the
// struct's, so a row that is wrong ends the program at its start and cannot overwrite memory.
package table

import (
	"cmp"
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kind says which Go type a field has and how the wire forms write it.
type Kind uint8

// Kinds of fields, with the Go type and the types of .proto and .avsc. A union with null says that the field may be
// absent.
const (
	ID            Kind = iota + 1 // string, never empty; string, string
	NodeID                        // as ID; in JSON, and in the schemas of other Avro writers, also an integer
	Text                          // string; string, string
	OptionalText                  // string, empty: absent; string, [null, string]
	Word                          // string, one of Field.Words; enum, enum
	Bool                          // bool; bool, boolean
	Index                         // int from 0; uint32, int
	OptionalIndex                 // int, -1: absent; optional uint32, [null, int]
	Count                         // int from 0; uint32, long
	Int32                         // int; int32, int
	Int64                         // int64; int64, long
	Float                         // float32, finite; float, float
	Floats                        // []float32, finite; repeated float, array of float
	Time                          // time.Time, zero: absent; Timestamp, [null, timestamp-micros]
	Timestamp                     // as Time; left out outside of the years that can be written
	IDs                           // []string, none empty; repeated string, array of string
	Edges                         // as IDs; in JSON also objects with weights, types and directions
	Features                      // event.Features; one of three messages, union of three types
	Struct                        // a struct inside of the struct; message, record
	Group                         // fields of the same struct, there if the list among them is; message, [null, record]
	List                          // slice of structs; repeated message, array of records
	Pointer                       // pointer to a struct, nil: absent; message, [null, record]
)

// Presence describes how a field that is zero or absent is written and read.
type Presence uint8

const (
	// Optional fields are left out of JSON and Protobuf where they are zero.
	Optional Presence = iota
	// Always says that JSON writes the field also where it is zero.
	Always
	// Required is Always, and a reader refuses a JSON object without the field.
	Required
)

// Field is a row of the table.
type Field struct {
	// Name is the key in JSON, the name in .proto and .avsc, and the field's name in errors.
	Name string
	// Number is the field's number in .proto.
	Number   protowire.Number
	Kind     Kind
	Presence Presence
	// Go is the name of the Go struct's field; empty: the key in Go's spelling, ClassName for class_name. [New] finds
	// its Offset, 0 for a Group.
	Go     string
	Offset uintptr
	// Message describes the value of a Struct, Group, List or Pointer.
	Message *Message
	// Words are the values of a Word by their number in .proto, where 0 means none. The enum of .avsc begins with number
	// 1.
	Words []string
	// Hint is appended to an error about a value of the wrong type.
	Hint string

	// Member is the name as JSON has it before the value, with a comma: `,"id":`. Tag begins the field in Protobuf.
	// Both are arrays of one length, so that a writer copies them without a call and then counts Len or TagLen of
	// their bytes.
	Member      [MemberBytes]byte
	Tag         [2]byte
	Len, TagLen uint8
	// Bit is the field's bit in the set of fields that a reader has found.
	Bit uint64

	of reflect.Type // the Go type of the struct's field
}

// Wire is the form of a field in a message of Protobuf.
type Wire uint8

// Forms of fields. A field that is no list may be there once.
const (
	Unknown    Wire = iota
	Varint          // an integer, a bool or an enum
	Fixed32         // a float
	Fixed64         // a double
	Bytes           // a string or a message
	BytesList       // strings or messages, one each
	VarintList      // integers, packed or one each
	FloatList       // floats, packed or one each
)

// WireField is a field with its form in Protobuf.
type WireField struct {
	Name string // in errors
	Wire Wire
}

// wireTypes are the wire types that a writer gives the forms.
var wireTypes = [...]protowire.Type{Varint: protowire.VarintType, Fixed32: protowire.Fixed32Type,
	Fixed64: protowire.Fixed64Type, Bytes: protowire.BytesType, BytesList: protowire.BytesType,
	VarintList: protowire.BytesType, FloatList: protowire.BytesType}

var wires = [...]Wire{ID: Bytes, NodeID: Bytes, Text: Bytes, OptionalText: Bytes, Word: Varint, Bool: Varint,
	Index: Varint, OptionalIndex: Varint, Count: Varint, Int32: Varint, Int64: Varint, Float: Fixed32, Floats: FloatList,
	Time: Bytes, Timestamp: Bytes, IDs: BytesList, Edges: BytesList, Features: Bytes, Struct: Bytes, Group: Bytes,
	List:    BytesList,
	Pointer: Bytes}

// MemberBytes is the room for a member's name in JSON.
const MemberBytes = 24

// Alternative is a second number of a field in .proto: features are one of three messages.
type Alternative struct {
	Number protowire.Number
	Of     string // the field's name
}

// Message is the table of one message.
type Message struct {
	// Fields are in the order of JSON and Avro.
	Fields []Field
	// Ordered are the same in the order of Protobuf, one for each number of a field.
	Ordered []Field
	// ByNumber are the same by their numbers in Protobuf: the index is the number, and gaps are nil.
	ByNumber []*Field

	// Wire are the forms of the fields in Protobuf; the index is the number.
	Wire []WireField

	of       reflect.Type // the struct
	byName   map[string]*Field
	size     uintptr
	required uint64 // the bits of the fields that Lacks asks for
	// add appends an element to the slice of messages at a place, and alloc stores a new message in the pointer at a
	// place. Both return the message.
	add, alloc func(at unsafe.Pointer) Ref
}

// New returns the table of the messages that a T holds.
func New[T any](fields []Field, others ...Alternative) *Message {
	m := &Message{Fields: fields, of: reflect.TypeFor[T](), byName: make(map[string]*Field, len(fields)),
		size: unsafe.Sizeof(*new(T))}
	number := func(n protowire.Number, f *Field) {
		for int(n) >= len(m.ByNumber) {
			m.ByNumber, m.Wire = append(m.ByNumber, nil), append(m.Wire, WireField{})
		}
		m.ByNumber[n], m.Wire[n] = f, WireField{f.Name, wires[f.Kind]}
	}
	for i := range fields {
		f := &fields[i]
		member := "," + strconv.Quote(f.Name) + ":"
		if len(member) > MemberBytes {
			panic("table: no room for the name " + f.Name)
		}
		place := reflect.StructField{Type: m.of} // a Group's fields are of the struct itself
		if f.Kind != Group {
			place = field(m.of, cmp.Or(f.Go, f.Name))
		}
		f.mustBe(place.Type)
		f.Offset = place.Offset
		f.Len, f.Bit = uint8(copy(f.Member[:], member)), 1<<i
		m.byName[f.Name] = f
		if f.Presence == Required && f.Kind != Features {
			m.required |= f.Bit
		}
		number(f.Number, f)
	}
	for _, other := range others {
		number(other.Number, m.byName[other.Of])
	}
	for n, f := range m.ByNumber {
		if f != nil {
			ordered := *f
			ordered.Number = protowire.Number(n)
			ordered.TagLen = uint8(copy(ordered.Tag[:], protowire.AppendTag(nil, ordered.Number, wireTypes[wires[f.Kind]])))
			m.Ordered = append(m.Ordered, ordered)
		}
	}
	m.add = func(at unsafe.Pointer) Ref {
		list := (*[]T)(at)
		*list = append(*list, *new(T))
		return m.absent(Ref{unsafe.Pointer(&(*list)[len(*list)-1])})
	}
	m.alloc = func(at unsafe.Pointer) Ref {
		p := new(T)
		*(**T)(at) = p
		return m.absent(Ref{unsafe.Pointer(p)})
	}
	return m
}

// field returns a struct's field, whose name is a key in Go's spelling.
func field(of reflect.Type, key string) reflect.StructField {
	name := strings.ReplaceAll(key, "_", "")
	f, ok := of.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	if !ok {
		panic("table: " + of.String() + " has no field for " + key)
	}
	return f
}

// goTypes are the Go types of kinds without a message of their own. Features are of a package above this one.
var goTypes = [...]string{ID: "string", NodeID: "string", Text: "string", OptionalText: "string", Word: "string",
	Bool: "bool", Index: "int", OptionalIndex: "int", Count: "int", Int32: "int", Int64: "int64", Float: "float32",
	Floats: "[]float32", Time: "time.Time", Timestamp: "time.Time", IDs: "[]string", Edges: "[]string",
	Features: "event.Features", Pointer: ""}

// mustBe panics if the kind of a row does not fit a Go type.
func (f *Field) mustBe(t reflect.Type) {
	want := goTypes[f.Kind]
	switch f.Kind {
	case Struct, Group:
		want = f.Message.of.String()
	case List:
		want = "[]" + f.Message.of.String()
	case Pointer:
		want = "*" + f.Message.of.String()
	}
	if f.of = t; t.String() != want {
		panic(fmt.Sprintf("table: the kind of %s is for a %s, and the struct has a %s", f.Name, want, t))
	}
}

// Ref is the place of a message in memory.
type Ref struct{ at unsafe.Pointer }

// At returns the place of a message, which panics if the table is not the struct's.
func At[T any](m *Message, message *T) Ref {
	if m.of != reflect.TypeFor[T]() {
		panic("table: the table of " + m.of.String() + " is used for another struct")
	}
	return Ref{unsafe.Pointer(message)}
}

// Inside returns the field of a message as a struct of a package above this one, and panics if it is of another type.
func Inside[T any](f *Field, message Ref) *T {
	if f.of != reflect.TypeFor[T]() {
		panic("table: " + f.Name + " is a " + f.of.String())
	}
	return (*T)(f.at(message))
}

// absent gives a new message the values by which fields are absent that are not Go's zero value.
func (m *Message) absent(message Ref) Ref {
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Kind == OptionalIndex {
			*f.Int(message) = -1
		}
	}
	return message
}

// ByName returns the field of a name in JSON or Avro, nil if there is none.
func (m *Message) ByName(name []byte) *Field { return m.byName[string(name)] }

// Lacks returns a required field that is missing from found; nil if there is none. It does not look at Features, which
// may be looked up elsewhere: their reader decides.
func (m *Message) Lacks(found uint64) *Field {
	lacking := m.required &^ found
	if lacking == 0 {
		return nil
	}
	return &m.Fields[bits.TrailingZeros64(lacking)]
}

// WordNumber returns the number of a word in .proto, 0 if it is none of the field's.
func (f *Field) WordNumber(word string) int {
	for k := len(f.Words) - 1; k > 0; k-- {
		if f.Words[k] == word {
			return k
		}
	}
	return 0
}

// at returns the field's place in a message.
func (f *Field) at(message Ref) unsafe.Pointer { return unsafe.Add(message.at, f.Offset) }

// String returns the place of a string in a message. The methods below do the same for other types; the field's kind
// says which one fits.
func (f *Field) String(message Ref) *string { return (*string)(f.at(message)) }

// Flag is for Bool.
func (f *Field) Flag(message Ref) *bool { return (*bool)(f.at(message)) }

// Int is for Index, OptionalIndex, Count and Int32.
func (f *Field) Int(message Ref) *int { return (*int)(f.at(message)) }

// Long is for Int64.
func (f *Field) Long(message Ref) *int64 { return (*int64)(f.at(message)) }

// Number32 is for Float.
func (f *Field) Number32(message Ref) *float32 { return (*float32)(f.at(message)) }

// Numbers is for Floats.
func (f *Field) Numbers(message Ref) *[]float32 { return (*[]float32)(f.at(message)) }

// Strings is for IDs.
func (f *Field) Strings(message Ref) *[]string { return (*[]string)(f.at(message)) }

// When is for Time and Timestamp.
func (f *Field) When(message Ref) *time.Time { return (*time.Time)(f.at(message)) }

// Inner is for Struct and Group.
func (f *Field) Inner(message Ref) Ref { return Ref{f.at(message)} }

// Target returns the message of a Pointer, and false if there is none.
func (f *Field) Target(message Ref) (Ref, bool) {
	target := *(*unsafe.Pointer)(f.at(message))
	return Ref{target}, target != nil
}

// Alloc gives a Pointer a new message and returns it.
func (f *Field) Alloc(message Ref) Ref { return f.Message.alloc(f.at(message)) }

// Add appends a new message to a List and returns it.
func (f *Field) Add(message Ref) Ref { return f.Message.add(f.at(message)) }

// Elements returns the first message of a List and how many there are.
func (f *Field) Elements(message Ref) (first Ref, n int) {
	list := (*[]byte)(f.at(message)) // any slice has its length here; no bytes are read
	return Ref{unsafe.Pointer(unsafe.SliceData(*list))}, len(*list)
}

// Element returns message k of a List.
func (f *Field) Element(first Ref, k int) Ref {
	return Ref{unsafe.Add(first.at, uintptr(k)*f.Message.size)}
}

// Values returns the list of a Group, which decides whether the group is there.
func (m *Message) Values(message Ref) []float32 {
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Kind == Floats {
			return *f.Numbers(message)
		}
	}
	return nil
}
