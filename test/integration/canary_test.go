package integration

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/replay"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
)

// canaryArrivals are the arrivals of the test below; RIVULET_TEST_ARRIVALS has another number.
const canaryArrivals = 5000

// canaryStream is a stream whose consumers try candidates as canaries, and the answers that it published.
type canaryStream struct {
	*world
	suffix string
	data   *dataset.Dataset
	sender *kgo.Client

	mu      sync.Mutex
	places  map[event.Source]bool // of arrivals that were answered
	by      map[string][]string   // key → versions that answered it
	twice   int                   // arrivals that were answered again
	answers int
}

func (s *canaryStream) topic(of string) string { return of + s.suffix }

// learned writes an artifact of the stream's graph. Unless the seed is 0, the labels of all nodes are shuffled before.
func (s *canaryStream) learned(version string, seed uint64) {
	s.t.Helper()
	d := *s.data
	if d.Labels = slices.Clone(d.Labels); seed > 0 {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(d.Labels), func(i, k int) {
			d.Labels[i], d.Labels[k] = d.Labels[k], d.Labels[i]
		})
	}
	o := trainer.Defaults()
	o.Costs, o.Own = false, trainer.OwnNever
	out, err := trainer.Train(s.t.Context(), &d, o, time.Unix(0, 0), trainer.Silent{})
	s.must(err)
	out.Bundle.Manifest.Version = version
	s.must(out.Bundle.Seal())
	s.must(artifact.Write(s.Path(version), out.Bundle))
}

// note counts a prediction.
func (s *canaryStream) note(r *kgo.Record) {
	var p event.Prediction
	err := (json.Codec{}).DecodePrediction(r.Value, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.t.Errorf("a prediction: %v", err)
		return
	}
	if s.places[p.Source] {
		s.twice++
	}
	s.places[p.Source] = true
	s.by[p.ID] = append(s.by[p.ID], p.Artifact)
	s.answers++
}

// answered waits until so many arrivals have an answer.
func (s *canaryStream) answered(n int) {
	s.t.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.places)
	}
	s.await(fmt.Sprint(n, " arrivals are answered"), func() bool { return count() >= n },
		func() string { return fmt.Sprint(count(), " are") })
}

// send publishes test nodes as arrivals, each under a key of its own.
func (s *canaryStream) send(prefix string, from, to int) {
	s.t.Helper()
	s.produce("arrivals", prefix, from, to, func(id string, node int32) ([]byte, error) {
		a := replay.Arrival(s.data, node, time.Time{})
		a.ID = id
		return (json.Codec{}).AppendArrival(nil, &a)
	})
}

// label publishes the labels of arrivals that were sent.
func (s *canaryStream) label(prefix string, from, to int) {
	s.t.Helper()
	s.produce("labels", prefix, from, to, func(id string, node int32) ([]byte, error) {
		return fmt.Appendf(nil, `{"id":%q,"class":%d}`, id, s.data.Labels[node]), nil
	})
}

func (s *canaryStream) produce(topic, prefix string, from, to int, value func(id string, node int32) ([]byte, error)) {
	s.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		r := &kgo.Record{Topic: s.topic(topic), Key: fmt.Append(nil, prefix, i)}
		var err error
		r.Value, err = value(string(r.Key), s.data.Test[i%len(s.data.Test)])
		s.must(err)
		records = append(records, r)
	}
	s.must(s.sender.ProduceSync(s.t.Context(), records...).FirstErr())
}

// start starts a consumer, and returns when it tries the candidate.
func (s *canaryStream) start(candidate string) *tried {
	s.t.Helper()
	c := &tried{}
	var err error
	c.Process, err = s.Start(io.MultiWriter(&c.log, s.t.Output()), "consumer", "--config", s.Path("consumer.yaml"))
	s.must(err)
	s.t.Cleanup(c.Kill)
	s.tries(candidate, c)
	return c
}

// tries waits until consumers try a candidate.
func (s *canaryStream) tries(candidate string, consumers ...*tried) {
	s.t.Helper()
	for _, c := range consumers {
		s.await("a consumer tries "+candidate, func() bool {
			return strings.Contains(c.log.String(), `msg="trying a candidate" candidate=`+candidate)
		}, c.log.String)
	}
}

// tried is a consumer with its log.
type tried struct {
	*harness.Process
	log harness.Transcript
}

// trainerSays returns what a command of the trainer prints.
func (s *canaryStream) trainerSays(args ...string) string {
	s.t.Helper()
	out, err := s.Output(s.t.Context(), nil, "trainer", append(args, "--redis.url", s.redis, "--redis.prefix",
		s.t.Name()+s.suffix)...)
	s.must(err)
	s.t.Log(strings.Join(args, " "), "\n", string(out))
	return string(out)
}

