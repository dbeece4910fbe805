package table

import (
	"fmt"
	"testing"
	"time"
)

type part struct{ Name string }

type message struct {
	ID      string
	Flag    bool
	Count   int
	Long    int64
	Share   float32
	Shares  []float32
	When    time.Time
	Words   []string
	Part    part
	Parts   []part
	Pointer *part
}

var partTable = New[part]([]Field{{Name: "name", Number: 1, Kind: Text}})

// A row whose kind does not fit its field of the struct ends the program at its start, whatever the two are: readers
// and writers cast by the kind.
func TestWrongRowsPanic(t *testing.T) {
	fits := map[string][]Kind{"id": {ID, NodeID, Text, OptionalText, Word}, "flag": {Bool},
		"count": {Index, OptionalIndex, Count, Int32}, "long": {Int64}, "share": {Float}, "shares": {Floats},
		"when": {Time, Timestamp}, "words": {IDs, Edges}, "part": {Struct}, "parts": {List}, "pointer": {Pointer}}
	for name, kinds := range fits {
		for kind := ID; kind <= Pointer; kind++ {
			if kind == Group { // its fields are the struct's own
				continue
			}
			want := true
			for _, k := range kinds {
				want = want && k != kind
			}
			row := Field{Name: name, Number: 4, Kind: kind, Message: partTable}
			if got := panics(func() { New[message]([]Field{row}) }); got != want {
				t.Errorf("%s of kind %d: panic %v, want %v", name, kind, got, want)
			}
		}
	}
	if !panics(func() { New[message]([]Field{{Name: "other", Kind: Group, Message: partTable}}) }) {
		t.Error("a group of another struct's fields is taken")
	}
}

// A table is used for its own struct only.
func TestWrongMessagesPanic(t *testing.T) {
	m := New[message]([]Field{{Name: "id", Number: 1, Kind: ID}, {Name: "part", Number: 2, Kind: Struct, Message: partTable}})
	v := message{ID: "x", Part: part{"y"}}
	if got := *m.Fields[0].String(At(m, &v)); got != "x" {
		t.Errorf("the id is %q", got)
	}
	if got := Inside[part](&m.Fields[1], At(m, &v)); got != &v.Part {
		t.Errorf("the part is %+v", got)
	}
	if !panics(func() { At(m, &v.Part) }) {
		t.Error("a table is taken for another struct")
	}
	if !panics(func() { Inside[message](&m.Fields[1], At(m, &v)) }) {
		t.Error("a field is taken for another type")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = fmt.Sprint(recover()) != "<nil>" }()
	f()
	return false
}
