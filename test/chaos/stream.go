package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/chaos/labels"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/member"
	"rivulet/test/chaos/oracle"
	"rivulet/test/chaos/record"
)

const (
	sessionTimeout = 6 * time.Second // the least that brokers allow by default
	batchSize      = 32
	lanes          = 5 // of a consumer
	partitions     = 3
	keys           = 60
	rowsLive       = 5 * time.Second // rows of arrivals, at least; shorter than an arrival takes to come again
)

// kind is the configuration of a stream.
type kind struct {
	delivery, outage string
	growth           bool                 // attach.arrivals
	mode             string               // of batches: node, graph
	codec            kgo.CompressionCodec // of arrivals
	merged           bool                 // refreshes read its arrivals: they are neither deleted nor made anew
	forms            []record.Form        // of arrivals; the first one is JSON
	output           string               // output.format of predictions
	labelled         bool                 // some arrivals have labels
}

func (k kind) String() string { return k.delivery + ", " + k.outage }

// kinds are the streams of a run.
var kinds = []kind{
	{delivery: "at_least_once", outage: "wait", growth: true, mode: "node", codec: kgo.GzipCompression(),
		forms: []record.Form{record.JSON, record.ByAvro, record.ByProto, record.ByJSON}, output: "json", labelled: true},
	{delivery: "at_least_once", outage: "degrade", mode: "node", codec: kgo.SnappyCompression(), merged: true,
		forms: []record.Form{record.JSON, record.Protobuf, record.Avro}, output: "protobuf"},
	{delivery: "exactly_once", outage: "wait", mode: "graph", codec: kgo.Lz4Compression(),
		forms: []record.Form{record.Mapped, record.Absent, record.Protobuf}, output: "avro"},
	{delivery: "exactly_once", outage: "degrade", growth: true, mode: "node", codec: kgo.ZstdCompression(),
		forms: []record.Form{record.JSON, record.Avro, record.ByAvro}, output: "json", labelled: true},
}

// kinds returns the streams that were asked for.
func (w *world) kinds() (some []kind) {
	for _, k := range kinds {
		if strings.Contains(k.String(), w.streams) {
			some = append(some, k)
		}
	}
	return some
}

// stream is a load, the consumers of one group, and a reader.
type stream struct {
	kind
	world   *world
	name    string
	ledger  *ledger.Ledger
	members [members]*member.Member
	configs [members]string
	rng     *rand.Rand   // of the load
	failed  chan<- error // is told of a consumer that ended by itself, and of arrivals that could not be sent
	broken  atomic.Bool  // a consumer has ended by itself

	stamped atomic.Int64 // arrivals with the broker's time
	stepped atomic.Int64 // predictions whose time is far from this machine's

	window  atomic.Int64
	settled atomic.Bool
	shares  shares

	sending sync.Mutex // held to send nothing
	sender  *kgo.Client
	sent    int          // arrivals
	fresh   atomic.Int64 // arrivals of the world that were sent, from the first

	transacting  sync.Mutex // held by a transaction that is under way, and to write none
	transactions ledger.Transactions
	labels       *labels.Labels // nil: none

	mu       sync.Mutex
	lives    []time.Time   // when each life of the topic of arrivals began
	answers  func()        // stops the reader of answers; nil: there is none
	arrivals func()        // stops the reader of arrivals of the present life
	codecs   map[uint8]int // compressed arrivals that were read, by codec
	oracle   bool          // predictions are kept for the oracle
	said     []oracle.Said // these
}

// shares are how many of a hundred arrivals are unlike others.
type shares struct {
	poisoned atomic.Int64
	padded   atomic.Int64 // to a size between their own and the limit
	keyless  atomic.Int64
}

// newStream makes the topics and configurations of a stream. It starts nothing but the clients' connections.
func newStream(ctx context.Context, w *world, k kind, seed uint64, failed chan<- error) (*stream, error) {
	s := &stream{kind: k, world: w, name: strings.ReplaceAll(k.delivery, "_", "-") + "-" + k.outage, failed: failed,
		rng: rand.New(rand.NewPCG(w.seed, seed)), codecs: map[uint8]int{}}
	s.ledger = ledger.New(k.delivery == "exactly_once", k.outage == "degrade", w.expected)
	topics := map[string]int{s.topic("arrivals"): partitions, s.topic("predictions"): partitions, s.topic("letters"): 1}
	if k.labelled {
		s.labels, topics[s.topic("labels")] = new(labels.Labels), 1
	}
	if err := w.Kafka.MakeTopics(ctx, topics); err != nil {
		return nil, err
	}
	s.lives = []time.Time{time.Now().Truncate(time.Millisecond)}
	for i := range members {
		var ways []string
		for _, p := range w.KafkaWays[i] {
			ways = append(ways, p.Addr())
		}
		s.configs[i] = s.config(i, ways, w.RedisWays[i].Addr(), "127.0.0.1:0")
		if err := s.newMember(i, s.configs[i]); err != nil {
			return nil, err
		}
	}
	return s, s.connect()
}

