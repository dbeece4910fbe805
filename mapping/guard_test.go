package mapping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// serverError is an error that a server answers with.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

func TestUnavailable(t *testing.T) {
	for _, err := range []error{io.EOF, &net.OpError{Op: "dial", Err: errors.New("refused")}, context.DeadlineExceeded,
		redis.ErrPoolTimeout,
		serverError("LOADING Redis is loading the dataset in memory"), serverError("CLUSTERDOWN The cluster is down"),
		serverError("READONLY You can't write against a read only replica."),
		serverError("MASTERDOWN Link with MASTER is down"),
		serverError("TRYAGAIN Multiple keys request during rehashing of slot"),
		serverError("BUSY Redis is busy running a script"), serverError("ERR max number of clients reached"),
		serverError("MOVED 1 127.0.0.1:1")} {
		if !Unavailable(fmt.Errorf("reading: %w", err)) {
			t.Errorf("%v counts as an answer", err)
		}
	}
	for _, err := range []error{nil, ErrVanished, Damaged{io.EOF}, redis.ErrClosed, serverError("NOPERM no permissions"),
		serverError("WRONGPASS invalid username-password pair"), serverError("WRONGTYPE Operation against a key")} {
		if err != nil {
			err = fmt.Errorf("reading: %w", err)
		}
		if Unavailable(err) {
			t.Errorf("%v counts as no answer", err)
		}
	}
}

// An error says whether waiting for rows can help. A wrong password may be one that is being changed.
func TestFinal(t *testing.T) {
	for err, want := range map[error]bool{serverError("NOPERM no permissions"): true,
		serverError("WRONGPASS invalid"):                 false,
		serverError("WRONGTYPE Operation against a key"): true, serverError("ERR unknown command 'HMGET'"): true,
		redis.ErrClosed: true,
		serverError("ERR DB index is out of range"): true, serverError("ERR something new"): false,
		io.EOF: false, ErrVanished: false, serverError("OOM command not allowed"): false} {
		var own interface{ Permanent() bool }
		marked := Permanent(fmt.Errorf("reading: %w", err))
		if got := errors.As(marked, &own) && own.Permanent(); got != want || !errors.Is(marked, err) {
			t.Errorf("%v is permanent: %v, want %v", err, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, err := range []error{serverError("NOAUTH Authentication required."),
		serverError("WRONGPASS invalid username-password pair"),
		serverError("NOPERM no permissions"), serverError("ERR AUTH <password> called without any password configured"),
		redis.ErrClosed} {
		if err := fmt.Errorf("reading: %w", err); !Refused(err) || Unavailable(err) {
			t.Errorf("%v: refused %t, unavailable %t", err, Refused(err), Unavailable(err))
		}
	}
	for _, err := range []error{nil, io.EOF, serverError("LOADING Redis is loading"), ErrVanished} {
		if Refused(err) {
			t.Errorf("%v counts as a refusal", err)
		}
	}
}

// opened returns a guard behind a cache of 50 rows, and its log.
func opened(o GuardOptions) (lookup Lookup, inner *recorded, log *bytes.Buffer) {
	log = &bytes.Buffer{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	inner = &recorded{Lookup: FromArtifact(numbered(50, 3))}
	return NewGuard(o).Lookup(inner), inner, log
}

func TestBreakerOpensProbesAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lookup, inner, _ := opened(GuardOptions{Failures: 3, OpenFor: 5 * time.Second})
		ask := func() error { return lookup.Rows(t.Context(), []string{"1"}, make([]attach.Row, 1)) }
		asked := func(want int) {
			t.Helper()
			if got := len(inner.take()); got != want {
				t.Errorf("Redis was asked %d times, want %d", got, want)
			}
		}
		lost := errors.New("connection lost")
		inner.err = lost
		for range 2 {
			if err := ask(); !errors.Is(err, lost) {
				t.Fatal(err)
			}
		}
		inner.err = nil // two failures are not three, and a success ends the row
		expect.OK(t, ask())
		asked(3)

		inner.err = lost
		for range 10 {
			if err := ask(); !errors.Is(err, lost) {
				t.Fatal(err)
			}
		}
		asked(3)
		if err := ask(); err == nil || !strings.Contains(err.Error(),
			"Redis is not asked for 5s after 3 failures, the last of which was: connection lost") {
			t.Errorf("error of an open breaker is %v", err)
		}
		time.Sleep(5*time.Second + 1)
		for range 10 { // one probe, and open again
			if err := ask(); !errors.Is(err, lost) {
				t.Fatal(err)
			}
		}
		asked(1)
		time.Sleep(5*time.Second + 1)
		inner.err = nil
		for range 4 {
			expect.OK(t, ask())
		}
		asked(4)
	})
}

// While one lookup tries whether Redis is back the others do not wait for it.
func TestBreakerProbesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lookup, inner, _ := opened(GuardOptions{Failures: 1, OpenFor: time.Second})
		inner.err = io.EOF
		ask := func(ctx context.Context) error { return lookup.Rows(ctx, []string{"1"}, make([]attach.Row, 1)) }
		_ = ask(t.Context())
		time.Sleep(time.Second + 1)
		inner.take()
		inner.hold = make(chan struct{}) // the probe hangs in its lookup
		probe := make(chan error)
		go func() { probe <- ask(t.Context()) }()
		synctest.Wait()
		if err := ask(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("error beside a probe is %v, want the last failure", err)
		}
		inner.err = nil
		close(inner.hold)
		if err := <-probe; err != nil {
			t.Errorf("the probe ended with %v", err)
		}
		if err := ask(t.Context()); err != nil || len(inner.take()) != 2 {
			t.Errorf("error after the probe is %v", err)
		}
	})
}

