package page

import (
	"net/http"
	"strings"
	"testing"

	"rivulet/test/expect"
)

func TestEveryRequestIsGuarded(t *testing.T) {
	b := newBench(t, nil)
	own := "http://" + host
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/", nil, 200},
		{"GET", "/app.js", nil, 200},
		{"GET", "/vendor/uplot/LICENSE", nil, 200},
		{"GET", "/vendor/", nil, 404},
		{"GET", "/nothing", nil, 404},
		{"GET", "/api/versions", nil, 200},
		{"GET", "/api/versions", []string{"Origin", own}, 200},
		{"GET", "/", []string{"Host", "evil.example"}, 421},
		{"GET", "/api/stream", []string{"Host", "localhost:1"}, 421},
		{"GET", "/api/stream", []string{"Host", ""}, 421},
		{"GET", "/api/stream", []string{"Origin", "http://evil.example"}, 403},
		{"GET", "/api/stream", []string{"Origin", "null"}, 403},
		{"GET", "/api/stream", []string{"Origin", "https://" + host}, 403},
		{"GET", "/api/stream", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"GET", "/api/stream", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"GET", "/api/stream", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200}, // a link
		{"GET", "/app.js", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"POST", "/api/try", []string{"Origin", "http://evil.example"}, 403},
		{"POST", "/api/try", []string{"Content-Type", "text/plain"}, 415},
		{"POST", "/api/try", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"POST", "/api/try", []string{"Content-Type", ""}, 415},
		{"POST", "/api/try", []string{"Origin", own, "Content-Type", "application/json; charset=utf-8"}, 422},
		{"POST", "/api/stream", nil, 405},
		{"DELETE", "/api/versions", nil, 405},
		{"OPTIONS", "/api/try", []string{"Origin", "http://evil.example", "Access-Control-Request-Method", "POST"}, 403},
	} {
		w := b.ask(c.method, c.path, "", c.headers...)
		if w.Code != c.status {
			t.Errorf("%s %s with %q: status %d, want %d", c.method, c.path, c.headers, w.Code, c.status)
		}
		h := w.Header()
		if got := h.Get("Content-Security-Policy"); got != "default-src 'none'; script-src 'self'; style-src 'self'; "+
			"connect-src 'self'; frame-ancestors 'none'" {
			t.Errorf("%s %s: policy is %q", c.method, c.path, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: types may be guessed", c.method, c.path)
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s %s: %s is sent", c.method, c.path, name)
			}
		}
	}
}

func TestATokenIsForReadsToo(t *testing.T) {
	b := newBench(t, nil)
	b.page.o.Guard.Tokens = word("secret")
	for _, c := range []struct {
		path, authorization string
		status              int
	}{
		{"/", "", 200}, // the page itself has no data, and asks for the token
		{"/api/versions", "", 401},
		{"/api/versions", "Bearer wrong", 401},
		{"/api/versions", "Bearer ", 401},
		{"/api/versions", "Basic secret", 401},
		{"/api/versions?token=secret", "", 401},
		{"/api/versions", "Bearer secret", 200},
	} {
		headers := []string{}
		if c.authorization != "" {
			headers = []string{"Authorization", c.authorization}
		}
		if w := b.ask(http.MethodGet, c.path, "", headers...); w.Code != c.status {
			t.Errorf("%s with %q: status %d, want %d", c.path, c.authorization, w.Code, c.status)
		}
	}
}

// word is the only token that is taken.
type word string

func (w word) Takes(token string) bool { return token == string(w) }

func TestALargeBodyIsRefused(t *testing.T) {
	b := newBench(t, nil)
	if w := b.ask(http.MethodPost, "/api/try", `{"id":"`+strings.Repeat("x", maxBody)+
		`"}`); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", w.Code)
	}
}

// What comes from outside is never markup: the modules know no innerHTML and its like.
func TestModulesWriteNoMarkup(t *testing.T) {
	entries, err := static.ReadDir("static")
	expect.OK(t, err)
	modules := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".js") {
			continue
		}
		modules++
		text, err := static.ReadFile("static/" + e.Name())
		expect.OK(t, err)
		for _, word := range []string{".innerHTML", ".outerHTML", "insertAdjacentHTML", "document.write", "DOMParser",
			"eval(", "new Function", "createContextualFragment", "http://", "https://"} {
			if strings.Contains(strings.ReplaceAll(string(text), `"http://www.w3.org/2000/svg"`, ""), word) {
				t.Errorf("%s has %q", e.Name(), word)
			}
		}
	}
	if modules < 8 {
		t.Errorf("only %d modules were looked at", modules)
	}
}
