package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/serving/keyspace"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// TestMain checks that no goroutine outlives its test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Tests{M: m}) }

// server is a Redis with a prefix of the test's own.
type server struct {
	at     mapping.RedisOptions
	client redis.UniversalClient
	prefix string
}

// onRedis runs a test on the embedded server, a real one and a cluster, and removes its keys there.
func onRedis(t *testing.T, test func(t *testing.T, s *server)) {
	harness.EachRedis(t, func(t *testing.T, at harness.RedisPlace) {
		test(t, newServer(t, mapping.RedisOptions{URL: at.URL, Hosts: at.Hosts, Cluster: at.Cluster}, at.Prefix))
	})
}

func newServer(t *testing.T, at mapping.RedisOptions, prefix string) *server {
	s := &server{at: at, prefix: prefix}
	s.client = s.connect(t)
	s.clear(t)
	t.Cleanup(func() { s.clear(t) })
	return s
}

// connect makes a client that the test closes.
func (s *server) connect(t *testing.T) redis.UniversalClient {
	t.Helper()
	o := s.at
	if o.MaxRetries == 0 {
		o.MaxRetries = -1
	}
	// A busy machine may hold an answer back for longer than a consumer would wait for it.
	for _, limit := range []*time.Duration{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout} {
		if *limit == 0 {
			*limit = time.Minute
		}
	}
	client, err := mapping.Connect(o)
	expect.OK(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client.(redis.UniversalClient)
}

// keys returns all keys of the test.
func (s *server) keys(t *testing.T) []string {
	t.Helper()
	all, err := harness.Keys(context.Background(), s.client, harness.Below(s.prefix)...)
	expect.OK(t, err)
	return all
}

// data returns the keys of rows and files, only those of one version if version is not "".
func (s *server) data(t *testing.T, version string) (data []string) {
	for _, key := range s.keys(t) {
		if strings.HasPrefix(key, s.prefix+":"+version) {
			data = append(data, key)
		}
	}
	return data
}

// dataOf returns the beginning of the keys of a version's rows and files.
func (s *server) dataOf(t *testing.T, version string) string {
	t.Helper()
	infos, err := s.publisher(t).Versions(t.Context())
	expect.OK(t, err)
	for _, v := range infos {
		if v.Version == version {
			return keysOf(s.prefix).Data(version, v.Serial)
		}
	}
	t.Fatalf("there is no version %s", version)
	return ""
}

func (s *server) clear(t *testing.T) {
	expect.OK(t, harness.Erase(context.Background(), s.client, harness.Below(s.prefix)...))
}

func (s *server) publisher(t *testing.T) *Publisher { return newPublisher(t, s.client, s.prefix) }

func newPublisher(t *testing.T, client mapping.Client, prefix string) *Publisher {
	t.Helper()
	p, err := NewPublisher(client, prefix)
	expect.OK(t, err)
	return p
}

func (s *server) publish(t *testing.T, b *artifact.Bundle) {
	t.Helper()
	expect.OK(t, s.publisher(t).Publish(t.Context(), b, PublishOptions{Keep: -1}))
}

func (s *server) mustCurrent(t *testing.T, want string) {
	t.Helper()
	if got, err := s.publisher(t).Current(t.Context()); err != nil || got != want {
		t.Fatalf("CURRENT is %q (%v), want %q", got, err, want)
	}
}

// watcher returns a watcher of the prefix, and its log.
func (s *server) watcher(t *testing.T, name string) (*Watcher, *lines) {
	t.Helper()
	return newWatcher(t, s.client, s.prefix, name)
}

func newWatcher(t *testing.T, client mapping.Client, prefix, name string) (*Watcher, *lines) {
	t.Helper()
	return newWatcherOf(t, client, prefix, name, 8<<10) // too little for a whole M
}

func newWatcherOf(t *testing.T, client mapping.Client, prefix, name string, cacheBytes int64) (*Watcher, *lines) {
	t.Helper()
	log := &lines{}
	w, err := NewWatcher(client, WatcherOptions{
		Prefix: prefix, Consumer: name, CacheBytes: cacheBytes, Clock: newSteps(),
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	expect.OK(t, err)
	return w, log
}

// tick runs one interval of a watcher: poll and report.
func tick(t *testing.T, w *Watcher) error {
	t.Helper()
	err := w.poll(t.Context())
	w.report(err)
	return err
}

func mustServe(t *testing.T, w *Watcher, version string) {
	t.Helper()
	expect.OK(t, tick(t, w))
	if got := w.Current().ID(); got != version {
		t.Fatalf("version %s is served, want %s", got, version)
	}
}

// steps is a clock that moves when the test says so.
type steps struct{ timers chan chan time.Time }

func newSteps() *steps { return &steps{make(chan chan time.Time, 1)} }

func (s *steps) NewTimer(time.Duration) (<-chan time.Time, func()) {
	fired := make(chan time.Time, 1)
	s.timers <- fired
	return fired, func() {}
}

// step waits until somebody waits, and lets the time be over.
func (s *steps) step() { <-s.timers <- time.Time{} }

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(data)
}

// take returns the lines that were logged since the last call.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSuffix(l.buf.String(), "\n")
	l.buf.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// faults is a hook that fails commands.
type faults struct {
	mu    sync.Mutex
	calls int
	// fail decides on a call by its number, from 1, and its name, which is the first command's of a pipeline: lose
	// the request, lose the answer, or let it be.
	fail func(call int, name string) fault
}

type fault int

const (
	fine fault = iota
	requestLost
	answerLost
)

var errInjected = errors.New("injected: connection lost")

func (f *faults) next(cmd redis.Cmder) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fail == nil {
		return fine
	}
	return f.fail(f.calls, cmd.Name())
}

func (f *faults) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch f.next(cmd) {
		case requestLost:
			cmd.SetErr(errInjected)
			return errInjected
		case answerLost:
			_ = next(ctx, cmd)
			cmd.SetErr(errInjected)
			return errInjected
		}
		return next(ctx, cmd)
	}
}

