package client

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"rivulet/test/harness"
)

// Program is a program that answers requests, and its client.
type Program struct {
	*Client
	Workshop harness.Workshop
	process  *harness.Process
}

// Log returns the file with what the program writes.
func (p *Program) Log() string { return p.Workshop.Path(p.Name + ".log") }

// Start starts the command of rivulet that has the program's name, with a configuration.
func (p *Program) Start(config string) error {
	if err := p.Workshop.Write(p.Name+".yaml", config); err != nil {
		return err
	}
	log, err := os.Create(p.Log())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.process, err = p.Workshop.Start(log, "rivulet", p.Name, "--config", p.Workshop.Path(p.Name+".yaml"))
	return err
}

// Ended reports whether the program has ended.
func (p *Program) Ended() bool {
	select {
	case <-p.process.Done():
		return true
	default:
		return false
	}
}

// Stop ends the program as an orchestrator does. It must not have ended by itself.
func (p *Program) Stop(limit time.Duration) error {
	if p.Ended() {
		return fmt.Errorf("%s ended by itself: %w: see %s", p.Name, p.process.Wait(), p.Log())
	}
	return p.process.Drain(limit)
}

// Page is an answer of the live page.
type Page struct {
	ID, Artifact string
	Class        int
	ClassName    string `json:"class_name"`
	Probability  float32
	Degraded     bool
}

// Page returns an answer as one of the live page.
func (a Answer) Page() (p Page, err error) {
	err = json.Unmarshal(a.Body, &p)
	return p, err
}

// String begins as the numbers of a prediction do ([harness.Numbers]).
func (p Page) String() string {
	return fmt.Sprintf("class %d %s, probability %08x,", p.Class, p.ClassName, math.Float32bits(p.Probability))
}
