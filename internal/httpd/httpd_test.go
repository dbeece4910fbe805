package httpd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rivulet/test/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server runs a server until stop, which returns the error of Run.
type server struct {
	t       *testing.T
	address string
	stop    func() error
}

func start(t *testing.T, change func(*Options)) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	o := Options{Name: "a test", Header: time.Minute, Body: 50 * time.Millisecond, Write: time.Minute, Drain: time.Minute,
		Connections: 4, Health: func(r *http.Request) bool {
			return r.URL.Path == "/health"
		}, Log: slog.New(slog.DiscardHandler),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, listener, o) }()
	s := &server{t: t, address: listener.Addr().String()}
	s.stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() { _ = s.stop() })
	return s
}

// send writes a text to a connection of its own.
func (s *server) send(text string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// status sends a request and returns the first line of the answer.
func (s *server) status(path string) string {
	s.t.Helper()
	line, err := bufio.NewReader(s.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")).ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	return strings.TrimSpace(line)
}

// Silent connections make room for new ones, those first that never asked.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	s := start(t, nil)
	kept := s.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	answer := bufio.NewReader(kept)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	first := s.send("")
	for range 4 + healthReserve {
		s.send("GET / HT") // the beginning of a header
	}
	if got := s.status("/"); !strings.Contains(got, "200") {
		t.Errorf("beside silent connections: %s", got)
	}
	if _, err := first.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first silent connection is open: %v", err)
	}
	if _, err := io.WriteString(kept, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(answer); err != nil || strings.Count(string(rest), "200 OK") != 1 {
		t.Errorf("a connection that had asked: %q, %v", rest, err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// If all connections have a request, others are refused, but health is answered.
func TestHealthHasAReserve(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	s := start(t, func(o *Options) {
		o.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/work" {
				inside <- struct{}{}
				<-release
			}
		})
	})
	for range 4 {
		s.send("GET /work HTTP/1.1\r\nHost: x\r\n\r\n")
		<-inside
	}
	if got := s.status("/other"); !strings.Contains(got, "503") {
		t.Errorf("a fifth request: %s", got)
	}
	if got := s.status("/health"); !strings.Contains(got, "200") {
		t.Errorf("health: %s", got)
	}
	close(release)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// A stop waits for work, and says so where the drain is too short; clients that are silent are no error.
func TestStop(t *testing.T) {
	for working, want := range map[int]bool{0: false, 1: true} {
		inside := make(chan struct{})
		s := start(t, func(o *Options) {
			o.Drain = 20 * time.Millisecond
			o.Working = func() int { return working }
			o.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(inside)
				<-r.Context().Done()
			})
		})
		s.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		s.send("")
		<-inside
		if err := s.stop(); (err != nil) != want {
			t.Errorf("with %d requests that are worked on: %v", working, err)
		}
	}
}
