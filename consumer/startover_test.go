package consumer

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// again is a source of versions that has one once it has forgotten what it refused; and a registry with connections.
type again struct {
	Versions
	overs int
}

func (a *again) Current() Version {
	if a.overs == 0 {
		return nil
	}
	return a.Versions.Current()
}

func (a *again) StartOver() { a.overs++ }

func (a *again) Renew() { a.overs++ }

// G12: Waits for what is not Kafka begin anew, too: the wait for a first version, and those for the registry.
func TestWaitsForOtherServicesStartOver(t *testing.T) {
	var log bytes.Buffer
	wait := retry.Patience{StartOver: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	versions := &again{Versions: serve(newTestVersion("v1"))}
	c := &Consumer{wait: wait.Complete()}
	c.opts.Path.Versions = versions
	expect.OK(t, c.awaitVersion(t.Context()))
	if text := log.String(); versions.overs == 0 ||
		!strings.Contains(text, `still waiting for a version to serve: starting over`) ||
		!strings.Contains(text, "trainer versions") {
		t.Errorf("started over %d times: %s", versions.overs, text)
	}

	registry := &again{}
	attempts := RegistryOutage(wait, registry).Attempts()
	for range 3 {
		expect.OK(t, attempts.Failed(t.Context(), errors.New("503 Service Unavailable")))
	}
	if text := log.String(); registry.overs == 0 || !strings.Contains(text, "the schema registry: starting over") ||
		!strings.Contains(text, "registry.urls") {
		t.Errorf("started over %d times: %s", registry.overs, text)
	}
}

// troubled is a source that knows why it has no version.
type troubled struct{ again }

func (*troubled) Trouble() error { return errors.New("no version is published: trainer publish") }

// The line that repeats says why there is no version, and what to do.
func TestTheWaitForAVersionSaysWhy(t *testing.T) {
	var log bytes.Buffer
	c := &Consumer{wait: retry.Patience{StartOver: time.Nanosecond,
		Logger: slog.New(slog.NewTextHandler(&log, nil))}.Complete()}
	c.opts.Path.Versions = &troubled{again{Versions: serve(newTestVersion("v1"))}}
	expect.OK(t, c.awaitVersion(t.Context()))
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "waiting for a version") && strings.Contains(line, "level=WARN") &&
			!strings.Contains(line, "no version is published: trainer publish") {
			t.Errorf("a line without the reason: %s", line)
		}
	}
	if !strings.Contains(log.String(), "trainer publish") {
		t.Errorf("logged %s", log.String())
	}
}
