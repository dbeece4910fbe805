package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/serving"
)

// later sends a request that is answered some time.
func (a *api) later(ctx context.Context, body string) chan answer {
	out := make(chan answer, 1)
	go func() {
		got, err := a.do(ctx, http.MethodPost, predictPath, strings.NewReader(body))
		if err != nil {
			got.body = []byte(err.Error())
		}
		out <- got
	}()
	return out
}

// fill occupies all lanes, and returns the answers to come.
func (a *api) fill(inside chan []string) (all []chan answer) {
	for range len(a.server.lanes) - 1 {
		all = append(all, a.later(a.t.Context(), arrival))
		<-inside
	}
	return all
}

// waiting waits until so many arrivals wait.
func (a *api) waiting(n int) {
	for a.server.predicts.depth() != n {
		time.Sleep(time.Millisecond)
	}
}

// Requests beyond the queue are refused at once with a time to come again; waiting ones are answered, in larger
// batches.
func TestOverload(t *testing.T) {
	a := start(t, func(o *Options) { o.Limits.QueueArrivals = 3 })
	inside, release := held(a.version.now.Load())
	all := a.fill(inside)
	for k := range 3 {
		all = append(all, a.later(t.Context(), arrival))
		a.waiting(k + 1)
	}
	got := a.post(predictPath, arrival)
	if got.status != http.StatusTooManyRequests || got.reason() != reasonOverloaded ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s %s", got.status, got.header, got.body)
	}
	close(release)
	for _, one := range all {
		if got := <-one; got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if got := a.post(predictPath, arrival); got.status != http.StatusOK {
		t.Errorf("afterwards %d %s", got.status, got.body)
	}
	if n := a.server.predicts.depth(); n != 0 {
		t.Errorf("%d arrivals still wait", n)
	}
}

