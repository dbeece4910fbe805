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
	"sync"
	"time"

	"rivulet/test/harness"
)

// answer is an answer with status 200.
type answer struct {
	ID          string
	Body        []byte
	Asked, Seen time.Time
}

// client asks one URL for one arrival after the other.
type client struct {
	Name string
	URL  string // where arrivals are sent, as JSON
	// Origin is the site whose page sends the requests; empty: no page does.
	Origin string
	// Refusals are the statuses with which a request may be refused while something is away.
	Refusals []int
	// Limit is how long an answer may take: the program's own limit, and what a busy machine takes.
	Limit time.Duration
	// Next returns the id and the JSON of the next arrival.
	Next func() (id string, body []byte)

	mu         sync.Mutex
	reached    bool // the program has begun to listen
	answers    []answer
	refused    map[int]int // by status
	violations []string
	longest    time.Duration
}

// Run asks until ctx ends, with a pause between two requests.
func (c *client) Run(ctx context.Context, pause time.Duration) {
	pacer := time.NewTicker(pause)
	defer pacer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pacer.C:
			c.Ask(ctx)
		}
	}
}

// Ask asks once.
func (c *client) Ask(ctx context.Context) {
	id, arrival := c.Next()
	begin := time.Now()
	status, body, err := c.post(ctx, arrival)
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest, c.reached = max(c.longest, now.Sub(begin)), c.reached || err == nil
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.violated("arrival %s was not answered in %v", id, c.Limit)
	case err != nil && c.reached:
		c.violated("arrival %s: %v", id, err)
	case err != nil:
	case status == http.StatusOK:
		c.answers = append(c.answers, answer{id, body, begin, now})
	case slices.Contains(c.Refusals, status):
		if c.refused == nil {
			c.refused = map[int]int{}
		}
		c.refused[status]++
	default:
		c.violated("arrival %s was answered with status %d: %.200s", id, status, body)
	}
}

func (c *client) post(ctx context.Context, body []byte) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.Origin != "" {
		request.Header.Set("Origin", c.Origin)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

func (c *client) violated(format string, args ...any) {
	c.violations = append(c.violations, c.Name+": "+fmt.Sprintf(format, args...))
}

// AnsweredSince reports whether a request that was sent after a time was answered.
func (c *client) AnsweredSince(at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answers) > 0 && c.answers[len(c.answers)-1].Asked.After(at)
}

// Answers returns all answers and violations so far.
func (c *client) Answers() ([]answer, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.answers), slices.Clone(c.violations)
}

func (c *client) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s: %d requests were answered and refused with %v (status: requests); the longest took %.1f s",
		c.Name,
		len(c.answers), c.refused, c.longest.Seconds())
}

// program is a program that answers requests, and its client.
type program struct {
	*client
	workshop harness.Workshop
	process  *harness.Process
}

// Log returns the file with what the program writes.
func (p *program) Log() string { return p.workshop.Path(p.Name + ".log") }

// Start starts the command of rivulet that has the program's name, with a configuration.
func (p *program) Start(config string) error {
	if err := p.workshop.Write(p.Name+".yaml", config); err != nil {
		return err
	}
	log, err := os.Create(p.Log())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.process, err = p.workshop.Start(log, "rivulet", p.Name, "--config", p.workshop.Path(p.Name+".yaml"))
	return err
}

// Ended reports whether the program has ended.
func (p *program) Ended() bool {
	select {
	case <-p.process.Done():
		return true
	default:
		return false
	}
}

// Stop ends the program as an orchestrator does. It must not have ended by itself.
func (p *program) Stop(limit time.Duration) error {
	if p.Ended() {
		return fmt.Errorf("%s ended by itself: %w: see %s", p.Name, p.process.Wait(), p.Log())
	}
	return p.process.Drain(limit)
}

// pageAnswer is an answer of the live page.
type pageAnswer struct {
	ID, Artifact string
	Class        int
	ClassName    string `json:"class_name"`
	Probability  float32
	Degraded     bool
}

// page returns an answer as one of the live page.
func (a answer) page() (p pageAnswer, err error) {
	err = json.Unmarshal(a.Body, &p)
	return p, err
}

// String begins as the numbers of a prediction do ([harness.Numbers]).
func (p pageAnswer) String() string {
	return fmt.Sprintf("class %d %s, probability %08x,", p.Class, p.ClassName, math.Float32bits(p.Probability))
}
