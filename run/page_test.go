package run

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/replay"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// pageFor are the settings of a page for the consumer's services.
func pageFor(cfg config.Consumer) config.Page {
	p := config.Default[config.Page]()
	p.Kafka.Brokers, p.Kafka.Group, p.Kafka.Topics, p.Redis = cfg.Kafka.Brokers, cfg.Kafka.Group, cfg.Kafka.Topics,
		cfg.Redis
	p.Attach, p.Page.Listen = cfg.Attach.Attach, "127.0.0.1:0"
	return p
}

// runPage runs a page until the test ends, and returns its address.
func runPage(t *testing.T, cfg config.Page) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- Page(ctx, cfg, slog.New(slog.DiscardHandler), func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-ready:
		return url
	case err := <-done:
		done <- nil
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("the page cannot be opened")
	}
	return ""
}

// askPage sends a request and reads the answer's status and JSON.
func askPage(t *testing.T, client *http.Client, method, url, body, token string, v any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	expect.OK(t, err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	expect.OK(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	expect.OK(t, err)
	if v != nil && answer.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return answer.StatusCode
}

// The users rivulet-page and rivulet-activate of deploy/redis.acl can do what the page does, and no more.
func TestRightsOfThePageInRedis(t *testing.T) {
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
	publisher, end, err := connect.Publisher(as("rivulet-trainer", "change-me-too"))
	expect.OK(t, err)
	defer end()
	var names []string
	for k := range uint64(2) {
		b := growing(t, 9+k)
		expect.OK(t, publisher.Publish(t.Context(), b, serving.PublishOptions{}))
		names = append(names, b.Manifest.Version)
	}
	cfg.Redis.RedisServer = as("rivulet-page", "change-me-three")
	p := pageFor(cfg)
	p.Cache.Bytes = 0 // each row is asked for
	p.Page.Activate = config.PageActivate{Username: "rivulet-activate", Password: "change-me-four"}
	url := runPage(t, p)
	var seen struct {
		Current     string
		CanActivate bool `json:"can_activate"`
		Versions    []struct{ Version string }
	}
	for range 200 {
		if askPage(t, http.DefaultClient, "GET", url+"api/versions", "", "", &seen); seen.Current != "" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if seen.Current != names[1] || len(seen.Versions) != 2 || !seen.CanActivate {
		t.Fatalf("the page sees %+v, want %s of %q", seen, names[1], names)
	}
	try := func() int {
		return askPage(t, http.DefaultClient, "POST", url+"api/try",
			`{"id":"x","features":[1,2,3,4,5],"edges":["0","nobody"]}`, "", nil)
	}
	status := try()
	for range 200 {
		if status == http.StatusOK {
			break
		}
		time.Sleep(50 * time.Millisecond)
		status = try()
	}
	if status != http.StatusOK {
		t.Errorf("an answer on the page: status %d", status)
	}
	if got := askPage(t, http.DefaultClient, "POST", url+"api/activate", `{"version":"`+names[0]+`","expect":"`+names[1]+
		`"}`, "", nil); got != http.StatusOK {
		t.Errorf("activating: status %d", got)
	}
	if current, err := publisher.Current(t.Context()); err != nil || current != names[0] {
		t.Errorf("CURRENT is %s (%v), want %s", current, err, names[0])
	}
	for user, password := range map[string]string{"rivulet-page": "change-me-three",
		"rivulet-activate": "change-me-four"} {
		client, err := connect.Redis(as(user, password))
		expect.OK(t, err)
		t.Cleanup(func() { _ = client.Close() })
		denied := map[string]error{"removing rows": client.Unlink(t.Context(), "rivulet:v:1:rows:0").Err(),
			"writing rows":   client.HSet(t.Context(), "rivulet:v:1:rows:0", "a", "b").Err(),
			"another prefix": client.Get(t.Context(), "other").Err()}
		if user == "rivulet-page" {
			denied["moving CURRENT"] = client.Set(t.Context(), "{rivulet}:current", "v", 0).Err()
		}
		for what, err := range denied {
			expect.Error(t, err, "NOPERM", "%s, %s", user, what)
		}
	}
}

// Elsewhere than on loopback the page has TLS and a token. Its files are read again, so that they can be renewed.
func TestThePageHasTLSAndAToken(t *testing.T) {
	cfg := brokerOf(t)
	p := pageFor(cfg)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	expect.OK(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	authority := harness.NewAuthority(t)
	p.Page.TLS.CertFile, p.Page.TLS.KeyFile = harness.CertificateFiles(t,
		authority.Sign("page", time.Now().Add(time.Hour), "127.0.0.1"))
	p.Page.TokenFile = token
	url := runPage(t, p)
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatalf("the address is %s", url)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for given, want := range map[string]int{"": 401, "wrong": 401, "secret": 200} {
		if got := askPage(t, client, "GET", url+"api/versions", "", given, nil); got != want {
			t.Errorf("with the token %q: status %d, want %d", given, got, want)
		}
	}
	p.Page.TokenFile = filepath.Join(dir, "none")
	if err := Page(t.Context(), p, slog.New(slog.DiscardHandler), func(string) {
		t.Error("a page without its token was opened")
	}); err == nil ||
		!strings.Contains(err.Error(), "page.token_file") {
		t.Errorf("without the file of its token: %v", err)
	}
}

// A page watches and leaves no trace: the group has no further member and no further offset.
func TestAPageLeavesNoTraceInKafka(t *testing.T) {
	cfg := brokerOf(t)
	log := slog.New(slog.DiscardHandler)
	client, err := connect.Kafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
	expect.OK(t, err)
	defer client.Close()
	topic, err := replay.NewTopic(client, cfg.Kafka.Topics.Arrivals, "", log)
	expect.OK(t, err)
	if err := topic.Send(t.Context(), []event.Arrival{{ID: "a",
		Features: event.Features{Values: []float32{1, 2, 3}}}}); err != nil {
		t.Fatal(err)
	}
	url := runPage(t, pageFor(cfg))
	var s struct{ Totals [3]int64 }
	for range 200 {
		if askPage(t, http.DefaultClient, "GET", url+"api/stream", "", "", &s); s.Totals[0] == 1 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if s.Totals != [3]int64{1, 0, 0} {
		t.Errorf("the page has seen %v records, want one arrival", s.Totals)
	}
	r, end, err := connect.Services{Brokers: cfg.Kafka.Brokers, Log: log}.Reader(cfg.Kafka.Topics.Arrivals, cfg.Kafka.Group)
	expect.OK(t, err)
	defer end()
	g, err := r.Group(t.Context())
	if err != nil || len(g.Members) > 0 || len(g.Offsets) > 0 {
		t.Errorf("the group is %+v (%v), want nobody and nothing", g, err)
	}
}
