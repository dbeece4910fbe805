package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"rivulet/test/harness"
)

// realKafka is a broker that tools/kafka/kafka.sh runs, for a world. Everything that the tests create there has its own
// names and is removed at the end.
type realKafka struct {
	harness.Broker
	*world
	suffix string
}

func newSuffix() string { return fmt.Sprintf("-%d", time.Now().UnixNano()) }

// onRealKafka moves a world to the broker.
func onRealKafka(t *testing.T, broker harness.Broker, w *world) *realKafka {
	t.Helper()
	k := &realKafka{Broker: broker, world: w.as(t), suffix: newSuffix()}
	k.use(broker.Addr(harness.Plaintext))
	return k
}

func (k *realKafka) name(of string) string { return of + k.suffix }

// topics makes the topics of a stream, with 3 partitions.
func (k *realKafka) topics() {
	k.t.Helper()
	k.makeTopics(map[string]int{k.name("arrivals"): 3, k.name("predictions"): 3, k.name("letters"): 3})
}

// allow lets user rivulet do something for as long as the test runs, once the broker has heard of it from the
// controller.
func (k *realKafka) allow(op kadm.ACLOperation, topics []string, groups ...string) {
	k.t.Helper()
	names := func(of []string) (names []string) {
		for _, name := range of {
			names = append(names, k.name(name))
		}
		return names
	}
	right := kadm.NewACLs().Allow("User:rivulet").AllowHosts("*").Operations(op).ResourcePatternType(
		kadm.ACLPatternLiteral).
		MaybeTopics(names(topics)...).MaybeGroups(names(groups)...)
	created, err := k.kafka.CreateACLs(k.t.Context(), right)
	for _, c := range created {
		err = errors.Join(err, c.Err)
	}
	k.must(err)
	k.await("the rights are known", func() bool {
		described, err := k.kafka.DescribeACLs(k.t.Context(), right)
		return err == nil && !slices.ContainsFunc(described, func(d kadm.DescribeACLsResult) bool {
			return len(d.Described) == 0
		})
	}, func() string { return fmt.Sprint(topics, groups) })
	k.t.Cleanup(func() { _, _ = k.kafka.DeleteACLs(context.Background(), right) })
}

