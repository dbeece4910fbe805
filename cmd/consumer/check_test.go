package main

import (
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// The exit status tells whether all is well, and each check has its line.
func TestCheck(t *testing.T) {
	topics := config.Default[config.Consumer]().Kafka.Topics
	kafka, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{topics.Arrivals: 2,
		topics.Predictions: 2, topics.DeadLetters: 1}})
	expect.OK(t, err)
	defer kafka.Close()
	dir := t.TempDir() + "/artifact"
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, b.Seal())
	expect.OK(t, artifact.Write(dir, b))
	for _, c := range []struct {
		args  []string
		fails string // "" if all is well
		lines []string
	}{
		{[]string{"--artifact", dir}, "", []string{"ok kafka " + kafka.Addr(), "ok kafka topic arrivals",
			"ok kafka topic predictions",
			"ok kafka topic arrivals.dead-letters", "ok kafka group rivulet", "ok artifact " + dir + ": " + b.Manifest.Version +
				" can be served"}},
		{[]string{"--artifact", dir + "x", "--kafka.topics.predictions=predictionss"}, "2 of 6 checks failed",
			[]string{"ok kafka 127.0.0.1", "ok kafka topic arrivals",
				"FAILED kafka topic predictionss: it does not exist, did you mean predictions?", "ok kafka topic arrivals.dead",
				"ok kafka group",
				"FAILED artifact " + dir + "x: reading artifact"}},
		{[]string{"--redis.url=redis://127.0.0.1:1"}, "2 of 7 checks failed or were skipped",
			[]string{"ok kafka 127.0.0.1", "ok kafka topic arrivals",
				"ok kafka topic predictions", "ok kafka topic arrivals.dead", "ok kafka group",
				"FAILED redis redis://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused", "skipped redis version"}},
		{[]string{"--artifact", dir, "--kafka.tls.enabled", "--kafka.tls.ca_file=" + dir + "/none"},
			"kafka.tls.ca_file: open " + dir + "/none", nil},
	} {
		out, err := harness.Execute(command(), append([]string{"check", "--kafka.brokers", kafka.Addr()}, c.args...)...)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%v: got %v, want %q", c.args, err, c.fails)
		}
		got := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
		for i, line := range got {
			got[i] = strings.Join(strings.Fields(line), " ")
		}
		ok := len(got) == len(c.lines)
		for i := range min(len(got), len(c.lines)) {
			ok = ok && strings.HasPrefix(got[i], c.lines[i])
		}
		if !ok {
			t.Errorf("%v: printed\n%s\nwant lines that begin with\n%s", c.args, out, strings.Join(c.lines, "\n"))
		}
	}
}
