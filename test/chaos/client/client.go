package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Answer is an answer with status 200.
type Answer struct {
	ID          string
	Body        []byte
	Asked, Seen time.Time
}

// Client asks one URL for one arrival after the other.
type Client struct {
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
	answers    []Answer
	refused    map[int]int // by status
	violations []string
	longest    time.Duration
}

// Run asks until ctx ends, with a pause between two requests.
func (c *Client) Run(ctx context.Context, pause time.Duration) {
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
func (c *Client) Ask(ctx context.Context) {
	id, body := c.Next()
	begin := time.Now()
	status, answer, err := c.post(ctx, body)
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
		c.answers = append(c.answers, Answer{id, answer, begin, now})
	case slices.Contains(c.Refusals, status):
		if c.refused == nil {
			c.refused = map[int]int{}
		}
		c.refused[status]++
	default:
		c.violated("arrival %s was answered with status %d: %.200s", id, status, answer)
	}
}

func (c *Client) post(ctx context.Context, body []byte) (status int, answer []byte, err error) {
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

func (c *Client) violated(format string, args ...any) {
	c.violations = append(c.violations, c.Name+": "+fmt.Sprintf(format, args...))
}

// AnsweredSince reports whether a request that was sent after a time was answered.
func (c *Client) AnsweredSince(at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answers) > 0 && c.answers[len(c.answers)-1].Asked.After(at)
}

// Answers returns all answers and violations so far.
func (c *Client) Answers() ([]Answer, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.answers), slices.Clone(c.violations)
}

func (c *Client) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s: %d requests were answered and refused with %v (status: requests); the longest took %.1f s",
		c.Name,
		len(c.answers), c.refused, c.longest.Seconds())
}
