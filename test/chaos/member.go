package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"rivulet/test/harness"
)

// member is one member of a stream's group, with its consumer process.
type member struct {
	workshop    harness.Workshop
	config, log string
	clock       string // file with the offset of the clock, for programs that were built with the tag chaos
	bin         string // directory of the program, where it is another than the workshop's
	// ended is called for a process that ended by itself.
	ended func(error)

	mu      sync.Mutex
	running *runningMember // nil: none
}

// runningMember is one process.
type runningMember struct {
	*harness.Process
	expected bool // its end was asked for; under member.mu
}

// start starts the consumer if none is running.
func (m *member) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		return nil
	}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p, err := harness.StartIn([]string{"CHAOS_CLOCK=" + m.clock}, log,
		filepath.Join(cmp.Or(m.bin, m.workshop.Bin), "consumer"), "--config", m.config)
	if err != nil {
		return err
	}
	r := &runningMember{Process: p}
	m.running = r
	go func() {
		<-r.Done()
		if !m.over(r) {
			m.ended(r.Wait())
		}
	}()
	return nil
}

// over records that a process has ended, and reports whether that was asked for.
func (m *member) over(r *runningMember) (expected bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == r {
		m.running = nil
	}
	return r.expected
}

// end ends the process, if there is one, by calling how.
func (m *member) end(how func(*harness.Process) error) error {
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

// kill ends the process at once, and reports whether there was one.
func (m *member) kill() (was bool) {
	_ = m.end(func(p *harness.Process) error {
		p.Kill()
		was = true
		return nil
	})
	return was
}

// drain ends the process as an orchestrator does; it must end by itself with status 0 in time.
func (m *member) drain(limit time.Duration) error {
	if err := m.end(func(p *harness.Process) error { return p.Drain(limit) }); err != nil {
		return fmt.Errorf("%s: %w", m.log, err)
	}
	return nil
}

// signal sends a signal to the process, if there is one.
func (m *member) signal(s syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return nil
	}
	return m.running.Signal(s)
}

// id returns the number of the process; 0: there is none.
func (m *member) id() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return 0
	}
	return m.running.ID()
}

// setClock sets how far the clock of the program is ahead of this machine's.
func (m *member) setClock(ahead time.Duration) error {
	return os.WriteFile(m.clock, []byte(ahead.String()), 0o600)
}
