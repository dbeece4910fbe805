package harness

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rivulet/test/expect"
)

// echo runs a server that sends every line back.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	expect.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func TestProxy(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("rivulet/test/harness.echo.func2"),
		goleak.IgnoreAnyFunction("rivulet/test/harness.echo.func2.1"))
	p, err := NewProxy(t.Context())
	expect.OK(t, err)
	p.Serve(t.Context(), echo(t))
	defer p.Close()
	c, lines := dial(t, p.Addr())
	exchange := func(text string) {
		t.Helper()
		_, _ = io.WriteString(c, text+"\n")
		if got, err := lines.ReadString('\n'); got != text+"\n" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	exchange("passing")

	p.Set(Silent)
	_, _ = io.WriteString(c, "kept\n")
	late, lateLines := dial(t, p.Addr()) // accepted, and not carried
	_, _ = io.WriteString(late, "later\n")
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if got, err := lines.ReadString('\n'); !errors.As(err, new(net.Error)) {
		t.Fatalf("a silent proxy let %q through: %v", got, err)
	}
	_ = c.SetReadDeadline(time.Time{})
	p.Set(Passing)
	for want, r := range map[string]*bufio.Reader{"kept\n": lines, "later\n": lateLines} {
		if got, err := r.ReadString('\n'); got != want {
			t.Fatalf("after a silence: %q, %v, want %q", got, err, want)
		}
	}

	p.Set(Refused)
	if got, err := lines.ReadString('\n'); err == nil {
		t.Fatalf("the connection goes on: %q", got)
	}
	_, refusedLines := dial(t, p.Addr())
	if got, err := refusedLines.ReadString('\n'); err == nil {
		t.Fatalf("a new connection is served: %q", got)
	}
	p.Set(Passing)
	c, lines = dial(t, p.Addr())
	exchange("again")
}
