package serve

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"rivulet/serving"
	"rivulet/test/expect"
)

// dial sends the beginning of a request and returns the connection.
func dial(t *testing.T, a *api, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	expect.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// A request whose body never comes is answered: net/http first reads up to 256 KiB of a body that the handler has left.
func TestBodyThatNeverComes(t *testing.T) {
	a := start(t, func(o *Options) { o.Limits.Timeout = 200 * time.Millisecond; o.Tokens = word("secret") })
	const token = "Authorization: Bearer secret\r\nContent-Type: application/json\r\n"
	for want, head := range map[string]string{
		"401": "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
		"404": "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
		"405": "PUT /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"200": "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
		"415": "POST /predict HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 100\r\n\r\n",
		"408": "POST /predict HTTP/1.1\r\nHost: x\r\n" + token + "Content-Length: 100\r\n\r\n{",
		"413": "POST /predict HTTP/1.1\r\nHost: x\r\n" + token + "Content-Length: 99999999\r\n\r\n{",
	} {
		line, err := bufio.NewReader(dial(t, a, head)).ReadString('\n')
		if !strings.HasPrefix(line, "HTTP/1.1 "+want) {
			t.Errorf("the answer is %q (%v), want %s", line, err, want)
		}
	}
}

// A stop ends without an error, whatever clients leave open.
func TestStopBesideSilentClients(t *testing.T) {
	a := start(t, func(o *Options) { o.Limits.Timeout = time.Hour })
	dial(t, a, "")
	dial(t, a, "POST /pre")
	dial(t, a, "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
	dial(t, a, "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if got := a.get(livePath); got.status != http.StatusOK {
		t.Fatalf("health: %d", got.status)
	}
	a.stop()
	err := <-a.ended
	a.ended <- nil
	if err != nil {
		t.Error(err)
	}
}

// Without a token, no page of another site may ask: not across sites, and not by a name that its DNS points here.
func TestOtherSitesAreRefused(t *testing.T) {
	ask := func(a *api, host string, headers ...string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+predictPath, strings.NewReader(arrival))
		expect.OK(t, err)
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		for _, h := range headers {
			if name, value, ok := strings.Cut(h, ": "); ok {
				r.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultClient.Do(r)
		expect.OK(t, err)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	open := start(t, func(o *Options) { o.Origin.Hosts = []string{"api.shop.example"} })
	for _, c := range []struct {
		host, header string
		want         int
	}{
		{"127.0.0.1:8080", "", 200}, {"[::1]:8080", "", 200}, {"localhost", "", 200}, {"rivulet:8080", "", 200},
		{"rivulet.prod.svc:8080", "", 200}, {"api.shop.example", "", 200}, {"API.shop.example:443", "", 200},
		{"evil.example", "", 421}, {"evil.example:8080", "", 421}, {"127.0.0.1.evil.example", "", 421},
		{"localhost:8080", "Origin: http://localhost:8080", 200},
		{"localhost:8080", "Origin: http://evil.example", 403}, {"localhost:8080", "Origin: null", 403},
		{"localhost:8080", "Sec-Fetch-Site: cross-site", 403}, {"localhost:8080", "Sec-Fetch-Site: none", 200},
	} {
		if got := ask(open, c.host, c.header); got != c.want {
			t.Errorf("host %s with %q: %d, want %d", c.host, c.header, got, c.want)
		}
	}
	// A page of another site has no token to send.
	if got := ask(start(t, func(o *Options) { o.Tokens = word("secret") }), "api.example",
		"Authorization: Bearer secret"); got != 200 {
		t.Errorf("with a token under any name: %d", got)
	}
}

// A client that has left is worked for no longer, and requests have turns.
func TestExplanationsTakeTurns(t *testing.T) {
	a := start(t, func(o *Options) { o.Limits.Arrivals = 1024; o.Limits.QueueArrivals = 2048 })
	v := versionOf(t, bundle(t, 1), serving.Options{})
	inside := make(chan struct{}, 1024)
	release := make(chan struct{})
	v.rows = func(ctx context.Context, _ []string) error {
		inside <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a.version.now.Store(v)
	many := "[" + strings.TrimSuffix(strings.Repeat(arrival+",", 1024), ",") + "]"
	leaving, leave := context.WithCancel(t.Context())
	large := make(chan error, 1)
	go func() {
		_, err := a.do(leaving, http.MethodPost, explainPath, strings.NewReader(many))
		large <- err
	}()
	<-inside // the first turn of the large request
	small := make(chan int, 1)
	go func() { small <- a.post(explainPath, arrival).status }()
	for a.server.explains.depth() < 1025 { // it waits, too
		time.Sleep(time.Millisecond)
	}
	release <- struct{}{} // the end of the first turn
	<-inside              // the small request's
	release <- struct{}{}
	if got := <-small; got != http.StatusOK {
		t.Errorf("the small request: %d", got)
	}
	<-inside // the large one again
	leave()
	if err := <-large; err == nil {
		t.Error("the client left, and has an answer")
	}
	for a.server.explains.depth() > 0 { // nobody works for it
		time.Sleep(time.Millisecond)
	}
	if turns := len(inside); turns > 0 {
		t.Errorf("%d more turns of a client that has left", turns)
	}
}
