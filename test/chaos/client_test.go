package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// An answer counts, a refusal that may be counts, and any other status, a server that is gone and one that does not
// answer are violations.
func TestAsk(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/") {
		case "right":
			_, _ = w.Write([]byte("answer"))
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
		"away":   {refused: 1},
		"broken": {violation: "status 500"},
		"stuck":  {violation: "was not answered in"},
		"gone":   {violation: "refused"},
	} {
		asks := &client{Name: "serve", URL: server.URL + "/" + path, Refusals: []int{http.StatusServiceUnavailable},
			Limit: 5 * time.Second, Next: func() (string, []byte) { return "id", []byte("{}") }}
		switch path {
		case "stuck":
			asks.Limit = 10 * time.Millisecond
		case "gone":
			asks.URL = "http://127.0.0.1:1/"
			if asks.Ask(context.Background()); len(asks.violations) > 0 {
				t.Errorf("before it listens: %v", asks.violations)
			}
			asks.reached = true
		}
		before := time.Now()
		asks.Ask(context.Background())
		answers, violations := asks.Answers()
		if len(answers) != c.answers || asks.refused[http.StatusServiceUnavailable] != c.refused ||
			!strings.Contains(strings.Join(violations, "; "), c.violation) || (len(violations) > 0) != (c.violation != "") {
			t.Errorf("%s: %v, %v, %v; want %+v", path, answers, asks.refused, violations, c)
		}
		if asks.AnsweredSince(before) != (c.answers > 0) || asks.AnsweredSince(time.Now().Add(time.Hour)) {
			t.Errorf("%s: answered since it was asked: %t", path, asks.AnsweredSince(before))
		}
	}
}
