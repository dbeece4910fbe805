package run

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// The users of deploy/redis.acl can do all that a trainer and a consumer do, growth included; a consumer cannot do
// what a trainer does.
func TestRightsInRedis(t *testing.T) {
	harness.NeedRedis(t)
	file, err := filepath.Abs("../deploy/redis.acl")
	expect.OK(t, err)
	server := harness.StartRedis(t, "--aclfile", file)
	cfg := brokerOf(t)
	cfg.Redis.URL, cfg.Attach.Arrivals = config.RedisURL(server.URL()), config.On
	as := func(user, password string) config.RedisServer {
		s := cfg.Redis.RedisServer
		s.Username, s.Password = user, config.Secret(password)
		return s
	}
	client, err := connect.Redis(as("rivulet-trainer", "change-me-too"))
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	publisher, err := serving.NewPublisher(client, cfg.Redis.Prefix)
	expect.OK(t, err)
	var first, second string
	cfg.Redis.RedisServer = as("rivulet-consumer", "change-me")
	for k := range uint64(2) {
		cfg.Cache.Bytes = config.Bytes(k << 20) // the first one asks Redis for each row, the second reads M whole
		b := growing(t, 9+k)
		expect.OK(t, publisher.Publish(t.Context(), b, serving.PublishOptions{}))
		first, second = second, b.Manifest.Version
		arrivals, _ := newcomers(b, 9)
		for i := range arrivals {
			arrivals[i].ID = fmt.Sprintf("%d-%d", k, i)
			arrivals[i].Edges = append(arrivals[i].Edges, fmt.Sprintf("%d-0", k), "nobody")
		}
		streamUntil(t, cfg, arrivals, 9*(int(k)+1))
	}
	if versions, err := publisher.Versions(t.Context()); err != nil || len(versions) != 2 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
	if err := publisher.SetCurrent(t.Context(), first, false); err != nil {
		t.Error(err)
	}
	if removed, err := publisher.Prune(t.Context(), 0); err != nil || len(removed) != 1 || removed[0] != second {
		t.Errorf("removed %q (%v), want %s", removed, err, second)
	}
	reader, err := connect.Redis(cfg.Redis.RedisServer)
	expect.OK(t, err)
	defer func() { _ = reader.Close() }()
	for name, denied := range map[string]error{
		"pointing CURRENT elsewhere": reader.Set(t.Context(), "{rivulet}:current", "v", 0).Err(),
		"removing rows":              reader.Unlink(t.Context(), "rivulet:v:1:rows:0").Err(),
		"another prefix":             reader.Get(t.Context(), "other").Err(),
	} {
		if denied == nil || !strings.Contains(denied.Error(), "NOPERM") {
			t.Errorf("a consumer that is %s: error %v, want NOPERM", name, denied)
		}
	}
}

// The user of rivulet serve can answer, with the rows of arrivals, and can write none.
func TestRightsOfServe(t *testing.T) {
	harness.NeedRedis(t)
	file, err := filepath.Abs("../deploy/redis.acl")
	expect.OK(t, err)
	server := harness.StartRedis(t, "--aclfile", file)
	b := growing(t, 9)
	cfg := brokerOf(t)
	cfg.Redis.URL, cfg.Attach.Arrivals = config.RedisURL(server.URL()), config.On
	cfg.Redis.Username, cfg.Redis.Password = "rivulet-trainer", "change-me-too"
	publish(t, cfg.Redis.RedisServer, b)
	serve := serveSettings(cfg)
	serve.Redis.Username, serve.Redis.Password = "rivulet-serve", "change-me-as-well"
	first, _ := newcomers(b, 9)
	late := fmt.Sprintf(`{"id":"late","features":[1,2,3,4,5],"edges":[%q,%q]}`, first[1].ID, b.Mapping.IDs[0])
	// each row from Redis, before there are any of arrivals, and M read whole
	for k, cache := range []config.Bytes{0, 1 << 20} {
		serve.Cache.Bytes = cache
		url, stop := startServe(t, serve)
		awaitReady(t, url, true)
		status, text := request(t, http.MethodPost, url+"/predict", late)
		if status != http.StatusOK || strings.Contains(string(text), `"arrival_neighbours":1`) != (k == 1) {
			t.Errorf("%d %s", status, text)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		cfg.Redis.Username, cfg.Redis.Password = "rivulet-consumer", "change-me"
		if k == 0 {
			stream(t, cfg, first)
		}
	}
	client, err := connect.Redis(serve.Redis.RedisServer)
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	expect.Error(t, client.HSet(t.Context(), "rivulet:v:1:arrivals:0:0", "id", "row").Err(), "NOPERM", "writing a row")
}

// growing is a sealed artifact whose arrivals can be given rows.
func growing(t *testing.T, seed uint64) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Several(seed, artifacttest.Size{Nodes: 40, Synthetic: 6, Features: 5, Classes: 3})
	b.Growth = artifacttest.Growth(seed, b)
	expect.OK(t, b.Seal())
	return b
}
