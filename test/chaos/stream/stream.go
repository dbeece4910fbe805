package stream

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

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/world"
)

// Settings of all streams.
const (
	SessionTimeout = 6 * time.Second // the least that brokers allow by default
	BatchSize      = 32
	lanes          = 5 // of a consumer
	Partitions     = 3
	keys           = 60
	edgeWait       = 2 * time.Second // attach.wait
	// InFlight is the number of arrivals of a stream that may have been published and not committed.
	InFlight = world.Members * lanes * BatchSize
	// ClockStep is the smallest step of a clock: brokers refuse timestamps that are off by as much.
	ClockStep = 61 * time.Minute
)

// Kind is the configuration of a stream.
type Kind struct {
	Delivery, Outage string
	Growth           bool                 // attach.arrivals
	Mode             string               // of batches: node, graph
	codec            kgo.CompressionCodec // of arrivals
	Merged           bool                 // refreshes read its arrivals: they are neither deleted nor made anew
	Forms            []record.Form        // of arrivals; the first one is JSON
	output           string               // output.format of predictions
	Apart            bool                 // edges come as records of their own (attach.wait)
}

func (k Kind) String() string { return k.Delivery + ", " + k.Outage }

// All are the streams of a run.
var All = []Kind{
	{Delivery: "at_least_once", Outage: "wait", Growth: true, Mode: "node", codec: kgo.GzipCompression(),
		Forms: []record.Form{record.JSON, record.ByAvro, record.ByProto, record.ByJSON}, output: "json"},
	{Delivery: "at_least_once", Outage: "degrade", Mode: "node", codec: kgo.SnappyCompression(), Merged: true,
		Forms: []record.Form{record.JSON, record.Protobuf}, output: "protobuf"},
	{Delivery: "exactly_once", Outage: "wait", Mode: "graph", codec: kgo.Lz4Compression(),
		Forms: []record.Form{record.Mapped, record.Absent, record.Protobuf}, output: "json"},
	{Delivery: "exactly_once", Outage: "degrade", Growth: true, Mode: "node", codec: kgo.ZstdCompression(),
		Forms: []record.Form{record.JSON, record.ByAvro}, output: "json"},
}

// Forgets reports whether ids of the stream are forgotten. If refreshes read the stream, these ids would be in T.
func (k Kind) Forgets() bool { return !k.Merged }

// Kinds returns the streams that were asked for. In the first and third, with an even seed in the last one, edges come
// as records of their own; not in the one that refreshes read, where each such arrival would be a node of T. Programs
// of another commit may not know such edges.
func Kinds(o world.Options) (some []Kind) {
	for i, k := range All {
		k.Apart = o.Old == "" && !k.Merged && (o.Seed+uint64(i))%2 == 1
		if o.Sentinel { // the sentinel would have to watch the store of features, too
			k.Forms = slices.DeleteFunc(slices.Clone(k.Forms), func(f record.Form) bool { return f == record.Absent })
		}
		if strings.Contains(k.String(), o.Streams) {
			some = append(some, k)
		}
	}
	return some
}

// Stream is a load, the consumers of one group, and a reader.
type Stream struct {
	Kind
	world   *world.World
	Name    string
	Ledger  *ledger.Ledger
	Members [world.Members]*world.Member
	configs [world.Members]string
	rng     *rand.Rand   // of the load
	failed  chan<- error // is told of a consumer that ended by itself, and of arrivals that could not be sent
	Broken  atomic.Bool  // a consumer has ended by itself

	Stamped atomic.Int64 // arrivals with the broker's time
	Stepped atomic.Int64 // predictions whose time is far from this machine's

	Window  atomic.Int64 // of the faults, to which arrivals belong that are sent now
	Settled atomic.Bool
	Shares  Shares

	Sending  sync.Mutex // held to send nothing
	Sender   *kgo.Client
	features *redis.Client // of the store of features by id
	sent     int           // arrivals
	owned    int           // ids of their own
	Fresh    atomic.Int64  // arrivals of the world that were sent, from the first

	Transacting  sync.Mutex // held by a transaction that is under way, and to write none
	Transactions ledger.Transactions

	mu        sync.Mutex
	later     []departure             // records to be sent
	forgotten map[string]ledger.Place // the records that asked to forget ids
	lives     []time.Time             // when each life of the topic of arrivals began
	answers   func()                  // stops the reader of answers; nil: there is none
	arrivals  func()                  // stops the reader of arrivals of the present life
	codecs    map[uint8]int           // compressed arrivals that were read, by codec
}

// Shares are the numbers of arrivals among a hundred that are unlike others.
type Shares struct {
	Poisoned atomic.Int64
	Padded   atomic.Int64 // to a size between their own and the limit
	Keyless  atomic.Int64
}

