package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/serving"
	"rivulet/test/expect"
)

// One arrival gets its prediction, several an array of the same order in which each has a prediction or an error.
func TestAnswersKeepTheirOrder(t *testing.T) {
	a := start(t, nil)
	one := a.post(predictPath, arrival)
	p := predictionOf(t, one.body)
	if one.status != http.StatusOK || p.ID != "a" || p.Known != 1 || p.Unknown != 1 || p.Probabilities != nil ||
		p.Source != (event.Source{}) {
		t.Errorf("%d, %+v", one.status, p)
	}
	bad := a.post(predictPath, `{"id":"b","features":[1,2]}`)
	if bad.status != http.StatusUnprocessableEntity || bad.reason() != event.ReasonFeatureLength {
		t.Errorf("%d %s", bad.status, bad.body)
	}
	many := a.post(predictPath, ` [`+arrival+`, {"id":"b","features":[1,2]} ,{"id":"c","features":[NaN,1,2]},`+"\n"+
		`{"id":7,"features":{"indices":[1]}}] `)
	var parts []json.RawMessage
	if err := json.Unmarshal(many.body, &parts); err != nil || len(parts) != 4 || many.status != http.StatusOK {
		t.Fatalf("%d %s", many.status, many.body)
	}
	first, last := predictionOf(t, parts[0]), predictionOf(t, parts[3])
	if diff := cmp.Diff(p, first); diff != "" {
		t.Errorf("alone and in company (-alone +company):\n%s", diff)
	}
	if last.ID != "7" || last.Source.Offset != 3 {
		t.Errorf("%+v", last)
	}
	for i, reason := range map[int]string{1: event.ReasonFeatureLength, 2: event.ReasonNotFinite} {
		if got := (answer{body: parts[i]}).reason(); got != reason {
			t.Errorf("arrival %d: %s, want %s", i, parts[i], reason)
		}
	}
	if none := a.post(predictPath, `[]`); string(none.body) != "[]" || none.status != http.StatusOK {
		t.Errorf("no arrivals: %d %s", none.status, none.body)
	}
	if probed := a.post(predictPath, arrival, "Rivulet-Schema: abc"); probed.status != http.StatusUnprocessableEntity ||
		probed.reason() != event.ReasonSchema {
		t.Errorf("positions of another schema: %d %s", probed.status, probed.body)
	}
}

// Records of another shape are read as the consumer reads them; one that is no arrival is said to be none.
func TestMappedArrivals(t *testing.T) {
	a := start(t, func(o *Options) {
		var err error
		if o.Path.Forms.Mapping, err = read.NewMapping(read.MappingOptions{Preset: read.PresetDebezium}); err != nil {
			t.Fatal(err)
		}
	})
	got := a.post(predictPath, `[{"op":"c","after":`+arrival+`},{"op":"d","before":{"id":"x"},"after":null}]`)
	var parts []json.RawMessage
	if err := json.Unmarshal(got.body, &parts); err != nil || len(parts) != 2 {
		t.Fatalf("%s", got.body)
	}
	if p := predictionOf(t, parts[0]); p.ID != "a" || (answer{body: parts[1]}).reason() != reasonSkipped {
		t.Errorf("%s", got.body)
	}
}

func TestExplanations(t *testing.T) {
	a := start(t, nil)
	got := a.post(explainPath, `[`+arrival+`,{"id":"b"}]`)
	var parts []struct {
		ID    string
		Logit struct{ Class float64 }
		Error struct{ Reason string }
	}
	if err := json.Unmarshal(got.body, &parts); err != nil || len(parts) != 2 || parts[0].ID != "a" ||
		parts[0].Logit.Class == 0 ||
		parts[1].Error.Reason != event.ReasonUnparsable {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestRefusedRequests(t *testing.T) {
	a := start(t, func(o *Options) { o.Tokens, o.Limits.Body = word("right"), 4096 })
	const token = "Authorization: Bearer right"
	long := strings.Repeat("1,", 2100)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		reason             string
	}{
		{"POST", predictPath, arrival, []string{token}, 200, ""},
		{"POST", predictPath, arrival, []string{"Authorization: bearer right"}, 200, ""},
		{"POST", predictPath, arrival, nil, 401, "unauthorized"},
		{"POST", predictPath, arrival, []string{"Authorization: Bearer wrong"}, 401, "unauthorized"},
		{"POST", predictPath, arrival, []string{"Authorization: Basic right"}, 401, "unauthorized"},
		{"POST", predictPath, arrival, []string{token, token}, 401, "unauthorized"},
		{"POST", predictPath + "?token=right&access_token=right", arrival, []string{"Cookie: token=right"}, 401,
			"unauthorized"},
		{"GET", metricsPath, "", nil, 401, "unauthorized"},
		{"GET", livePath, "", nil, 200, ""},
		{"GET", predictPath, "", []string{token}, 405, "method"},
		{"GET", "/nothing", "", []string{token}, 404, "not_found"},
		{"POST", predictPath, arrival, []string{token, "Content-Type: text/plain"}, 415, reasonMediaType},
		{"POST", predictPath, arrival, []string{token, "Content-Type: application/x-protobuf"}, 415, reasonMediaType},
		{"POST", predictPath, arrival, []string{token, "Content-Type: application/json; charset=latin1"}, 415,
			reasonMediaType},
		{"POST", predictPath, arrival, []string{token, "Content-Type: application/json; charset=UTF-8"}, 200, ""},
		{"POST", predictPath, arrival, []string{token, "Content-Encoding: gzip"}, 415, reasonMediaType},
		{"POST", explainPath, arrival, []string{token, "Content-Encoding: ZSTD"}, 415, reasonMediaType},
		{"POST", predictPath, arrival, []string{token, "Content-Encoding: identity, deflate"}, 415, reasonMediaType},
		{"POST", predictPath, "", []string{token}, 400, reasonMalformed},
		{"POST", predictPath, "[" + arrival, []string{token}, 400, reasonMalformed},
		{"POST", predictPath, "[" + arrival + ",]", []string{token}, 400, reasonMalformed},
		{"POST", predictPath, arrival + "}", []string{token}, 422, event.ReasonUnparsable},
		{"POST", predictPath, "[" + long + "1]", []string{token}, 413, reasonTooLarge},
		{"POST", predictPath, "[" + long[:128] + "1]", []string{token}, 413, reasonTooMany},
	} {
		got, err := a.do(t.Context(), c.method, c.path, strings.NewReader(c.body), c.headers...)
		if err != nil || got.status != c.status || got.reason() != c.reason {
			t.Errorf("%s %s %q %.40q: %d %s %v, want %d %s", c.method, c.path, c.headers, c.body, got.status, got.body, err,
				c.status, c.reason)
		}
	}
	// A body whose length is not said is not read beyond the limit.
	endless, err := a.do(t.Context(), "POST", predictPath, struct{ *strings.Reader }{strings.NewReader("[" + long + "1]")},
		token)
	if err != nil || endless.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of unknown length: %d, %v", endless.status, err)
	}
}

