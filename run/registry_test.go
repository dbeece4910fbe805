package run

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/read"
	"rivulet/internal/devstack"
	"rivulet/run/connect"
	_ "rivulet/run/parts" // they register themselves
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// outage is a registry in this process that can be away.
type outage struct {
	*srfake.Registry
	down atomic.Bool
}

func newOutage(t *testing.T) *outage {
	o := &outage{Registry: srfake.New()}
	t.Cleanup(o.Close)
	o.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if o.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return o.down.Load()
	})
	return o
}

// registryVariable names the address of a real registry, in which the test uses subjects of its own.
const registryVariable = "RIVULET_TEST_REGISTRY"

// registryAway is a registry that can be away: the real one behind a network that is cut, if registryVariable names
// one, else one in this process.
type registryAway struct {
	url      string
	register func(subject, schema string) (id int)
	away     func(bool)
}

func newRegistryAway(t *testing.T) registryAway {
	t.Helper()
	address := os.Getenv(registryVariable)
	if address == "" {
		fake := newOutage(t)
		return registryAway{fake.URL(), func(subject, schema string) int {
			id, _, err := fake.RegisterSchema(subject, sr.Schema{Schema: schema})
			expect.OK(t, err)
			return id
		}, fake.down.Store}
	}
	at, err := url.Parse(address)
	expect.OK(t, err)
	client, err := sr.NewClient(sr.URLs(address))
	expect.OK(t, err)
	proxy, err := harness.NewProxy(t.Context())
	expect.OK(t, err)
	proxy.Serve(t.Context(), at.Host)
	t.Cleanup(proxy.Close)
	at.Host = proxy.Addr()
	return registryAway{at.String(), func(subject, schema string) int {
		made, err := client.CreateSchema(t.Context(), subject, sr.Schema{Schema: schema})
		expect.OK(t, err)
		return made.ID
	}, func(away bool) {
		state := harness.Passing
		if away {
			state = harness.Refused
		}
		proxy.Set(state)
	}}
}

// brokersOf are those of a real broker, if RIVULET_TEST_KAFKA_DIR names the directory of one, else of the embedded one.
func brokersOf(t *testing.T) []string {
	t.Helper()
	if dir := os.Getenv("RIVULET_TEST_KAFKA_DIR"); dir != "" {
		port, err := os.ReadFile(filepath.Join(dir, "port"))
		expect.OK(t, err)
		return []string{"127.0.0.1:" + strings.TrimSpace(string(port))}
	}
	k, err := devstack.StartKafka(devstack.KafkaOptions{Brokers: 2})
	expect.OK(t, err)
	t.Cleanup(k.Close)
	return k.Addrs()
}

// The registry is stopped in mid-stream, the consumer is replaced by one that knows no schema, and records of a new
// schema come: nothing is lost, nothing is a dead letter, and the order of each key stays.
func TestRegistryAwayInMidStream(t *testing.T) {
	server, brokers := newRegistryAway(t), brokersOf(t)
	cfg, ids := pinnedConfig(t, brokers...)
	suffix := fmt.Sprint("-", time.Now().UnixNano())
	cfg.Kafka.Group += suffix
	cfg.Kafka.Topics = config.Topics{Arrivals: "in" + suffix, Predictions: "out" + suffix, DeadLetters: "dead" + suffix}
	cfg.Input.Format, cfg.Registry.URLs = config.Confluent, []string{server.url}
	cfg.Output.Format, cfg.Output.Registry = "avro", config.RegistryRegister
	k, err := harness.NewKafka(brokers...)
	expect.OK(t, err)
	defer k.Close()
	topics := cfg.Kafka.Topics
	if err := k.MakeTopics(t.Context(), map[string]int{topics.Arrivals: 3, topics.Predictions: 3,
		topics.DeadLetters: 1}); err != nil {
		t.Fatal(err)
	}
	size := func(topic string) (n int64) {
		ends, err := k.ListEndOffsets(t.Context(), topic)
		expect.OK(t, err)
		for _, p := range ends[topic] {
			n += p.Offset
		}
		return n
	}
	first := server.register(topics.Arrivals+"-value", event.ArrivalAvro)
	// The second version has another field, which has a default.
	second := server.register(topics.Arrivals+"-value", strings.Replace(event.ArrivalAvro, `"fields": [`,
		`"fields": [{"name": "region", "type": ["null", "string"], "default": null},`, 1))
	if second == first {
		t.Fatalf("both schemas are %d", first)
	}
	sent := 0
	send := func(schema, n int) {
		t.Helper()
		for range n {
			a := event.Arrival{ID: fmt.Sprint("new-", sent), Features: event.Features{Values: []float32{1, 2, 3}},
				Edges: ids[sent%len(ids):]}
			value := read.AppendConfluentHead(nil, uint32(schema))
			if schema == second {
				value = append(value, 0) // region is null
			}
			if value, err = (avro.Codec{}).AppendArrival(value, &a); err != nil {
				t.Fatal(err)
			}
			r := &kgo.Record{Topic: topics.Arrivals, Key: fmt.Append(nil, "key-", sent%7), Value: value}
			expect.OK(t, k.Raw.ProduceSync(t.Context(), r).FirstErr())
			sent++
		}
	}
	end := run(t, cfg)
	send(first, 100)
	await(t, func() bool { return size(topics.Predictions) == 100 })
	server.away(true)
	send(first, 50) // whose schema is known
	await(t, func() bool { return size(topics.Predictions) == 150 })
	send(second, 100)
	send(first, 50)
	if err := end(); err != nil { // while partitions wait
		t.Fatal(err)
	}
	if n := size(topics.Predictions); n > 300 {
		t.Fatalf("%d predictions", n)
	}
	end = run(t, cfg) // with a cold cache; it waits for the schema of its output first
	send(second, 50)
	time.Sleep(time.Second)
	if n := size(topics.Predictions); n != 150 {
		t.Errorf("%d predictions while the registry is away, want 150", n)
	}
	server.away(false)
	await(t, func() bool { return size(topics.Predictions) >= int64(sent) })
	expect.OK(t, end())
	if n := size(topics.DeadLetters); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	checkOrder(t, brokers, topics.Predictions, sent)
	t.Logf("%d dead letters; %d predictions before the outage's end, %d after", size(topics.DeadLetters), 150, sent-150)
}