// A canary on a real broker and Redis, exactly once, over several partitions: two consumers, of which one is killed in
// the middle and started again, and then a third. Every arrival has one answer; the canary has the share of the keys
// that was asked for; and a key has the same version each time that it comes. The rule promotes the candidate, which is
// better, and gives up the next one, whose labels were shuffled.
func TestACanaryOnARealBroker(t *testing.T) {
	broker := needBroker(t)
	if os.Getenv("RIVULET_TEST_REDIS") == "" {
		t.Skip("RIVULET_TEST_REDIS is not set")
	}
	total := canaryArrivals
	if n, err := strconv.Atoi(os.Getenv("RIVULET_TEST_ARRIVALS")); err == nil {
		total = n
	}
	const percent, rounds = 20, 4
	keys := total / rounds
	preset, _ := generate.Preset("small")
	d, err := generate.Graph(preset, 0)
	expect.OK(t, err)
	s := &canaryStream{world: bareWorld(t), suffix: newSuffix(), data: d, places: map[event.Source]bool{},
		by: map[string][]string{}}
	s.use(broker.Addr(harness.Plaintext))
	s.makeTopics(map[string]int{s.topic("arrivals"): 6, s.topic("predictions"): 6, s.topic("letters"): 1,
		s.topic("labels"): 1})
	s.write("consumer.yaml", fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %s
  session_timeout: %v
  topics: {arrivals: %s, predictions: %s, dead_letters: %s}
delivery: exactly_once
redis: {url: %q, prefix: %q, poll_interval: 50ms}
candidate: {mode: canary, percent: %d, load: 1}
labels: {topic: %s}
http: {listen: ""}
`, s.kafka.Addr, s.topic("group"), sessionTimeout, s.topic("arrivals"), s.topic("predictions"), s.topic("letters"),
		s.redis, t.Name()+s.suffix, percent, s.topic("labels")))
	s.sender, err = kgo.NewClient(kgo.SeedBrokers(s.kafka.Addr), kgo.UnknownTopicRetries(-1))
	s.must(err)
	t.Cleanup(s.sender.Close)
	s.follow(s.note, kgo.ReadCommitted(), s.topic("predictions"))

	s.learned("first", 1)
	s.learned("better", 0)
	s.learned("worse", 2)
	s.trainerSays("publish", "--artifact", s.Path("first"))
	s.trainerSays("publish", "--artifact", s.Path("better"), "--candidate")
	consumers := []*tried{s.start("better"), s.start("better")}
	for round := range rounds {
		s.send("key-", 0, keys/2)
		s.answered(round*keys + keys/10)
		switch round {
		case 1:
			consumers[0].Kill()
		case 2:
			consumers[0] = s.start("better")
		case 3:
			consumers = append(consumers, s.start("better"))
		}
		s.send("key-", keys/2, keys)
		s.answered((round + 1) * keys)
	}
	s.label("key-", 0, keys)
	canaries, changed := 0, 0
	s.mu.Lock()
	for _, versions := range s.by {
		if versions[0] == "better" {
			canaries++
		}
		if len(versions) != rounds || slices.ContainsFunc(versions, func(v string) bool { return v != versions[0] }) {
			changed++
		}
	}
	share := 100 * float64(canaries) / float64(keys)
	t.Logf("%d arrivals of %d keys: %d keys, %.3f%%, are the canary's; %d keys changed the version, %d arrivals were "+
		"answered twice", s.answers, len(s.by), canaries, share, changed, s.twice)
	within := max(0.5, 300*math.Sqrt(percent*(100-percent)/1e4/float64(keys))) // three standard deviations of few keys
	if len(s.by) != keys || changed > 0 || s.twice > 0 || s.answers != rounds*keys || math.Abs(share-percent) > within {
		t.Errorf("want %d keys and %d arrivals, none of them changed or answered twice, and %d%% within %.2f", keys,
			rounds*keys, percent, within)
	}
	s.mu.Unlock()

	rule := []string{"decide", "--every", "100ms", "--arrivals", "500"}
	if said := s.trainerSays(rule...); !strings.Contains(said, "better") {
		t.Errorf("the better one: %s", said)
	}
	s.trainerSays("publish", "--artifact", s.Path("worse"), "--candidate")
	s.tries("worse", consumers...)
	s.send("late-", 0, 2000)
	s.answered(rounds*keys + 2000)
	s.label("late-", 0, 2000)
	if said := s.trainerSays(rule...); !strings.Contains(said, "worse") {
		t.Errorf("the worse one: %s", said)
	}
	var told []string
	for line := range strings.Lines(s.trainerSays("history")) {
		if words := strings.Fields(line); len(words) > 3 {
			told = append(told, words[1]+" "+words[3])
		}
	}
	want := []string{"publish first", "candidate better", "promote better", "candidate worse", "abort worse"}
	if len(told) == 0 || !cmp.Equal(want, told[len(told)-len(want):]) {
		t.Errorf("the history (-want +got):\n%s", cmp.Diff(want, told))
	}
	for _, c := range consumers {
		s.drain(c.Process)
	}
}