func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		what := f.next(cmds[0])
		if what == fine {
			return next(ctx, cmds)
		}
		if what == answerLost {
			_ = next(ctx, cmds)
		} else if half := cmds[:len(cmds)/2]; len(half) > 0 {
			_ = next(ctx, half) // a pipeline can be cut anywhere
		}
		for _, cmd := range cmds {
			cmd.SetErr(errInjected)
		}
		return errInjected
	}
}

// bundle returns a sealed artifact with a version's name and 300 nodes.
func bundle(t testing.TB, seed uint64, version string) *artifact.Bundle {
	t.Helper()
	return sealed(t, artifacttest.Bundle(seed, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4}),
		version)
}

func sealed(t testing.TB, b *artifact.Bundle, version string) *artifact.Bundle {
	t.Helper()
	b.Manifest.Version = version
	expect.OK(t, b.Seal())
	return b
}

func inMemory(t testing.TB, b *artifact.Bundle, o Options) *Version {
	t.Helper()
	v, _, err := New(b, mapping.FromArtifact(b.Mapping), o)
	expect.OK(t, err)
	return v
}

// answer is a version's answer to a batch.
type answer struct{ Logits, Probabilities *graph.Dense }

// ask predicts a graph batch of n arrivals, each with known neighbours and an unknown one.
func ask(ctx context.Context, v *Version, b *artifact.Bundle, n int) (answer, error) {
	rng := rand.New(rand.NewPCG(7, 7))
	neighbours := make([][]attach.Row, n)
	for i := range neighbours {
		ids := []string{"nobody"}
		for range 4 {
			ids = append(ids, b.Mapping.IDs[rng.IntN(len(b.Mapping.IDs))])
		}
		neighbours[i] = make([]attach.Row, len(ids))
		if err := v.Rows(ctx, ids, neighbours[i]); err != nil {
			return answer{}, err
		}
	}
	r, known := attach.Attach(neighbours, v.Info().SyntheticNodes)
	x := graph.NewDense(n, v.Info().Features)
	for k := range x.Data {
		x.Data[k] = rng.Float32()
	}
	pair := graph.NewCSR(n, n, []graph.Edge{{Row: 0, Col: 1, Val: 1}, {Row: 1, Col: 0, Val: 1}})
	logits, probabilities := v.Predict(&attach.Batch{X: graph.Features{Dense: x}, R: r, Known: known, Adj: pair})
	return answer{logits, probabilities}, nil
}

func mustAsk(t *testing.T, v *Version, b *artifact.Bundle) answer {
	t.Helper()
	got, err := ask(t.Context(), v, b, 5)
	expect.OK(t, err)
	return got
}

// mustAnswerLike checks that a version answers like the artifact in memory, bit for bit.
func mustAnswerLike(t *testing.T, v *Version, b *artifact.Bundle) {
	t.Helper()
	if v.ID() != b.Manifest.Version {
		t.Fatalf("version %s, want %s", v.ID(), b.Manifest.Version)
	}
	if diff := cmp.Diff(mustAsk(t, inMemory(t, b, Options{}), b), mustAsk(t, v, b)); diff != "" {
		t.Fatalf("answers differ from those of the artifact in memory (-memory +served):\n%s", diff)
	}
}

// Remove removes one version. It returns [ErrInUse] if CURRENT or a live heartbeat names it.
func (p *Publisher) Remove(ctx context.Context, version string) error {
	if err := artifact.ValidVersion(version); err != nil {
		return fmt.Errorf("removing a version: %w", err)
	}
	infos, err := p.Versions(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(infos, func(v VersionInfo) bool { return v.Version == version && v.State != Deleting })
	if at < 0 {
		return fmt.Errorf("removing version %s: no version has that name", version)
	}
	return p.remove(ctx, infos[at])
}

func keysOf(prefix string) keyspace.Keys {
	keys, err := keyspace.New(prefix)
	if err != nil {
		panic(err)
	}
	return keys
}
