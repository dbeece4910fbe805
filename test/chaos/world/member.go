package world

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"rivulet/test/harness"
)

// Member is one member of a stream's group, with its consumer process.
type Member struct {
	Workshop    harness.Workshop
	Config, Log string // files
	Clock       string // file with the offset of the clock, for programs that were built with the tag chaos
	Bin         string // directory of the program, where it is another than the workshop's
	// Ended is called for a process that ended by itself.
	Ended func(error)

	mu      sync.Mutex
	running *process // nil: none
}

// process is one process.
type process struct {
	*harness.Process
	expected bool // its end was asked for; under Member.mu
}

// Start starts the consumer if none is running.
func (m *Member) Start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		return nil
	}
	log, err := os.OpenFile(m.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p, err := harness.StartIn([]string{"CHAOS_CLOCK=" + m.Clock}, log,
		filepath.Join(cmp.Or(m.Bin, m.Workshop.Bin), "consumer"), "--config", m.Config)
	if err != nil {
		return err
	}
	r := &process{Process: p}
	m.running = r
	go func() {
		<-r.Done()
		if !m.over(r) {
			m.Ended(r.Wait())
		}
	}()
	return nil
}

// over records that a process has ended, and reports whether that was asked for.
func (m *Member) over(r *process) (expected bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == r {
		m.running = nil
	}
	return r.expected
}

// end ends the process, if there is one, by calling how.
func (m *Member) end(how func(*harness.Process) error) error {
	m.mu.Lock()
	r := m.running
	if r != nil {
		r.expected = true
	}
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	defer m.over(r)
	return how(r.Process)
}

// Kill ends the process at once, and reports whether there was one.
func (m *Member) Kill() (was bool) {
	_ = m.end(func(p *harness.Process) error {
		p.Kill()
		was = true
		return nil
	})
	return was
}

// Drain ends the process as an orchestrator does; it must end by itself with status 0 in time.
func (m *Member) Drain(limit time.Duration) error {
	if err := m.end(func(p *harness.Process) error { return p.Drain(limit) }); err != nil {
		return fmt.Errorf("%s: %w", m.Log, err)
	}
	return nil
}

// Signal sends a signal to the process, if there is one.
func (m *Member) Signal(s syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return nil
	}
	return m.running.Signal(s)
}

// ID returns the number of the process; 0: there is none.
func (m *Member) ID() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return 0
	}
	return m.running.ID()
}

// SetClock sets how far the clock of the program is ahead of this machine's.
func (m *Member) SetClock(ahead time.Duration) error {
	return os.WriteFile(m.Clock, []byte(ahead.String()), 0o600)
}

// Says returns how often a text stands in the consumer's log.
func (m *Member) Says(text string) int {
	log, _ := os.ReadFile(m.Log) // there is none of a consumer that was never started
	return strings.Count(string(log), text)
}

// PublishedAgain returns the times at which, by the consumer's log, brokers did not take records at once. Some that are
// published again then may have been taken.
func (m *Member) PublishedAgain() (all []time.Time, err error) {
	log, err := os.ReadFile(m.Log)
	if os.IsNotExist(err) {
		return nil, nil // it was never started
	}
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, `msg="waiting for the brokers to take records"`) {
			continue
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		if at, failed := time.Parse(time.RFC3339Nano, text); failed == nil {
			all = append(all, at)
		}
	}
	return all, err
}
