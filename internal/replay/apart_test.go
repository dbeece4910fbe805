package replay

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// Arrivals whose edges come apart say how many they have, and together with these have the edges that they had, under
// one key; the records are mixed.
func TestEdgesApart(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 3}})
	expect.OK(t, err)
	defer k.Close()
	client, err := kafka.Connect(kafka.Options{Brokers: k.Addrs()})
	expect.OK(t, err)
	defer client.Close()
	want := map[string][]event.Edge{}
	for n, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		sink, err := NewTopic(client, "arrivals", "", slog.New(slog.DiscardHandler))
		expect.OK(t, err)
		sink.In(codec)
		sink.Apart(rand.New(rand.NewPCG(1, uint64(n))), nil)
		var arrivals []event.Arrival
		for i := range 50 {
			a := event.Arrival{ID: fmt.Sprint(n, "-", i), Features: event.Features{Values: []float32{1}},
				Time: time.UnixMilli(7)}
			for e := range i % 5 {
				edge := event.Edge{Source: a.ID, Target: fmt.Sprint("t", e), Weight: 1}
				switch i % 3 {
				case 0:
					edge.Weight = float32(e) + 0.5
					a.Weights = append(a.Weights, edge.Weight)
					a.Edges = append(a.Edges, edge.Target)
				case 1:
					a.Edges = append(a.Edges, edge.Target)
				case 2:
					edge = event.Edge{Source: edge.Target, Target: a.ID, Weight: 1, In: true}
					a.Incoming = append(a.Incoming, edge.Source)
				}
				want[a.ID] = append(want[a.ID], edge)
			}
			arrivals = append(arrivals, a)
		}
		expect.OK(t, sink.Send(t.Context(), arrivals))
	}
	reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: "arrivals"}, retry.Patience{})
	expect.OK(t, err)
	forms, got, nodes, early := read.Reader{}, map[string][]event.Edge{}, map[string]bool{}, 0
	_, err = reader.ToEnd(t.Context(), nil, func(r kafka.Record) error {
		var e event.Edge
		if is, err := readtest.Edge(&forms, r.Headers, r.Value, &e); is {
			id, _ := e.Ends()
			if got[id] = append(got[id], e); !nodes[id] {
				early++
			}
			if string(r.Key) != id || r.Time.UnixMilli() != 7 {
				t.Errorf("edge %+v: key %s, time %v", e, r.Key, r.Time)
			}
			return err
		}
		var a event.Arrival
		if err := readtest.Arrival(&forms, r.Headers, r.Value, &a); err != nil {
			return err
		}
		if nodes[a.ID] = true; a.EdgeCount != len(want[a.ID]) || len(a.Edges) > 0 {
			t.Errorf("%+v, want %d edges apart", a, len(want[a.ID]))
		}
		return nil
	})
	expect.OK(t, err)
	for _, edges := range got {
		slices.SortFunc(edges, byNeighbour)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-sent +read):\n%s", diff)
	}
	if len(nodes) != 100 || early == 0 || early == 200 {
		t.Errorf("%d arrivals, %d edges before theirs", len(nodes), early)
	}
}

// Edges on a topic of their own are rows of a table: without a key, and an edge between two arrivals once.
func TestEdgesOfATable(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"accounts": 2, "transfers": 3}})
	expect.OK(t, err)
	defer k.Close()
	client, err := kafka.Connect(kafka.Options{Brokers: k.Addrs()})
	expect.OK(t, err)
	defer client.Close()
	var sinks []*Topic
	for _, name := range []string{"accounts", "transfers"} {
		sink, err := NewTopic(client, name, "", slog.New(slog.DiscardHandler))
		expect.OK(t, err)
		sinks = append(sinks, sink)
	}
	sinks[0].Apart(rand.New(rand.NewPCG(1, 2)), sinks[1])
	features := event.Features{Values: []float32{1}}
	for _, sent := range [][]event.Arrival{
		{{ID: "a", Features: features, Edges: []string{"b", "t1"}}, {ID: "b", Features: features, Edges: []string{"a"}}},
		{{ID: "c", Features: features, Edges: []string{"a"}, Incoming: []string{"b"}},
			{ID: "d", Features: features, Edges: []string{"a"}, Incoming: []string{"a"}}}, // two edges
	} {
		expect.OK(t, sinks[0].Send(t.Context(), sent))
	}
	var got []string
	counts := map[string]int{}
	for _, topic := range []string{"accounts", "transfers"} {
		reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: topic}, retry.Patience{})
		expect.OK(t, err)
		_, err = reader.ToEnd(t.Context(), nil, func(r kafka.Record) error {
			var e event.Edge
			if is, err := readtest.Edge(&read.Reader{}, r.Headers, r.Value, &e); is {
				if got = append(got, e.Source+"-"+e.Target); r.Key != nil || e.In || topic != "transfers" {
					t.Errorf("%s: key %q, %+v", topic, r.Key, e)
				}
				return err
			}
			var a event.Arrival
			err := readtest.Arrival(&read.Reader{}, r.Headers, r.Value, &a)
			counts[a.ID] = a.EdgeCount
			return err
		})
		expect.OK(t, err)
	}
	slices.Sort(got)
	if want := []string{"a-b", "a-d", "a-t1", "b-c", "c-a", "d-a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	expect.Same(t, map[string]int{"a": 2, "b": 1, "c": 2, "d": 2}, counts, "edge_count")
}

// byNeighbour orders the edges of an arrival by the neighbour.
func byNeighbour(a, b event.Edge) int {
	_, x := a.Ends()
	_, y := b.Ends()
	return strings.Compare(x, y)
}