// startOffset has member i begin there from its next start on, if its group has no offsets.
func (s *stream) startOffset(i int, at string) error {
	text := strings.Replace(s.configs[i], "kafka:\n", "kafka:\n  start_offset: "+at+"\n", 1)
	return os.WriteFile(s.members[i].Config, []byte(text), 0o600)
}

// connect makes the client that sends.
func (s *stream) connect() (err error) {
	s.sender, err = kgo.NewClient(kgo.SeedBrokers(s.world.Kafka.Addrs...), kgo.MaxBufferedRecords(1<<20),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(s.codec), kgo.MetadataMinAge(200*time.Millisecond),
		kgo.MetadataMaxAge(time.Second),
		kgo.UnknownTopicRetries(-1)) // the topics are new
	return err
}

func (s *stream) topic(of string) string { return s.name + "." + of }

// client returns the name by which a member is known to the brokers.
func (s *stream) client(which int) string { return s.name + "-" + strconv.Itoa(which) }

// newMember makes member i with a configuration.
func (s *stream) newMember(i int, config string) error {
	file := s.client(i)
	s.members[i] = &member.Member{Workshop: s.world.Workshop, Config: s.world.Path(file + ".yaml"),
		Log:   s.world.Path(file + ".log"),
		Clock: s.world.Path(file + ".clock"), Ended: func(err error) {
			s.broken.Store(true)
			how := "exit status 0"
			if err != nil {
				how = err.Error()
			}
			s.failed <- fmt.Errorf("consumer %s ended by itself, with %s: see its log", file, how)
		}}
	return s.world.Write(file+".yaml", config)
}

// config returns a consumer's configuration. The cache is smaller than M, so that Redis is asked all the time.
func (s *stream) config(i int, brokers []string, redis, http string) string {
	attach := "off"
	if s.growth {
		attach = "on"
	}
	more := ""
	if slices.Contains(s.forms, record.ByAvro) {
		more = fmt.Sprintf("registry: {urls: [%q]}\n", s.world.Registry.URL())
	}
	if slices.Contains(s.forms, record.Absent) {
		more = fmt.Sprintf("features: {from: redis, redis: {url: \"redis://%s/0\", read_timeout: 500ms}}\n"+
			"input: {mapping: {edges: /%s}}\n", s.world.FeatureWays[i].Addr(), record.MappedEdges)
	}
	if s.labels != nil {
		more += fmt.Sprintf("labels: {topic: %s, remember: 20000}\n", s.topic("labels"))
	}
	return fmt.Sprintf(`kafka:
  brokers: [%s]
  client_id: %s
  group: %s
  session_timeout: %v
  topics: {arrivals: %[5]s.arrivals, predictions: %[5]s.predictions, dead_letters: %[5]s.letters}
  transaction_timeout: 30s
redis: {%s, prefix: %s, poll_interval: 100ms, outage: %s, read_timeout: 500ms, breaker: {open_for: 1s}}
delivery: %s
attach: {arrivals: %q, ttl: %v}
batch: {mode: %s, size: %d, linger: 5ms}
cache: {bytes: 32KiB}
limits: {record_bytes: %d, edges: %d}
output: {format: %s, logits: true}
http: {listen: %q}
%s`, strings.Join(brokers, ", "), s.client(i), s.name, sessionTimeout, s.name,
		s.world.RedisURL(redis), prefix, s.outage, s.delivery, attach, s.world.rowsLive,
		s.mode, batchSize, record.MaxBytes, record.MaxEdges,
		s.output, http, more)
}

// life returns the number of the present life of the topic of arrivals.
func (s *stream) life() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lives) - 1
}

// lifeAt returns the life of a record with a timestamp.
func (s *stream) lifeAt(t time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for life := len(s.lives) - 1; life > 0; life-- {
		if !t.Before(s.lives[life]) {
			return life
		}
	}
	return 0
}

// pause sends nothing until the returned function is called, and waits until everything that was sent is acknowledged.
func (s *stream) pause(ctx context.Context) (goOn func(), err error) {
	s.sending.Lock()
	s.transacting.Lock()
	last, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return func() { s.transacting.Unlock(); s.sending.Unlock() }, s.sender.Flush(last)
}

// close ends the clients and the consumers, at once.
func (s *stream) close() {
	s.sender.Close()
	s.mu.Lock()
	stops := []func(){s.answers, s.arrivals}
	s.mu.Unlock()
	for _, stop := range stops {
		if stop != nil {
			stop()
		}
	}
	for _, m := range s.members {
		if m != nil {
			m.Kill()
		}
	}
}