// config returns a consumer's configuration file for a listener; more goes below kafka.
func (k *realKafka) config(artifact string, listener int, more string) string {
	return fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %s
  topics: {arrivals: %s, predictions: %s, dead_letters: %s}
%s
artifact: %q
batch: {size: 32, linger: 2ms}
http: {listen: ""}
log: {level: warn}
`, k.Addr(listener), k.name("group"), k.name("arrivals"), k.name("predictions"), k.name("letters"), more, artifact)
}

func (k *realKafka) tls() string {
	return fmt.Sprintf("  tls: {enabled: true, ca_file: %q}\n", filepath.Join(k.Dir, "tls", "ca.pem"))
}

func (k *realKafka) clientTLS(cert string) string {
	path := func(name string) string { return filepath.Join(k.Dir, "tls", name) }
	return fmt.Sprintf("  tls: {enabled: true, ca_file: %q, cert_file: %q, key_file: %q}\n", path("ca.pem"),
		path(cert+".pem"), path(cert+".key"))
}

func login(mechanism, password string) string {
	return fmt.Sprintf("  sasl: {mechanism: %s, username: rivulet, password: %s}\n", mechanism, password)
}

// A consumer and a replay over each way to connect to a real broker, as a user with only the rights of its ACLs.
func TestWaysToConnectToARealBroker(t *testing.T) {
	broker := needBroker(t)
	all := onRealKafka(t, broker, newWorld(t, formatJSON))
	const n = 200
	for i, c := range []struct {
		name     string
		listener int
		settings string
	}{
		{"SASL_PLAINTEXT, PLAIN", harness.SASLPlaintext, login("plain", "rivulet-word") + "  compression: gzip"},
		{"SASL_PLAINTEXT, SCRAM-SHA-256", harness.SASLPlaintext, login("scram-sha-256", "rivulet-word") +
			"  compression: snappy"},
		{"SASL_SSL, SCRAM-SHA-512", harness.SASLSSL, all.tls() + login("scram-sha-512", "rivulet-word") +
			"  compression: lz4"},
		{"SSL, client certificate", harness.SSL, all.clientTLS("client") + "  compression: zstd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := onRealKafka(t, broker, all.world)
			k.topics()
			k.allow(kadm.OpRead, []string{"arrivals"}, "group")
			k.allow(kadm.OpWrite, []string{"arrivals", "predictions", "letters"}) // arrivals: for replay
			file := fmt.Sprintf("kafka-%d.yaml", i)
			k.write(file, k.config(k.Path("artifact-1"), c.listener, c.settings))
			k.run("consumer", "check", "--config", k.Path(file))
			consumer := k.consumer(file)
			k.run("rivulet", "replay", "--config", k.Path(file), "--data", k.Path("data"), "--limit", strconv.Itoa(n))
			if predictions := k.collected(k.name("predictions"), n); len(predictions) != n {
				t.Errorf("%d predictions of %d arrivals", len(predictions), n)
			}
			k.drain(consumer)
		})
	}
}

// A real broker's refusals of clients, each with its own message and an exit status.
func TestCheckOnARealBroker(t *testing.T) {
	k := onRealKafka(t, needBroker(t), newWorld(t, formatJSON))
	k.topics()
	k.allow(kadm.OpDescribe, []string{"arrivals"}, "group")
	k.allow(kadm.OpWrite, []string{"predictions"})
	foreign := strings.Replace(k.tls(), "/ca.pem", "/other-ca.pem", 1)
	name := strings.Replace(k.tls(), "}", ", server_name: kafka.example}", 1)
	for i, c := range []struct {
		listener int
		settings string
		want     []string // each in a line of its own
	}{
		{harness.Plaintext, "", []string{"ok kafka 127.0.0.1 1 of 1 brokers answer, plaintext", "ok kafka topic arrivals", "ok kafka topic predictions",
			"ok kafka topic letters", "ok kafka group", "ok artifact"}},
		{harness.SASLPlaintext, login("plain", "other"), []string{"FAILED kafka 127.0.0.1 correct kafka.sasl.username and kafka.sasl.password"}},
		{harness.SASLPlaintext, login("scram-sha-256", "other"),
			[]string{"FAILED kafka 127.0.0.1 correct kafka.sasl.username and kafka.sasl.password"}},
		{harness.SASLSSL, k.tls() + login("scram-sha-512", "other"),
			[]string{"FAILED kafka 127.0.0.1 correct kafka.sasl.username and kafka.sasl.password"}},
		{harness.SASLSSL, k.tls() + login("scram-sha-512", "rivulet-word"),
			[]string{"ok kafka 127.0.0.1 TLS", "FAILED kafka topic arrivals missing ACL: it may not be read by User:rivulet",
				"ok kafka topic predictions may be written to",
				"FAILED kafka topic letters missing ACL: User:rivulet may not see it", "FAILED kafka group missing ACL",
				"ok artifact"}},
		{harness.Plaintext, "delivery: exactly_once", []string{"ok kafka group", "ok kafka transactional id may be used"}},
		{harness.SASLSSL, k.tls() + login("plain", "rivulet-word") + "delivery: exactly_once",
			[]string{"FAILED kafka transactional id missing ACL: User:rivulet may not use it"}},
		{harness.SASLPlaintext, "", []string{"FAILED kafka 127.0.0.1 or it wants a login: kafka.sasl.mechanism"}},
		{harness.Plaintext, login("plain", "rivulet-word"), []string{"FAILED kafka 127.0.0.1 set kafka.sasl.mechanism to none"}},
		{harness.Plaintext, k.tls(), []string{"FAILED kafka 127.0.0.1 whether it speaks TLS: kafka.tls.enabled is true"}},
		{harness.SASLSSL, login("plain", "rivulet-word"), []string{"FAILED kafka 127.0.0.1 whether it speaks TLS: kafka.tls.enabled is false"}},
		{harness.SASLSSL, foreign + login("plain", "rivulet-word"),
			[]string{"FAILED kafka 127.0.0.1 set kafka.tls.ca_file to the certificate of the authority"}},
		{harness.SASLSSL, name + login("plain", "rivulet-word"),
			[]string{"FAILED kafka 127.0.0.1 certificate is valid for localhost, not kafka.example"}},
		{harness.SSL, k.tls(), []string{"FAILED kafka 127.0.0.1 set kafka.tls.cert_file and kafka.tls.key_file"}},
		{harness.SSL, k.clientTLS("other-ca"), []string{"FAILED kafka 127.0.0.1 that an authority of its trust store has signed"}},
		{harness.SASLSSL + 10, "", []string{"FAILED kafka 127.0.0.1 connection refused -> start it"}},
	} {
		file := fmt.Sprintf("check-%d.yaml", i)
		k.write(file, k.config(k.Path("artifact-1"), c.listener, c.settings))
		cmd := exec.Command(filepath.Join(k.Bin, "consumer"), "check", "--config", k.Path(file))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if failed := strings.Contains(out.String(), "FAILED"); failed != (err != nil) {
			t.Errorf("%s: exit %v of\n%s", c.settings, err, out.String())
		}
		lines := strings.Split(out.String(), "\n")
		for _, want := range c.want {
			if !slices.ContainsFunc(lines, func(line string) bool { return holds(line, want) }) {
				t.Errorf("listener +%d, %s: no line has %q in\n%s", c.listener, c.settings, want, out.String())
			}
		}
		if strings.Contains(out.String(), "word}") || strings.Contains(out.String(), "rivulet-word") {
			t.Errorf("the password is in\n%s", out.String())
		}
	}
}

// holds reports whether a line has a state, a subject of two words or one, and a text.
func holds(line, want string) bool {
	words := strings.Fields(want)
	state, rest := words[0], strings.TrimPrefix(want, words[0]+" ")
	for _, subject := range []string{"kafka 127.0.0.1", "kafka topic arrivals", "kafka topic predictions",
		"kafka topic letters", "kafka group", "kafka transactional id", "artifact"} {
		if text, ok := strings.CutPrefix(rest, subject); ok {
			return strings.HasPrefix(line, state+" ") && strings.Contains(line, subject) &&
				strings.Contains(line, strings.TrimSpace(text))
		}
	}
	return false
}
