package app

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/check"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// tables are the shapes in which rows of two tables come, and the settings that read them.
var tables = map[string]struct {
	node, edge string // formats of id, features and number of edges; of two ids
	settings   func(*config.Consumer)
}{
	"json": {`{"id":%q,"features":%s,"edge_count":%d}`, `{"from":%q,"to":%q}`, func(cfg *config.Consumer) {
		cfg.Repartition.Mapping.Source, cfg.Repartition.Mapping.Target = "/from", "/to"
		cfg.Delivery = config.ExactlyOnce
	}},
	"debezium": {`{"op":"c","before":null,"after":{"key":%q,"features":%s,"degree":%d}}`,
		`{"op":"r","after":{"id":7,"source":%q,"target":%q,"weight":null}}`, func(cfg *config.Consumer) {
			cfg.Input.Mapping.Preset, cfg.Repartition.Mapping.Preset = "debezium", "debezium"
			cfg.Input.Mapping.ID, cfg.Input.Mapping.EdgeCount = "/key", "/degree"
		}},
	"connect": {`{"id":%q,"features":%s,"edge_count":%d,"__op":"c"}`,
		`{"schema":{"type":"struct"},"payload":{"from_id":%q,"to_id":%q}}`, func(cfg *config.Consumer) {
			cfg.Input.Mapping.Preset = "connect"
			cfg.Repartition.Mapping = config.EdgeMapping{Preset: "connect", Source: "/from_id", Target: "/to_id"}
		}},
}

// Two tables as two topics, each with its own key and number of partitions, give the predictions of whole arrivals, bit
// for bit.
func TestTwoTablesAreWholeArrivals(t *testing.T) {
	for name, shape := range tables {
		t.Run(name, func(t *testing.T) {
			k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"whole": 2, "whole-predictions": 1,
				"accounts": 3, "transfers": 2, "arrivals": 4, "predictions": 2, "arrivals.dead-letters": 1}})
			expect.OK(t, err)
			defer k.Close()
			cfg, ids := pinnedConfig(t, k.Addrs()...)
			cfg.Output.Logits, cfg.Attach.Wait, cfg.Attach.Unmatched = true, time.Minute, config.Drop
			arrivals, edges := drawTables(rand.New(rand.NewPCG(3, 4)), ids)

			whole := cfg
			whole.Kafka.Group, whole.Kafka.Topics.Arrivals, whole.Kafka.Topics.Predictions = "w", "whole", "whole-predictions"
			var records []kafka.Record
			for i := range arrivals {
				value, _ := json.Codec{}.AppendArrival(nil, &arrivals[i])
				records = append(records, kafka.Record{Key: []byte(arrivals[i].ID), Value: value, Time: time.UnixMilli(1e12)})
			}
			sendRecords(t, cfg, "whole", records)
			want := predictionsOf(t, whole, len(arrivals))

			shape.settings(&cfg)
			cfg.Repartition.Nodes, cfg.Repartition.Edges = []string{"accounts"}, []string{"transfers"}
			if wrong := Lint(cfg); len(wrong) > 0 {
				t.Fatal(wrong)
			}
			records = nil
			for i := range arrivals {
				a := &arrivals[i]
				features := strings.ReplaceAll(fmt.Sprint(a.Features.Values), " ", ",")
				records = append(records, kafka.Record{Key: fmt.Append(nil, i), Time: time.UnixMilli(1e12 + int64(i)),
					Value: fmt.Appendf(nil, shape.node, a.ID, features, len(a.Edges))})
			}
			sendRecords(t, cfg, "accounts", records)
			records = nil
			for i, e := range edges {
				records = append(records, kafka.Record{Key: fmt.Append(nil, -i), Time: time.UnixMilli(1e12 + int64(i)),
					Value: fmt.Appendf(nil, shape.edge, e[0], e[1])})
			}
			sendRecords(t, cfg, "transfers", records)
			if diff := cmp.Diff(want, predictionsOf(t, cfg, len(arrivals))); diff != "" {
				t.Errorf("(-whole arrivals +two tables):\n%s", diff)
			}
			checkTables(t, cfg)
		})
	}
}

// drawTables returns arrivals whose edges lead to nodes of T, to each other and to nobody, and each edge once.
func drawTables(r *rand.Rand, ids []string) (arrivals []event.Arrival, edges [][2]string) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprint("new-", i)
	}
	others := slices.Concat(ids, names, []string{"nobody"})
	seen, of := map[[2]string]bool{}, map[string][]string{}
	for range 150 {
		a, b := names[r.IntN(len(names))], others[r.IntN(len(others))]
		if a == b || seen[[2]string{a, b}] || seen[[2]string{b, a}] {
			continue
		}
		seen[[2]string{a, b}] = true
		of[a], of[b] = append(of[a], b), append(of[b], a)
		if r.IntN(2) == 0 {
			a, b = b, a
		}
		edges = append(edges, [2]string{a, b})
	}
	for i, id := range names {
		arrivals = append(arrivals, event.Arrival{ID: id, Edges: of[id], EdgeCount: len(of[id]),
			Features: event.Features{Values: []float32{float32(i) / 4, 1, -2}}})
	}
	return arrivals, edges
}

func sendRecords(t *testing.T, cfg config.Consumer, topic string, records []kafka.Record) {
	t.Helper()
	client, err := ConnectKafka(cfg.Kafka.Brokers, topic)
	expect.OK(t, err)
	defer client.Close()
	sink, err := kafka.NewSink(client, "", retry.Patience{})
	if err == nil {
		err = sink.Send(t.Context(), topic, records)
	}
	expect.OK(t, err)
}

// predictionsOf runs a consumer until there are n predictions, and returns them without what tells a run from another.
func predictionsOf(t *testing.T, cfg config.Consumer, n int) map[string]event.Prediction {
	t.Helper()
	end := run(t, cfg)
	client, err := ConnectKafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Predictions)
	expect.OK(t, err)
	defer client.Close()
	reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: cfg.Kafka.Topics.Predictions}, retry.Patience{})
	expect.OK(t, err)
	got := map[string]event.Prediction{}
	all := 0
	await(t, func() bool {
		all = 0
		_, err := reader.ToEnd(t.Context(), nil, func(r kafka.Record) error {
			var p event.Prediction
			err := json.Codec{}.DecodePrediction(r.Value, &p)
			all++
			got[p.ID] = event.Prediction{Class: p.Class, Probability: p.Probability, Logits: p.Logits, Known: p.Known,
				Unknown: p.Unknown}
			return err
		})
		expect.OK(t, err)
		return all >= n
	})
	if err := end(); err != nil {
		t.Error(err)
	}
	if all != n || len(got) != n {
		t.Errorf("%d predictions of %d arrivals, want %d", all, len(got), n)
	}
	return got
}

// checkTables has consumer check look at both groups and their topics.
func checkTables(t *testing.T, cfg config.Consumer) {
	t.Helper()
	found := map[string]bool{}
	_, failed, err := Check(t.Context(), cfg, func(r check.Result) {
		if found[r.What] = true; r.State != check.OK {
			t.Errorf("%v", r)
		}
	})
	if err != nil || failed > 0 {
		t.Errorf("%d checks failed: %v", failed, err)
	}
	for _, what := range []string{"kafka topic accounts", "kafka topic transfers", "kafka topic arrivals",
		"kafka group rivulet-repartition", "kafka transactional id rivulet-repartition:transfers:0"} {
		if !found[what] {
			t.Errorf("nothing about %s among %v", what, found)
		}
	}
}