// checkOrder reads all predictions: each arrival once or more, each key in the order of its arrivals.
func checkOrder(t *testing.T, brokers []string, topic string, sent int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic))
	expect.OK(t, err)
	defer client.Close()
	ids, last := map[string]bool{}, map[string]int{}
	for seen := 0; seen < sent; {
		fetches := client.PollFetches(t.Context())
		expect.OK(t, fetches.Err())
		for _, r := range fetches.Records() {
			seen++
			var p event.Prediction
			expect.OK(t, (avro.Codec{}).DecodePrediction(r.Value[len(read.AppendConfluentHead(nil, 0)):], &p))
			var n int
			if _, err := fmt.Sscanf(p.ID, "new-%d", &n); err != nil {
				t.Fatal(err)
			}
			if before, is := last[string(r.Key)]; is && n < before {
				t.Errorf("%s: arrival %d after %d", r.Key, n, before)
			}
			ids[p.ID], last[string(r.Key)] = true, n
			if ct := read.ContentTypeOf(headersOf(r)); ct != read.ConfluentContentType("avro") {
				t.Errorf("content-type %q", ct)
			}
		}
	}
	t.Logf("%d arrivals, lost %d, keys %d", sent, sent-len(ids), len(last))
	if len(ids) != sent {
		t.Errorf("%d of %d arrivals are predicted", len(ids), sent)
	}
}

func headersOf(r *kgo.Record) (headers []event.Header) {
	for _, h := range r.Headers {
		headers = append(headers, event.Header{Key: h.Key, Value: h.Value})
	}
	return headers
}

// What consumer check says of a registry.
func TestCheckOfTheRegistry(t *testing.T) {
	server := newOutage(t)
	cfg := config.Default[config.Consumer]()
	cfg.Registry.URLs, cfg.Registry.Username, cfg.Registry.Password = []string{server.URL()}, "me", "geheim"
	if r := checkRegistry(t.Context(), cfg); r.State != "ok" {
		t.Errorf("%s", r)
	}
	cfg.Output.Registry = config.RegistryLookup
	if r := checkRegistry(t.Context(), cfg); r.State == "ok" || !strings.Contains(r.Do, "register") {
		t.Errorf("%s", r)
	}
	server.down.Store(true)
	if r := checkRegistry(t.Context(), cfg); r.State == "ok" || strings.Contains(r.String(), "geheim") {
		t.Errorf("%s", r)
	}
	cfg.Registry.PasswordFile, cfg.Registry.Password = filepath.Join(t.TempDir(), "none"), ""
	known, err := connect.Registry(cfg.Registry)
	expect.Error(t, err, "registry.password_file", "%v,", known)
}