// Answers that are errors, and callers that give up, do not count as failures of Redis.
func TestBreakerStaysClosed(t *testing.T) {
	lookup, inner, _ := opened(GuardOptions{Failures: 1, OpenFor: time.Hour, Degrade: true})
	for range 3 {
		inner.err = serverError("NOPERM no permissions")
		if got := lookup.Rows(t.Context(), []string{"1"}, make([]attach.Row, 1)); !errors.Is(got, inner.err) {
			t.Errorf("error is %v, want %v also where Redis may degrade", got, inner.err)
		}
		inner.err = Damaged{errors.New("bad row of an arrival")}
		if rows := mustRows(t, lookup, "1", "2"); !rows[0].Unread || !rows[1].Unread {
			t.Errorf("rows beside a damaged entry are %+v, want that they are unread", rows)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inner.err = context.Canceled
	for range 3 {
		if err := lookup.Rows(ctx, []string{"1"}, make([]attach.Row, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want that the caller has given up", err)
		}
	}
	inner.err = nil
	if err := lookup.Rows(t.Context(), []string{"1"}, make([]attach.Row, 1)); err != nil {
		t.Error(err)
	}
}

// A row in memory is answered as always: known, empty or not in T. Other rows are unread and not cached, and are
// answered again after the outage.
func TestDegradedAnswersFromMemory(t *testing.T) {
	guarded, inner, log := opened(GuardOptions{Degrade: true})
	cached := NewCached(guarded, 1<<20)
	before := mustRows(t, cached, "7", "10", "nobody")
	for _, err := range []error{io.EOF, fmt.Errorf("reading: %w", ErrVanished)} {
		inner.err = err
		for range 2 {
			got := mustRows(t, cached, "8", "10", "7", "nobody", "somebody")
			want := []attach.Row{{Unread: true}, before[1], before[0], before[2], {Unread: true}}
			expect.Same(t, want, got, "rows while Redis is down")
		}
	}
	if !before[1].Known || before[1].Cols != nil || before[2].Known {
		t.Fatalf("rows are %+v: want an empty one that is known, and one that is unknown", before)
	}
	if stats := cached.Stats(); stats.Unread != 8 || stats.Entries != 3 || stats.Unknown != 1 {
		t.Errorf("counts are %+v", stats)
	}
	inner.err = nil
	if diff := cmp.Diff(mustRows(t, FromArtifact(numbered(50, 3)), "8", "somebody"),
		mustRows(t, cached, "8", "somebody")); diff != "" {
		t.Errorf("rows after the outage (-want +got):\n%s", diff)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "error=EOF") ||
		!strings.Contains(lines[1], "level=INFO") || !strings.Contains(lines[1], "degraded_lookups=4") {
		t.Errorf("logged %q, want the begin and the end of the outage", lines)
	}
}