// Any bytes as a body get an answer that a client can read, and never a failure of the server.
func FuzzBodies(f *testing.F) {
	a := start(f, func(o *Options) { o.Limits.Body = 4096 })
	f.Add([]byte(`[{"id":"a","features":[1,2,3],"edges":["node-0-é"]},{"id":"b","features":{"indices":[1],` +
		`"values":[2]}}]`))
	f.Add([]byte(`[{"id":1,"features":{"named":{"a":null}}}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{predictPath, explainPath} {
			got, err := a.do(context.Background(), http.MethodPost, path, bytes.NewReader(body))
			expect.OK(t, err)
			switch got.status {
			case 200, 400, 413, 422:
			default:
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
			if !json.Valid(got.body) {
				t.Fatalf("%s: the answer is no JSON: %q", path, got.body)
			}
		}
	})
}

// Neither bodies nor tokens are in the log, whatever happens to them.
func TestTheLogHasNoBodies(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	a := start(t, func(o *Options) {
		o.Tokens = word("right-word")
		o.Log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	a.version.now.Load().rows = func(_ context.Context, ids []string) error {
		if ids[0] == "secret-broken" {
			return errDown
		}
		return nil
	}
	for _, body := range []string{`{"id":"secret-id","features":[1,2,31337],"edges":["secret-edge"]}`,
		`{"id":"secret-id","features":["secret"]}`, `secret`,
		`{"id":"secret-id","features":[1,2,31337],"edges":["secret-broken"]}`} {
		for _, path := range []string{predictPath, explainPath, predictPath + "?secret=1"} {
			a.post(path, body, "Authorization: Bearer right-word")
			a.post(path, body, "Authorization: Bearer secret-token")
		}
	}
	a.get("/secret")
	mu.Lock()
	defer mu.Unlock()
	if text := log.String(); strings.Contains(text, "secret") || strings.Contains(text, "31337") ||
		strings.Contains(text, "right-word") || !strings.Contains(text, predictPath) {
		t.Errorf("the log is\n%s", text)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// While versions are swapped under load, each request is answered by one of them, with the bits of that one.
func TestSwapsUnderLoad(t *testing.T) {
	a := start(t, nil)
	versions := []*gated{a.version.now.Load(), versionOf(t, bundle(t, 2), serving.Options{})}
	body := func(i int) string {
		return fmt.Sprintf(`[{"id":"%[1]d","features":[%[1]d,2,3],"edges":["node-1-é","node-%[2]d-é"]},{"id":"x",`+
			`"features":[0,%[1]d,1]}]`, i, i%20)
	}
	const n = 40
	want := map[string][]event.Prediction{}
	for _, v := range versions {
		a.version.now.Store(v)
		for i := range n {
			want[v.ID()] = append(want[v.ID()], pairOf(t, a.post(predictPath, body(i)).body)...)
		}
	}
	if versions[0].ID() == versions[1].ID() ||
		cmp.Equal(want[versions[0].ID()][0].Probability, want[versions[1].ID()][0].Probability) {
		t.Fatal("the versions do not differ")
	}
	done := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for k := 0; ; k++ {
			select {
			case <-done:
				return
			default:
				a.version.now.Store(versions[k%2])
			}
		}
	})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for i := range n {
				got := a.post(predictPath, body(i))
				if got.status != http.StatusOK {
					t.Errorf("%d %s", got.status, got.body)
					return
				}
				pair := pairOf(t, got.body)
				if diff := cmp.Diff(want[pair[0].Artifact][2*i:2*i+2], pair); diff != "" {
					t.Errorf("request %d (-alone +under load):\n%s", i, diff)
				}
			}
		})
	}
	clients.Wait()
	close(done)
	swaps.Wait()
}

func pairOf(t *testing.T, text []byte) (pair []event.Prediction) {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != 2 {
		t.Errorf("%s", text)
		return make([]event.Prediction, 2)
	}
	return []event.Prediction{predictionOf(t, parts[0]), predictionOf(t, parts[1])}
}
