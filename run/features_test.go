package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/internal/featurestore"
	"rivulet/mapping"
	"rivulet/run/connect"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// fill writes the features of arrivals to a store.
func fill(t *testing.T, f config.FeatureServer, beside config.RedisServer, arrivals []event.Arrival) {
	t.Helper()
	err := connect.WithFeatures(f, beside, func(s *featurestore.Store) error {
		var entries []featurestore.Entry
		for i := range arrivals {
			value, err := read.FeatureForm(f.Format).Append(nil, &arrivals[i].Features)
			if err != nil {
				return err
			}
			entries = append(entries, featurestore.Entry{ID: arrivals[i].ID, Value: value})
		}
		return s.Put(t.Context(), entries, 0)
	})
	expect.OK(t, err)
}

// withoutFeatures are the same arrivals, whose features are to be looked up.
func withoutFeatures(arrivals []event.Arrival) []event.Arrival {
	bare := make([]event.Arrival, len(arrivals))
	for i, a := range arrivals {
		a.Features = event.Features{Absent: true}
		bare[i] = a
	}
	return bare
}

// Arrivals without features, whose features are in a Redis of their own, get the predictions of those that bring them,
// in either form and under either delivery; in a real Redis with no more rights than deploy/redis.acl gives.
func TestFeaturesFromRedisOnTheStream(t *testing.T) {
	b := growing(t, 9)
	arrivals, _ := newcomers(b, 9)
	want := stream(t, stackOf(t, b), arrivals)
	type kind struct{ where, format, delivery string }
	kinds := []kind{{"embedded", "float32", "at_least_once"}, {"embedded", "json", config.ExactlyOnce}}
	if harness.HasRedis() {
		kinds = append(kinds, kind{"real", "json", "at_least_once"}, kind{"real", "float32", config.ExactlyOnce})
	}
	for _, k := range kinds {
		cfg := stackOf(t, b)
		f := &cfg.Features
		f.From, f.Format, cfg.Delivery = config.FromRedis, k.format, k.delivery
		writer := f.FeatureServer
		if k.where == "real" {
			file, err := filepath.Abs("../deploy/redis.acl")
			expect.OK(t, err)
			addr := harness.StartRedis(t, "--aclfile", file).Addr
			writer.URL = config.RedisURL("redis://rivulet-fill:change-me-six@" + addr)
			f.URL = config.RedisURL("redis://rivulet-features:change-me-five@" + addr)
		} else {
			f.URL = config.RedisURL("redis://" + miniredis.RunT(t).Addr())
			writer = f.FeatureServer
		}
		fill(t, writer, cfg.Redis.RedisServer, arrivals)
		got := stream(t, cfg, withoutFeatures(arrivals))
		for i := range want {
			if got[i].ID != want[i].ID || got[i].Probability != want[i].Probability || got[i].Class != want[i].Class {
				t.Errorf("%v: %+v, want %+v", k, got[i], want[i])
			}
		}
		if k.where == "real" { // who reads may not write
			err := connect.WithFeatures(f.FeatureServer, cfg.Redis.RedisServer, func(s *featurestore.Store) error {
				return s.Put(t.Context(), []featurestore.Entry{{ID: "x", Value: []byte("x")}}, 0)
			})
			if !mapping.Refused(err) || !strings.Contains(err.Error(), "the line of rivulet-fill in deploy/redis.acl") {
				t.Errorf("writing as the reader: %v", err)
			}
		}
	}
}

// The Redis of features hangs up in mid-stream: what comes waits, and then all is predicted, once and in order.
func TestAnOutageOfTheRedisOfFeatures(t *testing.T) {
	harness.NeedRedis(t)
	server := harness.StartRedis(t)
	proxy, err := harness.NewProxy(t.Context())
	expect.OK(t, err)
	defer proxy.Close()
	proxy.Serve(t.Context(), server.Addr)
	b := growing(t, 9)
	arrivals, _ := newcomers(b, 9)
	for _, delivery := range []string{"at_least_once", config.ExactlyOnce} {
		cfg := stackOf(t, b)
		cfg.Features.From, cfg.Delivery = config.FromRedis, delivery
		cfg.Features.URL = config.RedisURL(server.URL())
		fill(t, cfg.Features.FeatureServer, cfg.Redis.RedisServer, arrivals)
		cfg.Features.URL, cfg.Features.Timeout = config.RedisURL("redis://"+proxy.Addr()), 200*time.Millisecond
		cfg.Redis.Retry.Attempts = 0
		if got := stream(t, cfg, withoutFeatures(arrivals[:4])); len(got) != 4 {
			t.Fatalf("%d predictions", len(got))
		}
		proxy.Set(harness.Refused)
		back := time.AfterFunc(500*time.Millisecond, func() { proxy.Set(harness.Passing) })
		got := streamUntil(t, cfg, withoutFeatures(arrivals[4:]), len(arrivals))
		back.Stop()
		proxy.Set(harness.Passing)
		for i := range arrivals {
			if got[i].ID != arrivals[i].ID {
				t.Fatalf("%s: prediction %d is of %s, want %s", delivery, i, got[i].ID, arrivals[i].ID)
			}
		}
	}
}

