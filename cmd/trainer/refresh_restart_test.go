package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/devstack"
	"rivulet/internal/refresh"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
	"rivulet/trainer/merge"
)

// world surrounds a refresh that a supervisor starts again and again with the same flags: data, a broker, and a Redis
// that serves a first artifact.
type world struct {
	t        *testing.T
	dir      string
	broker   *devstack.Kafka
	redis    *devstack.Redis
	half     *dataset.Dataset
	arrivals []event.Arrival
	labels   []event.Label
	log      *bytes.Buffer

	kafkaAddr, redisURL, prefix string
	data                        string // name of the data set below dir
}

func newWorld(t *testing.T, change ...func(*dataset.Dataset)) *world {
	t.Helper()
	w := &world{t: t, log: &bytes.Buffer{}, data: "data"}
	w.half, w.arrivals, w.labels = halvedOf(t, 40, change...)
	w.dir = files(t, w.half, nil, nil)
	var err error
	if w.broker, err = devstack.StartKafka(
		devstack.KafkaOptions{Topics: map[string]int{"arrivals": 3, "labels": 2}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.broker.Close)
	if w.redis, err = devstack.StartRedis(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.redis.Close)
	w.kafkaAddr, w.redisURL = w.broker.Addr(), w.redis.URL()
	mustRun(t, w.dir, "train --data {}/data --out {}/first --nodes 40")
	mustRun(t, w.dir, "publish --artifact {}/first --redis "+w.redis.URL())
	return w
}

// line is README's command, without --every.
func (w *world) line(more string) string {
	return "--from kafka:arrivals --labels kafka:labels --group refresh --kafka.brokers " + w.broker.Addr() +
		" --publish --redis " + w.redis.URL() + " " + more
}

// flags returns the flags of README's command.
func (w *world) flags() *refreshFlags {
	flags := refreshCommand().Flags()
	f := &refreshFlags{from: "kafka:arrivals", labels: "kafka:labels", group: "refresh", out: w.dir + "/out",
		dataOut: w.dir + "/grown",
		every:   time.Hour, maxDrop: 5, keep: 1, keepCopies: 2, waiting: merge.DefaultWaiting, publish: true, flags: flags,
		run:     trainer.Defaults(),
		withMap: &mapFlags{flags: flags}}
	f.run.Costs, f.run.WeightDecays = false, []float64{1e-2, 1e-4}
	return f
}

// refresher opens --data, as a start of the command does.
func (w *world) refresher(f *refreshFlags) *refresh.Refresher {
	w.t.Helper()
	data := dataflag.Register(pflag.NewFlagSet("", pflag.ContinueOnError), "")
	data.Dir = filepath.Join(w.dir, w.data)
	graph, err := f.given(data)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := config.Default[config.Refresh]()
	cfg.Kafka.Brokers.Brokers = []string{w.kafkaAddr}
	cfg.Redis.URL = config.RedisURL(w.redisURL)
	if w.prefix != "" {
		cfg.Redis.Prefix = w.prefix
	}
	r, err := f.refresher(graph, cfg, trainer.Silent{}, slog.New(slog.NewTextHandler(w.log, nil)))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// life is one process: it refreshes some times and is then stopped. It returns the reports; nil: nothing was done.
func (w *world) life(f *refreshFlags, rounds int) (all []*refresh.Report) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	err := f.repeat(ctx, w.refresher(f), &ticks{stop: stop, after: rounds}, func(o *refresh.Report) error {
		all = append(all, o)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// The command of README, started again by a supervisor, goes on from the graph of the process before it: nothing is
// forgotten, and the report's accuracy before is the accuracy of the version that serves.
func TestRefreshEveryIsStartedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	produce(t, w.broker.Addr(), w.arrivals[:90], w.labels)
	first := w.life(w.flags(), 1)[0]
	if first.Nodes != 230 || !first.Published || !first.Committed {
		t.Fatalf("first process: %+v", first)
	}
	produce(t, w.broker.Addr(), w.arrivals[90:], nil)
	second := w.life(w.flags(), 1)[0]
	if second.Nodes != 280 || second.Merged.Arrivals != 50 || second.Before != first.Version || !second.Published {
		t.Errorf("after a restart: %+v, want 280 nodes, of which 50 have arrived since %s", second, first.Version)
	}
	if third := w.life(w.flags(), 1)[0]; third.Merged.Arrivals != 0 || third.Published || third.Version != "" {
		t.Errorf("nothing is new: %+v", third)
	}
	if !strings.Contains(w.log.String(), "going on from an earlier refresh") {
		t.Errorf("the log does not say so:\n%s", w.log.String())
	}
}

// Old graphs and artifacts are removed, and never the newest.
func TestOldCopiesAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	produce(t, w.broker.Addr(), nil, w.labels)
	for k := range 4 {
		produce(t, w.broker.Addr(), w.arrivals[30*k:30*(k+1)], nil)
		if o := w.life(w.flags(), 1)[0]; o.Nodes != 140+30*(k+1) {
			t.Fatalf("round %d: %+v", k, o)
		}
	}
	for _, parent := range []string{"/out", "/grown"} {
		entries, err := filepath.Glob(w.dir + parent + "/[0-9]*")
		if err != nil || len(entries) != 2 {
			t.Errorf("%s has %d copies, want 2: %v (%v)", parent, len(entries), entries, err)
		}
	}
	if strings.Contains(w.log.String(), "level=WARN") || strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("log:\n%s", w.log.String())
	}
}

// The graph of a refresh that did not publish is given to the next one as --data: that publishes its artifact, though
// nothing else has arrived.
func TestAGraphThatWasNotPublishedIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	produce(t, w.broker.Addr(), w.arrivals[:100], w.labels)
	line := "--from kafka:arrivals --labels kafka:labels --kafka.brokers " + w.broker.Addr() + " --redis " + w.redis.URL()
	second, err := runRefresh(t, w.dir, line+" --current {}/first --data {}/data --out {}/second --data-out {}/later")
	if err != nil || second.Published {
		t.Fatal(err)
	}
	o, err := runRefresh(t, w.dir, w.line("--data {}/later --out {}/third --data-out {}/latest"))
	if err != nil || !o.Published || o.Finished != second.Version || !o.Committed || o.Merged.Joined != 0 {
		t.Errorf("%+v, %v: want %s published", o, err, second.Version)
	}
	if out, err := harness.Execute(root(), "versions", "--redis.url", w.redis.URL()); err != nil ||
		!strings.Contains(out, second.Version+"  complete  yes") {
		t.Errorf("%s is not CURRENT (%v):\n%s", second.Version, err, out)
	}
	// Whoever rolls back is not overruled.
	mustRun(t, w.dir, "activate "+mustRead(t, w.dir+"/first").Manifest.Version+" --redis.url "+w.redis.URL())
	if o, err := runRefresh(t, w.dir, w.line("--data {}/later --out {}/third --data-out {}/latest")); err != nil ||
		o.Published {
		t.Errorf("%+v, %v: want nothing published", o, err)
	}
	// The artifact is lost, and its version was never published: it is made again.
	expect.OK(t, os.RemoveAll(w.dir+"/second"))
	expect.OK(t, os.Remove(w.dir+"/later/published.json"))
	if o, err := runRefresh(t, w.dir, w.line("--data {}/later --out {}/third --data-out {}/latest")); err != nil ||
		!o.Published || o.Merged.Joined != 0 ||
		o.Version != mustRead(t, w.dir+"/third").Manifest.Version {
		t.Errorf("%+v, %v: want an artifact made anew", o, err)
	}
	// The same command after a kill: --out and --data-out are there already.
	if o, err := runRefresh(t, w.dir, w.line("--data {}/later --out {}/third --data-out {}/latest")); err != nil ||
		o.Published {
		t.Errorf("%+v, %v: want nothing left to do", o, err)
	}
}

