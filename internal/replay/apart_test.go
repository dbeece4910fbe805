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
	"rivulet/event/form"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Arrivals whose edges come apart say how many they have, and together with these have the edges that they had, under
// one key; the records are mixed.
func TestEdgesApart(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	client, err := kafka.Connect(kafka.Options{Brokers: k.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	want := map[string][]event.Edge{}
	for n, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
		sink, err := NewTopic(client, "arrivals", "", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
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
		if err := sink.Send(t.Context(), arrivals); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: "arrivals"}, retry.Patience{})
	if err != nil {
		t.Fatal(err)
	}
	forms, got, nodes, early := form.Reader{}, map[string][]event.Edge{}, map[string]bool{}, 0
	_, err = reader.ToEnd(t.Context(), nil, func(r kafka.Record) error {
		var e event.Edge
		if is, err := forms.Edge(r.Headers, r.Value, &e); is {
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
		if err := forms.Arrival(r.Headers, r.Value, &a); err != nil {
			return err
		}
		if nodes[a.ID] = true; a.EdgeCount != len(want[a.ID]) || len(a.Edges) > 0 {
			t.Errorf("%+v, want %d edges apart", a, len(want[a.ID]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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

// byNeighbour orders the edges of an arrival by the neighbour.
func byNeighbour(a, b event.Edge) int {
	_, x := a.Ends()
	_, y := b.Ends()
	return strings.Compare(x, y)
}
