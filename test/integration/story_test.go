package integration

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/devstack"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

var update = flag.Bool("update", false, "write testdata/story.log anew")

const keptStory = "testdata/story.log"

// The whole log of one life: a start, arrivals, a record that is no arrival, a broker that is restarted, a version that
// takes over, SIGTERM. testdata/story.log is the operator's view of it (docs/operate.md), without times, ports and
// errors of the network. It is written anew by -update.
func TestTheLogTellsAStory(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.publish(1)
	s.start()
	s.await(`msg="joined the consumer group"`, 1)

	s.send(5)
	s.bad("broken-1")
	s.await(`msg="dead letter"`, 1)
	s.send(3)

	s.heartbeat() // the next one is a while away: reading fails first
	s.kafka.Close()
	s.await(`msg="waiting for the consumer group"`, 1)
	s.startKafka(s.options)
	s.await(`msg="no longer waiting for the consumer group"`, 1)
	s.await(`msg="joined the consumer group"`, 2)
	s.send(2)

	s.publish(2)
	s.await(`msg="serving version"`, 2)
	s.send(4)
	if err := s.consumer.Drain(time.Minute); err != nil {
		t.Error(err)
	}

	got := s.told()
	if *update {
		expect.OK(t, os.WriteFile(keptStory, []byte(got), 0o644))
	}
	want, err := os.ReadFile(keptStory)
	expect.OK(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the log (-kept +now):\n%s\nas it was written:\n%s", diff, s.log.String())
	}
}

// story runs a consumer as a process, on services embedded in the test.
type story struct {
	*testing.T
	options  devstack.KafkaOptions
	kafka    *devstack.Kafka
	redis    *devstack.Redis
	consumer *harness.Process
	log      harness.Transcript
	bundle   *artifact.Bundle // published last
	versions []string
	beats    chan struct{} // a heartbeat came
	answered int64         // arrivals
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{T: t, beats: make(chan struct{}, 1)}
	s.startKafka(devstack.KafkaOptions{DataDir: t.TempDir(), Topics: map[string]int{"arrivals": 1, "predictions": 1,
		"arrivals.dead-letters": 1}})
	s.options.Addr = s.kafka.Addr()
	t.Cleanup(func() { s.kafka.Close() })
	var err error
	s.redis, err = devstack.StartRedis()
	s.must(err)
	t.Cleanup(s.redis.Close)
	return s
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\nthe log:\n%s", err, s.log.String())
	}
}

// await waits until the log has so many lines with a text.
func (s *story) await(text string, times int) {
	s.Helper()
	s.must(harness.Await(s.Context(), time.Minute, text, func() bool {
		return strings.Count(s.log.String(), text) >= times
	}))
}

func (s *story) startKafka(o devstack.KafkaOptions) {
	s.Helper()
	var err error
	s.options = o
	s.kafka, err = devstack.StartKafka(o)
	s.must(err)
	s.kafka.Cluster.ControlKey(int16(kmsg.Heartbeat), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.Cluster.KeepControl()
		select {
		case s.beats <- struct{}{}:
		default:
		}
		return nil, nil, false
	})
}

// heartbeat waits until the consumer's next heartbeat has come.
func (s *story) heartbeat() {
	s.Helper()
	select {
	case <-s.beats: // of a while ago
	default:
	}
	select {
	case <-s.beats:
	case <-time.After(time.Minute):
		s.Fatal("no heartbeat within a minute")
	}
}

// publish makes another version CURRENT.
func (s *story) publish(seed uint64) {
	s.Helper()
	s.bundle = artifacttest.Bundle(seed, artifacttest.Size{Nodes: 40, Synthetic: 6, Features: 3, Classes: 3})
	s.must(s.bundle.Seal())
	client, err := mapping.Connect(mapping.RedisOptions{URL: s.redis.URL()})
	s.must(err)
	defer func() { _ = client.Close() }()
	p, err := serving.NewPublisher(client, "rivulet")
	s.must(err)
	s.must(p.Publish(s.Context(), s.bundle, serving.PublishOptions{}))
	s.versions = append(s.versions, s.bundle.Manifest.Version)
}

// start starts the consumer. It is killed at the test's end if it is still there.
func (s *story) start() {
	s.Helper()
	var err error
	s.consumer, err = newWorkshop(s.T).Start(&s.log, "consumer", "--kafka.brokers="+s.kafka.Addr(),
		"--redis.url="+s.redis.URL(),
		"--redis.poll_interval=50ms", "--kafka.session_timeout=6s", "--http.listen=127.0.0.1:0")
	s.must(err)
	s.Cleanup(s.consumer.Kill)
}

// produce publishes records to the topic of arrivals.
func (s *story) produce(records ...*kgo.Record) {
	s.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addr()), kgo.DefaultProduceTopic("arrivals"))
	s.must(err)
	defer client.Close()
	s.must(client.ProduceSync(s.Context(), records...).FirstErr())
}

// send sends arrivals and waits until they are predicted.
func (s *story) send(n int) {
	s.Helper()
	var records []*kgo.Record
	for i := range n {
		a := event.Arrival{ID: fmt.Sprintf("new-%d", s.answered+int64(i)),
			Features: event.Features{Values: []float32{1, 2, 3}}, Edges: s.bundle.Mapping.IDs[i : i+2]}
		value, err := json.Codec{}.AppendArrival(nil, &a)
		s.must(err)
		records = append(records, &kgo.Record{Key: []byte(a.ID), Value: value})
	}
	s.produce(records...)
	s.answered += int64(n)
	s.must(harness.Await(s.Context(), time.Minute, "all arrivals are predicted", func() bool {
		return s.kafka.Cluster.PartitionInfo("predictions", 0).HighWatermark == s.answered
	}))
}

// bad sends a record that is no arrival of this model.
func (s *story) bad(id string) {
	s.Helper()
	s.produce(&kgo.Record{Key: []byte(id), Value: fmt.Appendf(nil, `{"id": %q, "features": [1, 2], "edges": []}`, id)})
}

// What differs from run to run.
var varying = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`(?m)^time=\S+ `), ""},
	{regexp.MustCompile(`(starts") version=\S+ commit=\S+ go=\S+`), "$1 version=VERSION commit=COMMIT go=GO"},
	{regexp.MustCompile(`127\.0\.0\.1:\d{2,}`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b(after|for|took|ran)=\S+`), "$1=TIME"},
	{regexp.MustCompile(`\b(batches|retries)=\d+`), "$1=NUMBER"},
	{regexp.MustCompile(`(waiting for .*) error=.*`), "$1 error=ERROR"},
	{regexp.MustCompile(`(given back".*) reason=.*`), "$1 reason=REASON"},
}

// told returns the log without what differs from run to run.
func (s *story) told() string {
	text := s.log.String()
	for i, version := range s.versions {
		text = strings.ReplaceAll(text, version, fmt.Sprintf("VERSION-%d", i+1))
	}
	for _, v := range varying {
		text = v.what.ReplaceAllString(text, v.as)
	}
	return text
}