// Graph, offsets and topic that do not belong together are refused, and both are named.
func TestGraphAndOffsetsThatDoNotBelongTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	produce(t, w.broker.Addr(), w.arrivals[:100], w.labels)
	if o, err := runRefresh(t, w.dir, w.line("--data {}/data --out {}/second --data-out {}/later")); err != nil ||
		!o.Committed {
		t.Fatal(o, err)
	}
	refused := func(name, line string, want ...string) {
		t.Helper()
		o, err := runRefresh(t, w.dir, line)
		for _, text := range want {
			expect.Error(t, err, text, "%s: %+v,", name, o)
		}
	}
	none := " --out {}/none --data-out {}/nothing"
	refused("the graph without arrivals", w.line("--data {}/data"+none), "group refresh is ahead of the graph",
		"the graph in "+w.dir+"/data has the arrivals before 0")
	refused("another topic", strings.Replace(w.line("--data {}/later"+none), "kafka:arrivals", "kafka:labels", 1),
		w.dir+"/later has the arrivals of topic arrivals, and --from names labels")
	expect.OK(t, os.CopyFS(w.dir+"/changed", os.DirFS(w.dir+"/later")))
	expect.OK(t, os.WriteFile(w.dir+"/changed/merged.json", []byte(`{"waiting": [], "labelled": []}`), 0o600))
	refused("a file of the graph was changed", w.line("--data {}/changed"+none),
		"changed/refresh.json is of a data set with fingerprint sha256:", "and the one in "+w.dir+"/changed has sha256:")
	d := *w.half
	d.Train = d.Train[1:]
	expect.OK(t, d.Save(w.dir+"/other"))
	refused("a graph that began with other data", w.line("--data {}/other --out {}/none --data-out {}/later"),
		"the graph in "+w.dir+"/later began with a data set of fingerprint", "the one that is given now ("+w.dir+"/other)")
	anew, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 3, "labels": 2}})
	expect.OK(t, err)
	defer anew.Close()
	refused("a topic that was made anew", strings.Replace(w.line("--data {}/later"+none), w.broker.Addr(), anew.Addr(), 1),
		"was it made anew?",
		"the graph in "+w.dir+"/later has the arrivals of arrivals/")
}

