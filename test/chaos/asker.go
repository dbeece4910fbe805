package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"rivulet/event"
	wire "rivulet/event/json"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// asker is a program that answers requests, rivulet serve or the live page, and a client that asks it for one arrival
// after the other while things break. An answer is right, or an error that says what is away, and it comes in time.
type asker struct {
	name string // of the command
	url  string // where arrivals are sent, as JSON
	// refusals are the statuses with which a request may be refused while something is away.
	refusals []int
	// limit is the time that an answer may take: the program's own limit, and what a busy machine takes.
	limit time.Duration
	next  func() record.Arrival
	// check returns what is wrong with an answer; empty: nothing.
	check   func(id string, body []byte) string
	log     string // file
	process *harness.Process

	mu         sync.Mutex
	reached    bool // the program has begun to listen
	answers    []reply
	last       time.Time // the last request that was answered was sent then
	refused    map[int]int
	violations []string
	longest    time.Duration
}

// reply is an answer with status 200.
type reply struct {
	id   string
	body []byte
}

// run asks until ctx ends.
func (a *asker) run(ctx context.Context) {
	const pause = 200 * time.Millisecond
	for harness.Sleep(ctx, pause) == nil {
		a.ask(ctx)
	}
}

// ask asks once.
func (a *asker) ask(ctx context.Context) {
	arrival := a.next()
	begin := time.Now()
	status, body, err := a.post(ctx, arrival.Value[record.JSON])
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	violated := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		a.violations = append(a.violations, fmt.Sprintf("%s: arrival %s: %s", a.name, arrival.ID, text))
	}
	a.longest, a.reached = max(a.longest, time.Since(begin)), a.reached || err == nil
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		violated("not answered in %v", a.limit)
	case err != nil && a.reached:
		violated("%v", err)
	case err != nil:
	case status == http.StatusOK:
		a.answers, a.last = append(a.answers, reply{arrival.ID, body}), begin
	case slices.Contains(a.refusals, status):
		a.refused[status]++
	default:
		violated("status %d: %.200s", status, body)
	}
}

func (a *asker) post(ctx context.Context, arrival []byte) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(arrival))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", "http://"+request.URL.Host) // as the live page wants it
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// ended reports whether the program has ended.
func (a *asker) ended() bool {
	select {
	case <-a.process.Done():
		return true
	default:
		return false
	}
}

// stop ends the program as an orchestrator does. It must not have ended by itself.
func (a *asker) stop() error {
	if a.ended() {
		return fmt.Errorf("%s ended by itself: %w: see %s", a.name, a.process.Wait(), a.log)
	}
	return a.process.Drain(patience)
}

// answersAgain waits until the program answers a request that is sent from now on.
func (a *asker) answersAgain(ctx context.Context) error {
	since := time.Now()
	return harness.Await(ctx, patience, a.name+" answers again", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.last.After(since) || a.ended()
	})
}

// judge returns what the program did, in words, and what was wrong. Only at the end it is known what all versions say.
func (a *asker) judge() (summary string, violations []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	violations = slices.Clone(a.violations)
	for _, one := range a.answers {
		if wrong := a.check(one.id, one.body); wrong != "" {
			violations = append(violations, fmt.Sprintf("%s: arrival %s: %s", a.name, one.id, wrong))
		}
	}
	return fmt.Sprintf("%s: %d requests were answered and refused with %v (status: requests); the longest took %.1f s",
		a.name, len(a.answers), a.refused, a.longest.Seconds()), violations
}

// startAskers starts the programs that answer requests: rivulet serve, which may degrade, and the live page, which
// waits for Redis. They reach Kafka and Redis through the proxies of the first consumers.
func (r *run) startAskers() error {
	for _, name := range []string{"serve", "page"} {
		addr, err := harness.FreeAddr()
		if err != nil {
			return err
		}
		at := 0
		a := &asker{name: name, limit: 30 * time.Second, refused: map[int]int{}, log: r.world.Path(name + ".log"),
			next: func() record.Arrival {
				at++
				return r.world.Arrivals[(at-1)%int(r.world.Released.Load())]
			}}
		config := r.world.Path(name + ".yaml")
		if name == "serve" {
			a.url = "http://" + addr + "/predict"
			a.refusals = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
			a.check = func(id string, body []byte) string { return checkServe(r.world.Expected, id, body) }
			err = r.world.Write(name+".yaml", r.askerConfig(name, addr, "degrade", "output: {logits: true}\n"))
		} else {
			a.url = "http://" + addr + "/api/try"
			a.refusals = []int{http.StatusBadGateway, http.StatusServiceUnavailable}
			a.check = func(id string, body []byte) string { return checkPage(r.world.Expected, id, body) }
			err = r.world.Write(name+".yaml", r.askerConfig(name, addr, "wait", r.pageTopics()))
		}
		if err != nil {
			return err
		}
		log, err := os.Create(a.log)
		if err != nil {
			return err
		}
		a.process, err = r.world.Start(log, "rivulet", name, "--config", config)
		if err = errors.Join(err, log.Close()); err != nil {
			return err
		}
		r.askers = append(r.askers, a)
	}
	return nil
}

func (r *run) askerConfig(name, addr, outage, more string) string {
	return fmt.Sprintf(`redis:
  {%s, prefix: %s, poll_interval: 100ms, outage: %s, read_timeout: 500ms, breaker: {open_for: 1s}}
cache: {bytes: 32KiB}
%s: {listen: %q}
%s`, r.world.RedisURL(r.world.RedisWays[0].Addr()), world.Prefix, outage, name, addr, more)
}

// pageTopics returns the settings by which the page shows the first stream.
func (r *run) pageTopics() string {
	s := r.streams[0]
	var brokers []string
	for _, p := range r.world.KafkaWays[0] {
		brokers = append(brokers, p.Addr())
	}
	return fmt.Sprintf("kafka: {brokers: [%s], group: %s, topics: {arrivals: %[2]s.arrivals, "+
		"predictions: %[2]s.predictions, dead_letters: %[2]s.letters}}\nregistry: {urls: [%[3]q]}\n",
		strings.Join(brokers, ", "), s.Name, r.world.Registry.URL())
}

// checkServe compares an answer of serve with what its version says of the arrival, if that alone decides it.
func checkServe(expected ledger.Expectation, id string, body []byte) string {
	var p event.Prediction
	if err := (wire.Codec{}).DecodePrediction(body, &p); err != nil || p.ID != id {
		return fmt.Sprintf("%v: %.200s", err, body)
	}
	want, known := expected(p.Artifact, p.ID)
	if got := harness.Says(&p); !p.Degraded && p.Arrivals == 0 && (!known || got != want) {
		return fmt.Sprintf("version %s says %s, want %s", p.Artifact, got, want)
	}
	return ""
}

// checkPage does so for the page, whose answers are never degraded.
func checkPage(expected ledger.Expectation, id string, body []byte) string {
	var p struct {
		ID, Artifact string
		Class        int
		ClassName    string `json:"class_name"`
		Probability  float32
		Degraded     bool
	}
	err := json.Unmarshal(body, &p)
	want, known := expected(p.Artifact, id)
	got := fmt.Sprintf("class %d %s, probability %08x,", p.Class, p.ClassName, math.Float32bits(p.Probability))
	if err != nil || p.ID != id || p.Degraded || !known || !strings.HasPrefix(want, got) { // [harness.Says] goes on
		return fmt.Sprintf("version %s says %s degraded %t, want %.60s", p.Artifact, got, p.Degraded, want)
	}
	return ""
}
