package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// member is a place in a stream's group, and the consumer process that takes it.
type member struct {
	program, config, log string
	// ended is told of a process that ended by itself.
	ended func(error)

	mu      sync.Mutex
	running *running
}

// running is one process.
type running struct {
	cmd      *exec.Cmd
	done     chan struct{} // closed when it is over
	err      error         // what Wait gave; to be read after done
	expected bool          // its end was asked for; under member.mu
}

// start starts the consumer where none is running.
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
	r := &running{cmd: exec.Command(m.program, "--config", m.config), done: make(chan struct{})} //nolint:noctx // it is ended by its signals
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		return err
	}
	m.running = r
	go func() {
		r.err = r.cmd.Wait()
		m.mu.Lock()
		m.running = nil
		expected := r.expected
		m.mu.Unlock()
		close(r.done)
		if !expected {
			m.ended(r.err)
		}
	}()
	return nil
}

// end asks for the end of the process, if there is one; the caller waits for done.
func (m *member) end(by syscall.Signal) *running {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.running
	if r != nil {
		r.expected = true
		_ = r.cmd.Process.Signal(by)
	}
	return r
}

// kill ends the process at once.
func (m *member) kill() {
	if r := m.end(syscall.SIGKILL); r != nil {
		<-r.done
	}
}

// drain ends the process as an orchestrator does; it must end by itself with status 0 in time.
func (m *member) drain(limit time.Duration) error {
	r := m.end(syscall.SIGTERM)
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
	case <-time.After(limit):
		m.kill()
		return fmt.Errorf("%s: still there %v after SIGTERM", m.log, limit)
	}
	if r.err != nil {
		return fmt.Errorf("%s: after SIGTERM: %w", m.log, r.err)
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
	if err := m.running.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
