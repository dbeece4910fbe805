package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/run/connect"
	"rivulet/schema"
	"rivulet/serving"
	"rivulet/test/expect"
)

// naming is an artifact whose positions are those of a number and a category.
func naming(t *testing.T, seed uint64, version, categories string) *artifact.Bundle {
	t.Helper()
	s, err := schema.Parse([]byte(
		`{"schema_version":1,"seed":0,"features":[{"name":"age","kind":"number","missing":"mean","mean":[3]},` +
			`{"name":"plan","kind":"category","missing":"zero","categories":[` + categories + `]}]}`))
	expect.OK(t, err)
	b := artifacttest.Bundle(seed, artifacttest.Size{Nodes: 30, Synthetic: 7, Features: s.Width(), Classes: 3})
	b.Schema, b.Manifest.Version = s, version
	expect.OK(t, b.Seal())
	return b
}

// A running consumer takes over a version whose schema was fitted anew: arrivals by name are predicted before and
// after, each by the schema of the version that predicts, and those by the old schema's positions become dead letters.
func TestASchemaFittedAnewTakesOverInMidStream(t *testing.T) {
	first, second := naming(t, 1, "v1", `"gold","silver"`), naming(t, 2, "v2", `"bronze","gold","platinum","silver"`)
	cfg := stackOf(t, first)
	cfg.Redis.PollInterval = 10 * time.Millisecond
	end, done := running(t, cfg)
	old := kgo.RecordHeader{Key: event.HeaderSchema, Value: []byte(first.Schema.Hash())}
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...),
		kgo.ConsumeTopics(cfg.Kafka.Topics.Predictions, cfg.Kafka.Topics.DeadLetters), kgo.FetchMaxWait(50*time.Millisecond))
	expect.OK(t, err)
	defer client.Close()
	// answers sends two arrivals by name and two by the first schema's positions, and returns what becomes of each.
	answers := func(round string) map[string]string {
		var records []*kgo.Record
		for k, features := range []string{`{"named":{"age":41.5,"plan":"gold"}}`, `{"named":{"plan":"silver","age":null}}`,
			"[41.5" + strings.Repeat(",0", first.Schema.Width()-1) + "]", "[3" + strings.Repeat(",1", first.Schema.Width()-1) +
				"]"} {
			id := fmt.Sprintf("%s%d", round, k)
			records = append(records, &kgo.Record{Topic: cfg.Kafka.Topics.Arrivals, Headers: []kgo.RecordHeader{old},
				Key:   []byte(id),
				Value: fmt.Appendf(nil, `{"id":%q,"features":%s,"edges":[%q]}`, id, features, first.Mapping.IDs[k])})
		}
		expect.OK(t, client.ProduceSync(t.Context(), records...).FirstErr())
		got := map[string]string{}
		for len(got) < len(records) {
			fetches := client.PollFetches(t.Context())
			expect.OK(t, fetches.Err())
			fetches.EachRecord(func(r *kgo.Record) {
				if r.Topic == cfg.Kafka.Topics.DeadLetters {
					got[string(r.Key)] = "dead"
					for _, h := range r.Headers {
						if h.Key == event.HeaderReason {
							got[string(r.Key)] = "dead: " + string(h.Value)
						}
					}
					return
				}
				var p event.Prediction
				if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
					t.Error(err)
				}
				got[p.ID] = p.Artifact
			})
		}
		return got
	}
	expect.Same(t, map[string]string{"a0": "v1", "a1": "v1", "a2": "v1", "a3": "v1"}, answers("a"), "before")
	if err := connect.WithPublisher(cfg.Redis.RedisServer, func(p *serving.Publisher) error {
		return p.Publish(t.Context(), second, serving.PublishOptions{OtherData: true}) // positions move
	}); err != nil {
		t.Fatal(err)
	}
	for round := 0; ; round++ { // the version takes over between two batches
		got := answers(fmt.Sprintf("b%d-", round))
		if got[fmt.Sprintf("b%d-0", round)] == "v1" && round < 1000 {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		break
	}
	dead := "dead: " + event.ReasonSchema
	expect.Same(t, map[string]string{"c0": "v2", "c1": "v2", "c2": dead, "c3": dead}, answers("c"), "after")
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
