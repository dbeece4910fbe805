package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// asking has the clients ask so often.
const asking = 200 * time.Millisecond

// startAskers starts the programs that answer requests while faults happen: rivulet serve, which may degrade, and the
// live page, which waits for Redis. They reach Kafka and Redis through the proxies of the first consumers.
func (r *run) startAskers() error {
	w := r.world
	for _, name := range []string{"serve", "page"} {
		addr, err := harness.FreeAddr()
		if err != nil {
			return err
		}
		at := 0
		next := func() (string, []byte) {
			a := w.Arrivals[at%int(w.Released.Load())]
			at++
			return a.ID, a.Value[record.JSON]
		}
		a := &program{workshop: w.Workshop, client: &client{Name: name, Next: next, Limit: 30 * time.Second}}
		outage := "degrade"
		if name == "serve" {
			a.URL = "http://" + addr + "/predict"
			a.Refusals = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
		} else {
			outage, a.Origin, a.URL = "wait", "http://"+addr, "http://"+addr+"/api/try"
			a.Refusals = []int{http.StatusBadGateway, http.StatusServiceUnavailable}
		}
		if err := a.Start(r.askerConfig(name, addr, outage)); err != nil {
			return err
		}
		r.askers = append(r.askers, a)
	}
	return nil
}

func (r *run) askerConfig(name, addr, outage string) string {
	s := r.streams[0] // whose topics the page shows
	var brokers []string
	for _, p := range r.world.KafkaWays[0] {
		brokers = append(brokers, p.Addr())
	}
	kafka := ""
	if name == "page" {
		kafka = fmt.Sprintf("kafka: {brokers: [%s], group: %s, topics: {arrivals: %[2]s.arrivals, "+
			"predictions: %[2]s.predictions, dead_letters: %[2]s.letters}}\n"+
			"registry: {urls: [%[3]q]}\n", strings.Join(brokers, ", "), s.Name,
			r.world.Registry.URL())
	} else {
		kafka = "output: {logits: true}\n"
	}
	return fmt.Sprintf(`redis:
  {%s, prefix: %s, poll_interval: 100ms, outage: %s, read_timeout: 500ms, breaker: {open_for: 1s}}
cache: {bytes: 32KiB}
%s: {listen: %q}
%s`, r.world.RedisURL(r.world.RedisWays[0].Addr()), world.Prefix, outage, name, addr, kafka)
}

// askedAgain waits until each program answers requests that were sent after a time.
func (r *run) askedAgain(ctx context.Context, since time.Time) (err error) {
	for _, a := range r.askers {
		err = errors.Join(err, harness.Await(ctx, patience, a.Name+" answers again", func() bool {
			return a.Ended() || a.AnsweredSince(since)
		}))
	}
	return err
}

// stopAskers ends the programs as an orchestrator does.
func (r *run) stopAskers() (err error) {
	for _, a := range r.askers {
		err = errors.Join(err, a.Stop(patience))
	}
	return err
}

// asked returns which answers of serve and of the page are wrong.
func (r *run) asked() (violations []string) {
	for _, a := range r.askers {
		answers, broken := a.Answers()
		violations = append(violations, broken...)
		check := checkServe
		if a.Name == "page" {
			check = checkPage
		}
		for _, answer := range answers {
			violations = append(violations, check(r.world.Expected, answer)...)
		}
	}
	return violations
}

// checkServe compares an answer of serve with what its version says of the arrival, if that alone decides it.
func checkServe(expected ledger.Expectation, answer answer) []string {
	var p event.Prediction
	if err := (json.Codec{}).DecodePrediction(answer.Body, &p); err != nil || p.ID != answer.ID {
		return []string{fmt.Sprintf("serve: arrival %s: %v: %.200s", answer.ID, err, answer.Body)}
	}
	want, known := expected(p.Artifact, p.ID)
	if got := harness.Says(&p); !p.Degraded && p.Arrivals == 0 && (!known || got != want) {
		return []string{fmt.Sprintf("serve: it says of arrival %s by version %s: %s, want %s", p.ID, p.Artifact, got, want)}
	}
	return nil
}

// checkPage compares an answer of the page with what its version says of the arrival.
func checkPage(expected ledger.Expectation, answer answer) (violations []string) {
	got, err := answer.page()
	want, known := expected(got.Artifact, answer.ID)
	if err != nil || got.ID != answer.ID || got.Degraded || !known || !strings.HasPrefix(want, got.String()) {
		violations = append(violations, fmt.Sprintf("page: it says of arrival %s by version %s: %s degraded %t, want %.60s",
			answer.ID, got.Artifact, got, got.Degraded, want))
	}
	return violations
}
