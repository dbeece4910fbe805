package oracle

import (
	"bufio"
	"io"
	"os"
	"strings"
	"time"
)

// Outage is a time in which rows may be unread.
type Outage struct{ From, To time.Time }

// Settling is how long after an outage predictions may still be degraded: the breaker is open for a second, and the
// batch in hand may have been looked up before. On a busy machine a process may not run for seconds.
const Settling = 10 * time.Second

func within(all []Outage, at time.Time) bool { return overlaps(all, at, at) }

// overlaps reports whether an outage, or the time in which it settles, has a part of a time.
func overlaps(all []Outage, from, to time.Time) bool {
	for _, o := range all {
		if !to.Before(o.From) && !from.After(o.To.Add(Settling)) {
			return true
		}
	}
	return false
}

// Lines of a consumer's log with which an outage begins and ends: of rows of M, and of rows and notes of arrivals.
var logged = []struct{ begins, ends string }{
	{"mapping rows cannot be read", "mapping rows are read again"},
	{"rows and notes of arrivals cannot be written", "rows and notes of arrivals are written again"},
}

// slow are parts of the errors of a Redis that does not answer in time, or not at all. An outage with another error is
// none of a busy machine.
var slow = []string{"timeout", "deadline exceeded", "refused", "reset by peer", "EOF", "broken pipe", "closed"}

// ReadOutages returns the outages of which a consumer's log tells, in which Redis did not answer in time. One that does
// not end has the end of the log. A lookup may take its time-outs before the line is written.
func ReadOutages(log io.Reader) (all []Outage, err error) {
	const before = 5 * time.Second
	open := make([]time.Time, len(logged))
	var last time.Time
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Text()
		at, ok := timeOf(line)
		if !ok {
			continue
		}
		last = at
		for i, l := range logged {
			switch {
			case open[i].IsZero() && strings.Contains(line, l.begins) && containsAny(line, slow):
				open[i] = at
			case !open[i].IsZero() && strings.Contains(line, l.ends):
				all = append(all, Outage{open[i].Add(-before), at})
				open[i] = time.Time{}
			}
		}
	}
	for _, from := range open {
		if !from.IsZero() {
			all = append(all, Outage{from.Add(-before), last})
		}
	}
	return all, lines.Err()
}

// PublishedAgain returns the times at which, by a consumer's log, brokers did not take records at once. Some that are
// published again then may have been taken.
func PublishedAgain(path string) (all []time.Time, err error) {
	log, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for line := range strings.Lines(string(log)) {
		if at, ok := timeOf(line); ok && strings.Contains(line, "msg=\"waiting for the brokers to take records\"") {
			all = append(all, at)
		}
	}
	return all, err
}

// OutagesOf returns the outages of the log in a file; a consumer that was never started has none.
func OutagesOf(path string) ([]Outage, error) {
	log, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	return ReadOutages(log)
}

// timeOf returns the time of a line of log.format text.
func timeOf(line string) (time.Time, bool) {
	text, ok := strings.CutPrefix(line, "time=")
	if !ok {
		return time.Time{}, false
	}
	text, _, _ = strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

func containsAny(line string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}