// A group that consumers use, or have used, is refused before anything is done.
func TestAGroupOfConsumersIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	produce(t, w.broker.Addr(), w.arrivals[:100], w.labels)
	brokers := config.Default[config.Refresh]().Kafka.Brokers
	brokers.Brokers = []string{w.kafkaAddr}
	client, err := connect.Kafka(brokers)
	expect.OK(t, err)
	defer client.Close()
	source, err := kafka.NewSource(client, kafka.SourceOptions{Group: "refresh", Topics: []string{"arrivals"}},
		retry.Patience{})
	expect.OK(t, err)
	g, err := source.Join(t.Context())
	expect.OK(t, err)
	refused := func(want string) {
		t.Helper()
		_, err := runRefresh(t, w.dir, w.line("--data {}/data --out {}/second --data-out {}/later"))
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "give --group a name that nobody else uses") {
			t.Errorf("error %v, want %q", err, want)
		}
		if entries, err := os.ReadDir(w.dir + "/second"); err == nil {
			t.Errorf("an artifact was made: %v", entries)
		}
	}
	refused("group refresh is one of consumers: rivulet is in it")
	expect.OK(t, g.Commit(t.Context(), kafka.Offsets{{Topic: "arrivals", Partition: 1}: 20}))
	expect.OK(t, g.End(t.Context(), nil))
	source.Leave()
	refused("group refresh is one of consumers: no refresh has committed its offsets")
}

// An arrival that a consumer of the same settings makes a dead letter does not join T; one that it takes does.
func TestDeadLettersDoNotJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	features := w.arrivals[0].Features
	many := event.Arrival{ID: "many", Features: features, Edges: slices.Repeat([]string{"0"}, 20_000)}
	long := event.Arrival{ID: strings.Repeat("i", 200<<10), Features: features}
	good := event.Arrival{ID: "good", Features: features, Edges: []string{"0", "0", "good"}}
	produceIn(t, w.kafkaAddr, json.Codec{}, []event.Arrival{many, long})
	produceIn(t, w.kafkaAddr, nil, []event.Arrival{good})
	line := w.line("--current {}/first --data {}/data --max-drop 100")
	o, err := runRefresh(t, w.dir, line+" --out {}/a --data-out {}/a-data --input.format json")
	if err != nil || o.Merged.Joined != 0 || o.Merged.Refused[event.ReasonTooManyEdges] != 1 ||
		o.Merged.Refused[event.ReasonTooLarge] != 1 ||
		o.Merged.Refused[event.ReasonUnparsable] != 1 {
		t.Errorf("%+v, %v: want all three refused", o.Merged, err)
	}
	o, err = runRefresh(t, w.dir, line+" --out {}/b --data-out {}/b-data --input.format protobuf --limits.edges 20000")
	if err != nil || o.Merged.Joined != 2 || o.Merged.Refused[event.ReasonTooLarge] != 1 ||
		o.Merged.DroppedEdges != 19_999+2 {
		t.Errorf("%+v, %v: want good and many joined", o.Merged, err)
	}
}

// produceIn sends arrivals in a form that a header names; nil: in Protobuf without one.
func produceIn(t *testing.T, broker string, codec event.Codec, arrivals []event.Arrival) {
	t.Helper()
	sender, err := kgo.NewClient(kgo.SeedBrokers(broker))
	expect.OK(t, err)
	defer sender.Close()
	for _, a := range arrivals {
		rec := &kgo.Record{Topic: "arrivals", Key: []byte(a.ID)}
		form := codec
		if codec == nil {
			form = protobuf.Codec{}
		} else {
			rec.Headers = []kgo.RecordHeader{{Key: event.HeaderContentType, Value: []byte(codec.ContentType())}}
		}
		if rec.Value, err = form.AppendArrival(nil, &a); err == nil {
			err = sender.ProduceSync(t.Context(), rec).FirstErr()
		}
		expect.OK(t, err)
	}
}

// stopping stops a refresh when a stage of it begins.
type stopping struct {
	trainer.Silent
	stop context.CancelFunc
	at   string
}

func (s *stopping) Step(what string, _, _ int) {
	if strings.HasPrefix(what, s.at) {
		s.stop()
	}
}

// A refresh that is stopped names the step under way, the finished steps, and the next refresh's first action.
func TestAStopSaysWhatHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	produce(t, w.broker.Addr(), w.arrivals[:100], w.labels)
	for at, want := range map[string]string{
		"fitting sgc on the original graph": "stopped while training: nothing was stored, published or committed; the " +
			"next refresh begins where this one did",
		"publishing rows of M": "offsets are not committed; the next refresh goes on from there",
	} {
		f := w.below(strings.ReplaceAll(at, " ", "-"))
		ctx, stop := context.WithCancel(t.Context())
		r := w.refresher(f)
		r.Progress = &stopping{stop: stop, at: at}
		if err := f.repeat(ctx, r, &ticks{stop: stop, after: 1}, func(*refresh.Report) error { return nil }); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		stop()
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("stopped at %s, want %q in the log:\n%s", at, want, w.log.String())
		}
		if strings.Contains(w.log.String(), "refresh failed") {
			t.Errorf("a stop is no failure:\n%s", w.log.String())
		}
	}
}
