package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rivulet/test/chaos/record"
)

// An answer counts, a refusal that may be counts, and any other status, a server that is gone and one that does not
// answer are violations.
func TestAsk(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/") {
		case "right":
			_, _ = w.Write([]byte("right"))
		case "wrong":
			_, _ = w.Write([]byte("other bits"))
		case "away":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "stuck":
			<-stuck
		}
	}))
	defer server.Close()
	defer close(stuck)
	for path, c := range map[string]struct {
		answers, refused int
		violation        string
	}{
		"right":  {answers: 1},
		"wrong":  {answers: 1, violation: "arrival id: other bits"},
		"away":   {refused: 1},
		"broken": {violation: "status 500"},
		"stuck":  {violation: "not answered in"},
		"gone":   {violation: "refused"},
	} {
		a := &asker{name: "serve", url: server.URL + "/" + path, refusals: []int{http.StatusServiceUnavailable},
			limit: 5 * time.Second, refused: map[int]int{}, next: func() record.Arrival { return record.Arrival{ID: "id"} },
			check: func(_ string, body []byte) string { return strings.TrimPrefix(string(body), "right") }}
		switch path {
		case "stuck":
			a.limit = 10 * time.Millisecond
		case "gone":
			a.url = "http://127.0.0.1:1/"
			if a.ask(t.Context()); len(a.violations) > 0 {
				t.Errorf("before it listens: %v", a.violations)
			}
			a.reached = true
		}
		a.ask(t.Context())
		_, violations := a.judge()
		if len(a.answers) != c.answers || a.refused[http.StatusServiceUnavailable] != c.refused ||
			!strings.Contains(strings.Join(violations, "; "), c.violation) || (len(violations) > 0) != (c.violation != "") {
			t.Errorf("%s: %v, %v, %v; want %+v", path, a.answers, a.refused, violations, c)
		}
		if a.last.IsZero() != (c.answers == 0) {
			t.Errorf("%s: last answered %v", path, a.last)
		}
	}
}
