package protobuf

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/fields"
	"rivulet/test/expect"
)

// The plain reader reads the same as the walk over any form, whatever bytes of a plain record are damaged.
func TestPlainProtobufIsDecoded(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 5000, time.UTC)
	for _, a := range []event.Arrival{
		{ID: "p", Features: event.Features{Values: []float32{1, 2}}},
		{ID: "p17", Features: event.Features{Sparse: true, Indices: []int32{3, 400}, Values: []float32{1, 2}},
			Edges: []string{"a", "ä", "p4"}, Time: at},
		{ID: strings.Repeat("x", 300), Features: event.Features{Values: make([]float32, 200)},
			Edges: []string{strings.Repeat("y", 127)}},
	} {
		data, err := Codec{}.AppendArrival(nil, &a)
		expect.OK(t, err)
		if !requirePlainAgrees(t, data) {
			t.Errorf("%x is not read as a plain record", data)
		}
		for k := range data {
			for _, b := range []byte{0, 1, 0x22, 0x7f, 0x80, 0xff, data[k] ^ 1, data[k] + 8} {
				damaged := slices.Clone(data)
				damaged[k] = b
				requirePlainAgrees(t, damaged)
				requirePlainAgrees(t, damaged[:k])
				requirePlainAgrees(t, slices.Concat(data, damaged[:k]))
				requirePlainAgrees(t, slices.Concat(damaged[k:], data))
			}
		}
	}
}

// requirePlainAgrees reports whether a record is plain, and fails if the walk reads another one.
func requirePlainAgrees(t *testing.T, data []byte) (plain bool) {
	t.Helper()
	got, want := eventtest.UsedArrival(), eventtest.UsedArrival()
	met, ok := plainArrival(data, &got, false)
	if !ok {
		return false
	}
	err := walkArrival(data, &want)
	if lacking := met&metFeatures == 0; err != nil && !(lacking && errors.Is(err, event.ErrNoFeatures)) {
		t.Fatalf("%x is plain, but %v", data, err)
	} else if lacking {
		got.Features, want.Features = event.Features{}, event.Features{}
	}
	eventtest.RequireSameArrival(t, &want, &got)
	return true
}

// Forms that the plain one leaves to the walk.
func TestProtobufThatIsNotPlain(t *testing.T) {
	a := event.Arrival{ID: "p", Features: event.Features{Values: []float32{1}}, Edges: []string{"a", "b"}}
	plain, err := Codec{}.AppendArrival(nil, &a)
	expect.OK(t, err)
	edge := func(id string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, fields.NumberEdges, protowire.BytesType), id)
	}
	long := strings.Repeat("z", 200)
	for name, c := range map[string]struct {
		data  []byte
		edges []string
	}{
		"an edge behind other fields": {slices.Concat(edge("c"), plain), []string{"c", "a", "b"}},
		"a long id":                   {slices.Concat(plain, edge(long)), []string{"a", "b", long}},
		"an unknown field":            {slices.Concat([]byte{15 << 3, 1}, plain), []string{"a", "b"}},
	} {
		var got event.Arrival
		if _, ok := plainArrival(c.data, &got, false); ok {
			t.Errorf("%s: read as a plain record", name)
		}
		if err := (Codec{}).DecodeArrival(c.data, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(got.Edges, c.edges) {
			t.Errorf("%s: edges %q, want %q", name, got.Edges, c.edges)
		}
	}
}