// A request alone may be larger than the queue, and bodies that are under way are counted.
func TestBodiesUnderWay(t *testing.T) {
	a := start(t, func(o *Options) { o.Limits.QueueArrivals, o.Limits.QueueBytes = 1, 64 })
	big := "[" + strings.Repeat(arrival+",", 3) + arrival + "]"
	if got := a.post(predictPath, big); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	inside, release := held(a.version.now.Load())
	first := a.later(t.Context(), arrival)
	<-inside
	if got := a.post(predictPath, big); got.status != http.StatusTooManyRequests {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(release)
	<-first
	if got := a.post(predictPath, big); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestTimeout(t *testing.T) {
	a := start(t, func(o *Options) { o.Limits.Timeout = 50 * time.Millisecond })
	inside, release := held(a.version.now.Load())
	defer close(release)
	for _, path := range []string{predictPath, explainPath} {
		if got := a.post(path, arrival); got.status != http.StatusGatewayTimeout || got.reason() != reasonTimeout {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		<-inside
	}
	// A body that does not come ends, too.
	never, err := a.do(t.Context(), http.MethodPost, predictPath, stuck{t.Context()})
	if err == nil && never.status != http.StatusRequestTimeout {
		t.Errorf("%d %s", never.status, never.body)
	}
}

// stuck is a body that does not come.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// Nobody works for a client that has left: neither while it waits nor while its rows are looked up.
func TestClientsThatLeave(t *testing.T) {
	a := start(t, nil)
	v := a.version.now.Load()
	ended := make(chan error, 1)
	inside := make(chan []string, 8)
	v.rows = func(ctx context.Context, ids []string) error {
		inside <- ids
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := a.later(ctx, arrival)
	<-inside
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the lookup ended with %v", err)
	}
	<-gone

	release := make(chan struct{})
	v.rows = func(_ context.Context, ids []string) error {
		inside <- ids
		<-release
		return nil
	}
	all := a.fill(inside)
	ctx, leave = context.WithCancel(t.Context())
	gone = a.later(ctx, `{"id":"left","features":[1,2,3],"edges":["left"]}`)
	a.waiting(1)
	leave()
	<-gone
	last := a.later(t.Context(), `{"id":"b","features":[1,2,3],"edges":["stayed"]}`)
	a.waiting(2)
	close(release)
	for _, one := range append(all, last) {
		if got := <-one; got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	close(inside)
	for ids := range inside {
		if slices.Contains(ids, "left") {
			t.Error("rows were looked up for a client that had left")
		}
	}
}

func TestWithoutAVersion(t *testing.T) {
	a := start(t, nil)
	a.version.now.Store(nil)
	for _, path := range []string{predictPath, explainPath} {
		if got := a.post(path, arrival); got.status != 503 || got.reason() != reasonNoVersion ||
			got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// Where rows of one request cannot be read, that one is refused, and not those that were in one batch with it.
func TestRowsThatCannotBeRead(t *testing.T) {
	a := start(t, nil)
	v := a.version.now.Load()
	inside, release := held(v)
	all := a.fill(inside)
	good := a.later(t.Context(), arrival)
	a.waiting(1)
	bad := a.later(t.Context(), `{"id":"b","features":[1,2,3],"edges":["lost"]}`)
	a.waiting(2)
	hold := v.rows
	lost := func(ctx context.Context, ids []string) error {
		if slices.Contains(ids, "lost") {
			return errDown
		}
		return hold(ctx, ids)
	}
	second := &gated{Version: v.Version, rows: lost}
	a.version.now.Store(second)
	close(release)
	for _, one := range append(all, good) {
		if got := <-one; got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if got := <-bad; got.status != 503 || got.reason() != reasonRows || got.header.Get("Retry-After") == "" ||
		strings.Contains(string(got.body), "refused") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A stop finishes what has begun, takes nothing new, and says that it is not ready.
func TestDrain(t *testing.T) {
	a := start(t, nil)
	inside, release := held(a.version.now.Load())
	begun := a.later(t.Context(), arrival)
	<-inside
	a.stop()
	for !a.server.Draining() {
		time.Sleep(time.Millisecond)
	}
	ready := httptest.NewRecorder()
	a.server.handler.ServeHTTP(ready, httptest.NewRequest(http.MethodGet, readyPath, nil))
	if ready.Code != http.StatusServiceUnavailable {
		t.Errorf("ready while draining: %d %s", ready.Code, ready.Body)
	}
	for { // the listener is closed a moment later
		if _, err := a.do(t.Context(), http.MethodGet, livePath, nil); err != nil {
			break
		}
	}
	close(release)
	if got := <-begun; got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if err := <-a.ended; err != nil {
		t.Error(err)
	}
	a.ended <- nil
}

// A model whose predictions depend on their company gets each request on its own.
func TestJointRequestsStayAlone(t *testing.T) {
	a := start(t, nil)
	v := versionOf(t, bundle(t, 1), serving.Options{Attachment: "joint"})
	a.version.now.Store(v)
	want := predictionOf(t, a.post(predictPath, arrival).body)
	inside, release := held(v)
	all := a.fill(inside)
	for k := range 6 {
		all = append(all, a.later(t.Context(), arrival))
		a.waiting(k + 1)
	}
	close(release)
	for _, one := range all {
		if p := predictionOf(t, (<-one).body); p.Probability != want.Probability {
			t.Errorf("%v, alone %v", p.Probability, want.Probability)
		}
	}
}

// A batch waits for others as long as it may, and goes when it is full.
func TestLinger(t *testing.T) {
	a := start(t, func(o *Options) { o.Batching = Batching{Size: 3, Linger: time.Hour} })
	first, second, third := a.later(t.Context(), arrival), a.later(t.Context(), arrival), a.later(t.Context(), arrival)
	batches := map[string]bool{}
	for _, one := range []chan answer{first, second, third} {
		got := <-one
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		_, rest, _ := strings.Cut(string(got.body), `"batch":"`)
		name, _, _ := strings.Cut(rest, `"`)
		batches[name] = true
	}
	if len(batches) != 1 {
		t.Errorf("batches %v, want one", batches)
	}
}