// New makes the topics and configurations of a stream. It starts nothing but the clients' connections.
func New(ctx context.Context, w *world.World, k Kind, seed uint64, failed chan<- error) (*Stream, error) {
	s := &Stream{Kind: k, world: w, Name: strings.ReplaceAll(k.Delivery, "_", "-") + "-" + k.Outage, failed: failed,
		rng: rand.New(rand.NewPCG(w.Options.Seed, seed)), codecs: map[uint8]int{}, forgotten: map[string]ledger.Place{},
		features: w.Stored.Client()}
	s.Ledger = ledger.New(ledger.Options{ExactlyOnce: k.Delivery == "exactly_once", Degrades: k.Outage == "degrade",
		Expected: func(version, id string) (string, bool) { return w.Expected(version, base(id)) }})
	topics := map[string]int{s.Topic("arrivals"): Partitions, s.Topic("predictions"): Partitions, s.Topic("letters"): 1}
	if err := w.Kafka.MakeTopics(ctx, topics); err != nil {
		return nil, err
	}
	s.lives = []time.Time{time.Now().Truncate(time.Millisecond)}
	for i := range s.Members {
		var ways []string
		for _, p := range w.KafkaWays[i] {
			ways = append(ways, p.Addr())
		}
		s.configs[i] = s.Config(i, ways, w.RedisWays[i].Addr(), "127.0.0.1:0")
		if err := s.NewMember(i, s.configs[i]); err != nil {
			return nil, err
		}
	}
	return s, s.connect()
}

// StartOffset sets start_offset of member i from its next start on. It counts if the group has no offsets.
func (s *Stream) StartOffset(i int, at string) error {
	text := strings.Replace(s.configs[i], "kafka:\n", "kafka:\n  start_offset: "+at+"\n", 1)
	return os.WriteFile(s.Members[i].Config, []byte(text), 0o600)
}

// connect makes the client that sends.
func (s *Stream) connect() (err error) {
	s.Sender, err = kgo.NewClient(kgo.SeedBrokers(s.world.Kafka.Addrs...), kgo.MaxBufferedRecords(1<<20),
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(s.codec), kgo.MetadataMinAge(200*time.Millisecond),
		kgo.MetadataMaxAge(time.Second), kgo.UnknownTopicRetries(-1)) // the topics are new
	return err
}

// Topic returns the name of one of the stream's topics.
func (s *Stream) Topic(of string) string { return s.Name + "." + of }

// Client returns the name by which a member is known to the brokers.
func (s *Stream) Client(which int) string { return s.Name + "-" + strconv.Itoa(which) }

// NewMember makes member i with a configuration.
func (s *Stream) NewMember(i int, config string) error {
	file := s.Client(i)
	s.Members[i] = &world.Member{Workshop: s.world.Workshop, Config: s.world.Path(file + ".yaml"),
		Log: s.world.Path(file + ".log"), Clock: s.world.Path(file + ".clock"), Ended: func(err error) {
			s.Broken.Store(true)
			how := "exit status 0"
			if err != nil {
				how = err.Error()
			}
			s.failed <- fmt.Errorf("consumer %s ended by itself, with %s: see its log", file, how)
		}}
	return s.world.Write(file+".yaml", config)
}

// Config returns a consumer's configuration. The cache is smaller than M, so that Redis is asked all the time.
func (s *Stream) Config(i int, brokers []string, redis, http string) string {
	attach, output, more := "arrivals: \"off\"", "format: "+s.output+", logits: true", ""
	var input []string
	if s.Growth {
		attach = "arrivals: \"on\""
	}
	if slices.Contains(s.Forms, record.ByAvro) {
		more = fmt.Sprintf("registry: {urls: [%q]}\n", s.world.Registry.URL())
	}
	if slices.Contains(s.Forms, record.Absent) {
		more = fmt.Sprintf("features: {from: redis, url: \"redis://%s/0\"}\n", s.world.FeatureWays[i].Addr())
	}
	if slices.Contains(s.Forms, record.Mapped) {
		input = append(input, "mapping: {edges: /"+record.MappedEdges+"}")
	}
	if s.Apart {
		attach += fmt.Sprintf(", wait: %v, unmatched: dead_letter", edgeWait)
	}
	if s.Forgets() {
		input = append(input, "forget: \"on\"")
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
attach: {%s, ttl: %v}
batch: {mode: %s, size: %d, linger: 5ms}
cache: {bytes: 32KiB}
limits: {record_bytes: %d, edges: %d}
input: {%s}
output: {%s}
http: {listen: %q}
%s`, strings.Join(brokers, ", "), s.Client(i), s.Name, SessionTimeout, s.Name,
		s.world.RedisURL(redis), world.Prefix, s.Outage, s.Delivery, attach, s.world.Options.RowsLive,
		s.Mode, BatchSize, record.MaxBytes, record.MaxEdges, strings.Join(input, ", "), output, http, more)
}

// Pause sends nothing until the returned function is called, and waits until everything that was sent is acknowledged.
func (s *Stream) Pause(ctx context.Context) (goOn func(), err error) {
	s.Sending.Lock()
	s.Transacting.Lock()
	return func() { s.Transacting.Unlock(); s.Sending.Unlock() }, s.Flush(ctx)
}

// Flush waits until all records that were sent are acknowledged.
func (s *Stream) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.world.Options.Patience)
	defer cancel()
	return s.Sender.Flush(ctx)
}

// Close ends the clients and the consumers, at once.
func (s *Stream) Close() {
	s.Sender.Close()
	_ = s.features.Close()
	s.mu.Lock()
	stops := []func(){s.answers, s.arrivals}
	s.mu.Unlock()
	for _, stop := range stops {
		if stop != nil {
			stop()
		}
	}
	for _, m := range s.Members {
		if m != nil {
			m.Kill()
		}
	}
}
