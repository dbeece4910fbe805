package replay

import (
	"slices"
	"testing"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/graph"
	"rivulet/schema"
	"rivulet/test/expect"
)

// A data set with columns is replayed by name, and a schema makes the rows of it that it makes of the table.
func TestNodesWithColumnsAreReplayedByName(t *testing.T) {
	d := &dataset.Dataset{IDs: []string{"a", "b"}, Adj: graph.NewCSR(2, 2, nil), Test: []int32{1},
		Columns: []schema.Column{{Name: "n", Type: schema.Number, Numbers: []float64{1.5, 0}, Missing: []bool{false, true}},
			{Name: "c", Type: schema.Text, Texts: []string{"x", "y"}}}}
	s, err := schema.Fit(d.Columns, []int32{0, 1}, schema.FitOptions{MinCount: 1,
		Kinds: map[string]string{"c": "category"}})
	expect.OK(t, err)
	table, err := s.EncodeColumns(d.Columns)
	expect.OK(t, err)
	stream := TestNodes(d)
	a := stream.Arrival(0, time.Unix(0, 0))
	for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		record, err := codec.AppendArrival(nil, &a)
		expect.OK(t, err)
		var got event.Arrival
		expect.OK(t, codec.DecodeArrival(record, &got))
		expect.OK(t, got.Features.Encode(s))
		if want := table.Dense[s.Width():]; got.ID != "b" || !slices.Equal(got.Features.Values, want) {
			t.Errorf("%s: %v, want %v", codec.ContentType(), got.Features.Values, want)
		}
	}
}
