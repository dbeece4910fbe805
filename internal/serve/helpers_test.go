package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/consumer"
	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/internal/observe"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slot gives a version that can be swapped.
type slot struct {
	consumer.Pin // has no trouble
	now          atomic.Pointer[gated]
}

func (s *slot) Current() consumer.Version {
	if v := s.now.Load(); v != nil {
		return v
	}
	return nil
}

// gated is a version whose rows a test may hold back or refuse.
type gated struct {
	*serving.Version
	rows func(ctx context.Context, ids []string) error
	row  *attach.Row // of every id; nil: the version's own
}

func (g *gated) Numbers([]string, []uint32) *attach.PackedRows { return nil } // so that rows are asked for

func (g *gated) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	if g.rows != nil {
		if err := g.rows(ctx, ids); err != nil {
			return err
		}
	}
	if g.row != nil {
		for i := range rows {
			rows[i] = *g.row
		}
		return nil
	}
	return g.Version.Rows(ctx, ids, rows)
}

func bundle(t testing.TB, seed uint64) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Bundle(seed, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, b.Seal())
	return b
}

func versionOf(t testing.TB, b *artifact.Bundle, o serving.Options) *gated {
	t.Helper()
	v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), o)
	expect.OK(t, err)
	return &gated{Version: v}
}

// api is a server that runs, and a client of it.
type api struct {
	t       testing.TB
	server  *Server
	version *slot
	url     string
	log     *bytes.Buffer
	stop    context.CancelFunc
	ended   chan error
}

type word string

func (w word) Takes(token string) bool { return token == string(w) }

func defaults() Options {
	return Options{Path: consumer.PipelineOptions{Mode: attach.Node,
		Limits: event.Limits{Edges: 100, RecordBytes: 1 << 20, IDBytes: 1 << 10}},
		Log: slog.New(slog.DiscardHandler),
		Limits: Limits{Timeout: 20 * time.Second, Body: 1 << 20, Arrivals: 64, QueueArrivals: 128, QueueBytes: 4 << 20,
			Connections: 256},
		Batching: Batching{Size: 16}}
}

// start runs a server with the options that a test changes.
func start(t testing.TB, change func(*Options)) *api {
	t.Helper()
	a := &api{t: t, version: &slot{}, log: &bytes.Buffer{}, ended: make(chan error, 1)}
	a.version.now.Store(versionOf(t, bundle(t, 1), serving.Options{}))
	o := defaults()
	o.Path.Versions, o.Metrics = a.version, observe.HTTP{Registry: prometheus.NewRegistry()}
	o.Health = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	expect.OK(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	a.server, a.url, a.stop = s, "http://"+listener.Addr().String(), cancel
	go func() { a.ended <- s.Serve(ctx, listener, 10*time.Second) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		select {
		case <-a.ended: //nolint:errcheck // whether it ends, not how
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
	})
	return a
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// reason is the word of an error.
func (a answer) reason() string {
	var e errorJSON
	_ = json.Unmarshal(a.body, &e)
	return e.Error.Reason
}

// do sends a request; headers are name: value.
func (a *api) do(ctx context.Context, method, path string, body io.Reader, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.url+path, body)
	if err != nil {
		return answer{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	if method == http.MethodPost && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text}, err
}

func (a *api) post(path, body string, headers ...string) answer {
	a.t.Helper()
	got, err := a.do(a.t.Context(), http.MethodPost, path, strings.NewReader(body), headers...)
	if err != nil {
		a.t.Error(err)
	}
	return got
}

func (a *api) get(path string, headers ...string) answer {
	a.t.Helper()
	got, err := a.do(a.t.Context(), http.MethodGet, path, nil, headers...)
	if err != nil {
		a.t.Error(err)
	}
	return got
}

// held lets requests wait inside of the path until release is closed.
func held(v *gated) (inside chan []string, release chan struct{}) {
	inside, release = make(chan []string, 64), make(chan struct{})
	v.rows = func(ctx context.Context, ids []string) error {
		inside <- ids
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return inside, release
}

// predictionOf reads a prediction without what depends on when and with whom it was asked.
func predictionOf(t testing.TB, text []byte) event.Prediction {
	t.Helper()
	var p event.Prediction
	if err := (eventjson.Codec{}).DecodePrediction(text, &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	p.Batch, p.IngestTime, p.PredictedTime = "", time.Time{}, time.Time{}
	return p
}

const arrival = `{"id":"a","features":[1,2,3],"edges":["node-0-é","nobody"]}`

var errDown = errors.New("connection refused")