// A consumer that the Redis of features refuses ends, and says which of its settings or rights it needs; the Redis of
// the rows of M is another one.
func TestRefusalsByTheRedisOfFeaturesEndTheConsumer(t *testing.T) {
	b := growing(t, 9)
	cfg, server := stackOf(t, b), miniredis.RunT(t)
	cfg.Features.From, cfg.Redis.Retry.Attempts = config.FromRedis, 0
	arrivals, _ := newcomers(b, 3)
	sendTo(t, cfg, withoutFeatures(arrivals))
	for _, c := range []struct{ url, answer, want string }{
		{"redis://me:other@" + server.Addr(), "", "or both in features.url"},
		{"redis://" + server.Addr(), "", "set redis.password or redis.password_file, and redis.username unless the user is the default one; or give both in features.url"},
		{"redis://me:word@" + server.Addr(), "NOPERM this user has no permissions to run the 'getrange' command",
			"ACL SETUSER user +getrange; the line of rivulet-features in deploy/redis.acl"},
		{"redis://me:word@" + server.Addr(), "NOPERM No permissions to access a key", "under features.prefix, ~PREFIX*"},
		{"redis://me:word@" + server.Addr(), "MOVED 1 127.0.0.1:1", "set redis.cluster"},
	} {
		server.RequireUserAuth("me", "word")
		server.SetError(c.answer)
		cfg.Features.URL = config.RedisURL(c.url)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := Consumer(ctx, cfg, slog.New(slog.DiscardHandler), nil)
		cancel()
		if !errors.Is(err, consumer.ErrFeatures) || strings.Count(err.Error(), " -> ") != 1 ||
			!strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "word@") {
			t.Errorf("%s%s: Run returned %v, want %q", c.url, c.answer, err, c.want)
		}
		if r := checkFeatures(t.Context(), cfg.Features, cfg.Redis.RedisServer); !strings.Contains(r.Do, c.want) {
			t.Errorf("%s%s: the check says %+v, want %q", c.url, c.answer, r, c.want)
		}
	}
	server.SetError("")
	if r := checkFeatures(t.Context(), cfg.Features, cfg.Redis.RedisServer); r.Found != "it answers" {
		t.Errorf("the check says %+v", r)
	}
}

// Lines look features up as the stream does, to be predicted and to be explained.
func TestLinesLookFeaturesUp(t *testing.T) {
	from, ids := small(t)
	cfg := config.Default[config.Consumer]()
	cfg.Features.From, cfg.Features.Format, cfg.Features.URL = config.FromRedis, "json",
		config.RedisURL("redis://"+miniredis.RunT(t).Addr())
	store, end, err := connect.Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	expect.OK(t, err)
	defer end()
	fill(t, cfg.Features.FeatureServer, cfg.Redis.RedisServer, []event.Arrival{{ID: "a", Features: event.Features{Values: []float32{1, 2, 3}}}})
	line := func(features string) string { return fmt.Sprintf(`{"id":"a"%s,"edges":[%q]}`, features, ids[0]) }
	answer := func(text string) (out string, predicted, rejected int) {
		var w bytes.Buffer
		predicted, rejected, err := PredictLines(t.Context(), from, strings.NewReader(text), &w,
			LineOptions{Mode: attach.Node, Batch: 2, Features: store})
		expect.OK(t, err)
		out, _, _ = strings.Cut(w.String(), `,"batch"`)
		return out, predicted, rejected
	}
	got, predicted, rejected := answer(line("") + "\n" + `{"id":"b"}`)
	if want, _, _ := answer(line(`,"features":[1,2,3]`)); got != want || predicted != 1 || rejected != 1 {
		t.Errorf("%d predicted, %d rejected:\n%s\nwant\n%s", predicted, rejected, got, want)
	}
	explained, rejected, err := ExplainLines(t.Context(), from, strings.NewReader(line("")+"\n"+`{"id":"b"}`), nobody{},
		LineOptions{Mode: attach.Node, Batch: 2,
			Features: store})
	if err != nil || explained != 1 || rejected != 1 {
		t.Errorf("%d explained, %d rejected, %v", explained, rejected, err)
	}
}

// nobody reads explanations.
type nobody struct{}

func (nobody) Explanation(*consumer.ExplainedArrival) error { return nil }

// rivulet serve looks features up as the stream does, and says so while it cannot.
func TestServeLooksFeaturesUp(t *testing.T) {
	b := growing(t, 9)
	arrivals, _ := newcomers(b, 9)
	cfg := stackOf(t, b)
	want := stream(t, cfg, arrivals)
	server := miniredis.RunT(t)
	serve := serveSettings(cfg)
	f := &serve.Features
	f.From, f.URL, f.Timeout = config.FromRedis, config.RedisURL("redis://"+server.Addr()), 200*time.Millisecond
	fill(t, f.FeatureServer, cfg.Redis.RedisServer, arrivals)
	url, _ := startServe(t, serve)
	awaitReady(t, url, true)
	var texts []string
	for _, a := range arrivals {
		edges, err := json.Marshal(a.Edges)
		expect.OK(t, err)
		texts = append(texts, fmt.Sprintf(`{"id":%q,"edges":%s}`, a.ID, edges))
	}
	got := make([]event.Prediction, len(texts))
	ask(t, url, texts, got)
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Probability != want[i].Probability || got[i].Class != want[i].Class {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	server.SetError("LOADING")
	status, text := request(t, http.MethodPost, url+"/predict", texts[0])
	if status != http.StatusServiceUnavailable || !strings.Contains(string(text), "features_unavailable") {
		t.Errorf("%d %s, want 503 features_unavailable", status, text)
	}
}
