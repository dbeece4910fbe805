package run

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/internal/devstack"
	"rivulet/internal/replay"
	"rivulet/mapping"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// serveSettings are those of a server beside a consumer.
func serveSettings(c config.Consumer) config.Serve {
	cfg := config.Default[config.Serve]()
	cfg.Redis, cfg.Choice, cfg.Attach, cfg.Cache, cfg.Output.Answer = c.Redis, c.Choice, c.Attach.Attach, c.Cache,
		c.Output.Answer
	cfg.Redis.PollInterval = 20 * time.Millisecond
	return cfg
}

// startServe starts a server and returns its address. It ends with the test, or by stop, which returns its error.
func startServe(t *testing.T, cfg config.Serve) (url string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveOn(ctx, listener, cfg, slog.New(slog.DiscardHandler)) }()
	stop = sync.OnceValue(func() error {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return "http://" + listener.Addr().String(), stop
}

func request(t *testing.T, method, url, body string, headers ...string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	expect.OK(t, err)
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, text
}

// awaitReady waits until a server is ready, or is not any more.
func awaitReady(t *testing.T, url string, ready bool) {
	t.Helper()
	for {
		if status, _ := request(t, http.MethodGet, url+"/readyz", ""); (status == http.StatusOK) == ready {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Requests get the stream's answers, to the bit, whatever else is asked at the same time and in whatever portions.
func TestAnswersAreTheStreams(t *testing.T) {
	d, b := generated(t)
	sameAsTheStream(t, d, b, 1500)
}

func TestAnswersAreTheStreamsOnARealGraph(t *testing.T) {
	d, err := dataset.Open(datatest.Dir(t, "cora"), dataset.OpenOptions{})
	expect.OK(t, err)
	sameAsTheStream(t, d, trained(t, d), 1000)
}

func sameAsTheStream(t *testing.T, d *dataset.Dataset, b *artifact.Bundle, least int) {
	var lines bytes.Buffer
	if _, err := replay.Replay(t.Context(), replay.TestNodes(d), &replay.Lines{W: &lines},
		replay.Options{Chunk: 250}); err != nil {
		t.Fatal(err)
	}
	var texts []string
	var arrivals []event.Arrival
	for line := range strings.Lines(lines.String()) {
		var a event.Arrival
		expect.OK(t, (eventjson.Codec{}).DecodeArrival([]byte(line), &a))
		texts, arrivals = append(texts, strings.TrimSpace(line)), append(arrivals, a)
	}
	if len(arrivals) < least {
		t.Fatalf("%d arrivals, want %d", len(arrivals), least)
	}
	cfg := stackOf(t, b)
	cfg.Output.Answer = config.Answer{Probabilities: true, Logits: true, TopK: 2, Explain: 3, ExplainIDs: true,
		Representation: "logits"}
	want := stream(t, cfg, arrivals)
	url, stop := startServe(t, serveSettings(cfg))
	awaitReady(t, url, true)
	got := make([]event.Prediction, len(texts))
	var portions [][2]int
	for from := 0; from < len(texts); {
		to := min(from+1+(7*len(portions))%40, len(texts))
		portions, from = append(portions, [2]int{from, to}), to
	}
	const together = 4
	var clients sync.WaitGroup
	for c := range together {
		clients.Go(func() {
			for k := c; k < len(portions); k += together {
				from, to := portions[k][0], portions[k][1]
				ask(t, url, texts[from:to], got[from:to])
			}
		})
	}
	clients.Wait()
	for i := range want {
		w, g := want[i], got[i]
		w.Batch, w.Source, w.IngestTime, w.PredictedTime, w.Key = "", event.Source{}, time.Time{}, time.Time{}, nil
		g.Batch, g.Source, g.IngestTime, g.PredictedTime, g.Key = "", event.Source{}, time.Time{}, time.Time{}, nil
		if diff := cmp.Diff(w, g); diff != "" {
			t.Fatalf("arrival %d (-stream +served):\n%s", i, diff)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// ask fills into with the predictions of arrivals.
func ask(t *testing.T, url string, arrivals []string, into []event.Prediction) {
	status, text := request(t, http.MethodPost, url+"/predict", "["+strings.Join(arrivals, ",")+"]")
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || status != http.StatusOK || len(parts) != len(arrivals) {
		t.Errorf("%d %v %.200s", status, err, text)
		return
	}
	for i := range parts {
		var p event.Prediction
		if err := (eventjson.Codec{}).DecodePrediction(parts[i], &p); err != nil || p.Source.Offset != int64(i) ||
			p.Source.Topic != "" {
			t.Errorf("%v %s", err, parts[i])
		}
		into[i] = p
	}
}

// A server holds the version that it serves, follows CURRENT, reads the rows of arrivals and writes none.
func TestServeFollowsCurrent(t *testing.T) {
	b := growing(t, 9)
	cfg := stackOf(t, b)
	cfg.Attach.Arrivals = config.On
	first, _ := newcomers(b, 9)
	stream(t, cfg, first) // these are nodes now
	client, err := connect.Redis(cfg.Redis.RedisServer)
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	before := rowsOfArrivals(t, client, cfg.Redis.Prefix)
	if len(before) == 0 {
		t.Fatal("the stream wrote no rows of arrivals")
	}
	url, stop := startServe(t, serveSettings(cfg))
	awaitReady(t, url, true)
	late := fmt.Sprintf(`{"id":"late","features":[1,2,3,4,5],"edges":[%q,%q]}`, first[1].ID, b.Mapping.IDs[0])
	status, text := request(t, http.MethodPost, url+"/predict", late)
	var p event.Prediction
	if err := (eventjson.Codec{}).DecodePrediction(text, &p); err != nil || status != http.StatusOK || p.Arrivals != 1 ||
		p.Known != 1 {
		t.Errorf("%d %v %s", status, err, text)
	}
	status, text = request(t, http.MethodPost, url+"/explain", late)
	if status != http.StatusOK || !bytes.Contains(text, []byte(`"state":"arrived"`)) {
		t.Errorf("%d %s", status, text)
	}
	if diff := cmp.Diff(before, rowsOfArrivals(t, client, cfg.Redis.Prefix)); diff != "" {
		t.Errorf("rows of arrivals (-before +after):\n%s", diff)
	}

	publisher, err := serving.NewPublisher(client, cfg.Redis.Prefix)
	expect.OK(t, err)
	holders := func(version string) (n int) {
		versions, err := publisher.Versions(t.Context())
		expect.OK(t, err)
		for _, v := range versions {
			if v.Version == version {
				n = len(v.Holders)
			}
		}
		return n
	}
	if n := holders(b.Manifest.Version); n != 1 {
		t.Errorf("%d hold the version, want the server", n)
	}
	next := growing(t, 10)
	expect.OK(t, publisher.Publish(t.Context(), next, serving.PublishOptions{}))
	for {
		if _, text := request(t, http.MethodPost, url+"/predict", late); bytes.Contains(text, []byte(next.Manifest.Version)) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := holders(next.Manifest.Version); n != 0 {
		t.Errorf("%d hold the version after the server's end", n)
	}
}

// rowsOfArrivals are the keys of rows of arrivals with what is in them.
func rowsOfArrivals(t *testing.T, client mapping.Client, prefix string) map[string]string {
	t.Helper()
	keys, err := harness.Keys(t.Context(), client, prefix+":*:a:*")
	expect.OK(t, err)
	all := map[string]string{}
	for _, key := range keys {
		all[key], err = client.Get(t.Context(), key).Result()
		expect.OK(t, err)
	}
	return all
}

// Before anything is published a server says so, and answers once there is something.
func TestServeWaitsForAVersion(t *testing.T) {
	server, err := devstack.StartRedis()
	expect.OK(t, err)
	defer server.Close()
	c := config.Default[config.Consumer]()
	c.Redis.URL = config.RedisURL(server.URL())
	url, stop := startServe(t, serveSettings(c))
	if status, text := request(t, http.MethodPost, url+"/predict", `{"id":1,"features":[1]}`); status != 503 ||
		!bytes.Contains(text, []byte("no_version")) {
		t.Errorf("%d %s", status, text)
	}
	awaitReady(t, url, false)
	publish(t, c.Redis.RedisServer, growing(t, 9))
	awaitReady(t, url, true)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func publish(t *testing.T, s config.RedisServer, b *artifact.Bundle) {
	t.Helper()
	client, err := connect.Redis(s)
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	publisher, err := serving.NewPublisher(client, s.Prefix)
	expect.OK(t, err)
	expect.OK(t, publisher.Publish(t.Context(), b, serving.PublishOptions{}))
}

// Without Redis what needs no row is answered; what does is refused, or degraded where that is asked for.
func TestServeWithoutRedis(t *testing.T) {
	for _, outage := range []string{"wait", config.Degrade} {
		t.Run(outage, func(t *testing.T) {
			server, err := devstack.StartRedis()
			expect.OK(t, err)
			b := growing(t, 9)
			c := config.Default[config.Consumer]()
			c.Redis.URL, c.Redis.Outage, c.Cache.Bytes = config.RedisURL(server.URL()), outage, 0
			c.Redis.LookupTimeout, c.Redis.Retry.Attempts = 200*time.Millisecond, 0
			publish(t, c.Redis.RedisServer, b)
			url, stop := startServe(t, serveSettings(c))
			awaitReady(t, url, true)
			server.Close()
			alone, linked := `{"id":"a","features":[1,2,3,4,5]}`, fmt.Sprintf(`{"id":"a","features":[1,2,3,4,5],"edges":[%q]}`,
				b.Mapping.IDs[0])
			if status, text := request(t, http.MethodPost, url+"/predict", alone); status != http.StatusOK {
				t.Errorf("%d %s", status, text)
			}
			status, text := request(t, http.MethodPost, url+"/predict", linked)
			if outage == "wait" && (status != 503 || !bytes.Contains(text, []byte("rows_unavailable"))) {
				t.Errorf("%d %s", status, text)
			}
			if outage != "wait" && (status != http.StatusOK || !bytes.Contains(text, []byte(`"degraded":true`))) {
				t.Errorf("%d %s", status, text)
			}
			if status, text := request(t, http.MethodGet, url+"/metrics", ""); status != http.StatusOK ||
				!bytes.Contains(text, []byte(`rivulet_http_requests_total{route="/predict",status="200"}`)) ||
				!bytes.Contains(text, []byte("rivulet_ready 1")) {
				t.Errorf("metrics: %d %s", status, text)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TLS and a token; a file of tokens is read again.
func TestServeWithTLSAndTokens(t *testing.T) {
	dir := t.TempDir()
	b := growing(t, 9)
	expect.OK(t, artifact.Write(filepath.Join(dir, "a"), b))
	file := filepath.Join(dir, "tokens")
	expect.OK(t, os.WriteFile(file, []byte("\nfirst\n second \n"), 0o600))
	tokens, err := connect.Tokens("serve.", config.Access{TokenFile: file}, slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	for token, want := range map[string]bool{"first": true, "second": true, "": false, "firs": false, "third": false} {
		if tokens.Takes(token) != want {
			t.Errorf("token %q is taken: %v", token, !want)
		}
	}
	expect.OK(t, os.WriteFile(file, []byte("third\n"), 0o600))
	if !tokens.Takes("third") || tokens.Takes("first") {
		t.Error("the file was not read again")
	}
	expect.OK(t, os.Remove(file))
	if tokens.Takes("third") {
		t.Error("the file was removed, and its token is still valid")
	}
	if _, err := connect.Tokens("serve.", config.Access{TokenFile: file}, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "serve.token_file") {
		t.Error(err)
	}
	expect.OK(t, os.WriteFile(file, []byte("\n"), 0o600))
	if _, err := connect.Tokens("serve.", config.Access{TokenFile: file}, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "no token") {
		t.Error(err)
	}
	authority := harness.NewAuthority(t)
	cfg := config.Default[config.Serve]()
	cfg.Artifact, cfg.Server.Token = filepath.Join(dir, "a"), "word"
	cfg.Server.TLS.CertFile, cfg.Server.TLS.KeyFile = harness.CertificateFiles(t,
		authority.Sign("server", time.Now().Add(time.Hour), "127.0.0.1"))
	url, stop := startServe(t, cfg)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool(),
		MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	for token, want := range map[string]int{"word": http.StatusOK, "other": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(url, "http:", "https:", 1)+
			"/predict",
			strings.NewReader(`{"id":"a","features":[1,2,3,4,5]}`))
		expect.OK(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		expect.OK(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("token %s over TLS: %d", token, resp.StatusCode)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := connect.ServerTLS("serve.tls", config.ServerTLS{CertFile: "missing", KeyFile: "missing"}); err == nil ||
		!strings.Contains(err.Error(), "serve.tls.cert_file") {
		t.Error(err)
	}
}
