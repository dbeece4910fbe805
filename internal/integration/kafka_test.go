package integration

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
)

// realKafka is a broker that tools/kafka/kafka.sh runs in the directory which RIVULET_TEST_KAFKA_DIR names. What the tests
// make there has names of their own and is removed at the end.
type realKafka struct {
	t      *testing.T
	dir    string
	port   int
	suffix string
	admin  *kafka.Client
}

func newRealKafka(t *testing.T) *realKafka {
	t.Helper()
	dir := os.Getenv("RIVULET_TEST_KAFKA_DIR")
	if dir == "" {
		t.Skip("RIVULET_TEST_KAFKA_DIR is not set to the directory of a broker that tools/kafka/kafka.sh runs")
	}
	text, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	k := &realKafka{t: t, dir: dir, port: port, suffix: fmt.Sprintf("-%d", time.Now().UnixNano())}
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	k.admin = &kafka.Client{Addr: kafka.TCP(k.addr(plaintext)), Transport: transport, Timeout: 30 * time.Second}
	return k
}

// as is the broker with names for a part of the test.
func (k *realKafka) as(t *testing.T) *realKafka {
	part := *k
	part.t, part.suffix = t, fmt.Sprintf("-%d", time.Now().UnixNano())
	return &part
}

// Listeners, by their distance from the first port.
const (
	plaintext = iota
	saslPlaintext
	ssl
	saslSSL
)

func (k *realKafka) addr(listener int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(k.port+listener))
}

func (k *realKafka) name(of string) string { return of + k.suffix }

// topics makes topics with 3 partitions and removes them at the end.
func (k *realKafka) topics(names ...string) {
	k.t.Helper()
	partitions := map[string]int{}
	for _, n := range names {
		partitions[k.name(n)] = 3
	}
	remove := makeTopics(k.t, k.admin, partitions)
	k.t.Cleanup(func() { _ = remove() })
}

// allow lets user rivulet do something for as long as the test runs.
func (k *realKafka) allow(resource kafka.ResourceType, name string, op kafka.ACLOperationType) {
	k.t.Helper()
	entry := kafka.ACLEntry{ResourceType: resource, ResourceName: name, ResourcePatternType: kafka.PatternTypeLiteral,
		Principal: "User:rivulet", Host: "*", Operation: op, PermissionType: kafka.ACLPermissionTypeAllow}
	res, err := k.admin.CreateACLs(k.t.Context(), &kafka.CreateACLsRequest{ACLs: []kafka.ACLEntry{entry}})
	if err := cmp.Or(err, errorOf(res)); err != nil {
		k.t.Fatal(err)
	}
	k.awaitACL(resource, name, op)
	k.t.Cleanup(func() {
		_, _ = k.admin.DeleteACLs(context.Background(), &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{{
			ResourceTypeFilter: resource, ResourceNameFilter: name, ResourcePatternTypeFilter: kafka.PatternTypeLiteral,
			PrincipalFilter: "User:rivulet", HostFilter: "*", Operation: op, PermissionType: kafka.ACLPermissionTypeAllow}}})
	})
}

// awaitACL returns when the broker has heard of an ACL from the controller.
func (k *realKafka) awaitACL(resource kafka.ResourceType, name string, op kafka.ACLOperationType) {
	k.t.Helper()
	for range 200 {
		res, err := k.admin.DescribeACLs(k.t.Context(), &kafka.DescribeACLsRequest{Filter: kafka.ACLFilter{
			ResourceTypeFilter: resource, ResourceNameFilter: name, ResourcePatternTypeFilter: kafka.PatternTypeLiteral,
			PrincipalFilter: "User:rivulet", HostFilter: "*", Operation: op, PermissionType: kafka.ACLPermissionTypeAllow}})
		if err := cmp.Or(err, res.Error); err != nil {
			k.t.Fatal(err)
		}
		if len(res.Resources) > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.t.Fatalf("the ACL for %s is not there after 10 seconds", name)
}

func errorOf(res *kafka.CreateACLsResponse) error {
	if res == nil {
		return nil
	}
	return cmp.Or(res.Errors...)
}

// config is a consumer's configuration file for a listener; more goes below kafka.
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
`, k.addr(listener), k.name("group"), k.name("arrivals"), k.name("predictions"), k.name("letters"), more, artifact)
}

func (k *realKafka) tls() string {
	return fmt.Sprintf("  tls: {enabled: true, ca_file: %q}\n", filepath.Join(k.dir, "tls", "ca.pem"))
}

func (k *realKafka) clientTLS(cert string) string {
	path := func(name string) string { return filepath.Join(k.dir, "tls", name) }
	return fmt.Sprintf("  tls: {enabled: true, ca_file: %q, cert_file: %q, key_file: %q}\n", path("ca.pem"), path(cert+".pem"), path(cert+".key"))
}

func login(mechanism, password string) string {
	return fmt.Sprintf("  sasl: {mechanism: %s, username: rivulet, password: %s}\n", mechanism, password)
}

// predicted reads ids from the topic of predictions, read committed, until there are n, and then what else comes.
func (k *realKafka) predicted(n int) []string {
	k.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addr(plaintext)), kgo.ConsumeTopics(k.name("predictions")),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		k.t.Fatal(err)
	}
	defer client.Close()
	var ids []string
	read := func(limit time.Duration) bool {
		ctx, cancel := context.WithTimeout(k.t.Context(), limit)
		defer cancel()
		before := len(ids)
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			var p event.Prediction
			if err := (event.JSON{}).DecodePrediction(r.Value, &p); err != nil {
				k.t.Errorf("partition %d, offset %d: %v", r.Partition, r.Offset, err)
			}
			ids = append(ids, p.ID)
		})
		return len(ids) > before
	}
	for len(ids) < n {
		if !read(time.Minute) {
			k.t.Fatalf("%d predictions after a minute, want %d", len(ids), n)
		}
	}
	for read(time.Second) {
		continue
	}
	return ids
}

// A consumer and a replay over each way to connect to a real broker, as a user who may do no more than ACLs say.
func TestWaysToConnectToARealBroker(t *testing.T) {
	k := newRealKafka(t)
	w := newWorld(t)
	const n = 200
	for i, c := range []struct {
		name     string
		listener int
		settings string
	}{
		{"SASL_PLAINTEXT, PLAIN", saslPlaintext, login("plain", "rivulet-word") + "  compression: gzip"},
		{"SASL_PLAINTEXT, SCRAM-SHA-256", saslPlaintext, login("scram-sha-256", "rivulet-word") + "  compression: snappy"},
		{"SASL_SSL, SCRAM-SHA-512", saslSSL, k.tls() + login("scram-sha-512", "rivulet-word") + "  compression: lz4"},
		{"SSL, client certificate", ssl, k.clientTLS("client") + "  compression: zstd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, w := k.as(t), w.as(t)
			k.topics("arrivals", "predictions", "letters")
			k.allow(kafka.ResourceTypeTopic, k.name("arrivals"), kafka.ACLOperationTypeRead)
			k.allow(kafka.ResourceTypeTopic, k.name("arrivals"), kafka.ACLOperationTypeWrite) // for replay
			k.allow(kafka.ResourceTypeTopic, k.name("predictions"), kafka.ACLOperationTypeWrite)
			k.allow(kafka.ResourceTypeTopic, k.name("letters"), kafka.ACLOperationTypeWrite)
			k.allow(kafka.ResourceTypeGroup, k.name("group"), kafka.ACLOperationTypeRead)
			file := fmt.Sprintf("kafka-%d.yaml", i)
			w.write(file, k.config(w.path("artifact-1"), c.listener, c.settings))
			w.run("consumer", "check", "--config", w.path(file))
			consumer := w.start("consumer", "--config", w.path(file))
			t.Cleanup(func() { _ = consumer.Process.Kill(); _ = consumer.Wait() })
			w.run("rivulet", "replay", "--config", w.path(file), "--data", w.path("data"), "--limit", strconv.Itoa(n))
			ids := k.predicted(n)
			slices.Sort(ids)
			if distinct := len(slices.Compact(slices.Clone(ids))); distinct != n || len(ids) != n {
				t.Errorf("%d predictions of %d arrivals, want %d", len(ids), distinct, n)
			}
			w.drain(consumer)
		})
	}
}

// What a real broker says to clients that it does not want, each told from the others, and an exit status that tells.
func TestCheckOnARealBroker(t *testing.T) {
	k := newRealKafka(t)
	w := newWorld(t)
	k.topics("arrivals", "predictions", "letters")
	k.allow(kafka.ResourceTypeTopic, k.name("arrivals"), kafka.ACLOperationTypeDescribe)
	k.allow(kafka.ResourceTypeTopic, k.name("predictions"), kafka.ACLOperationTypeWrite)
	k.allow(kafka.ResourceTypeGroup, k.name("group"), kafka.ACLOperationTypeDescribe)
	foreign := strings.Replace(k.tls(), "/ca.pem", "/other-ca.pem", 1)
	name := strings.Replace(k.tls(), "}", ", server_name: kafka.example}", 1)
	for i, c := range []struct {
		listener int
		settings string
		want     []string // each in a line of its own
	}{
		{plaintext, "", []string{"ok kafka broker", "ok kafka topic arrivals", "ok kafka topic predictions", "ok kafka topic letters", "ok kafka group", "ok artifact"}},
		{saslPlaintext, login("plain", "other"), []string{"FAILED kafka broker wrong password or unknown user"}},
		{saslPlaintext, login("scram-sha-256", "other"), []string{"FAILED kafka broker wrong password or unknown user"}},
		{saslSSL, k.tls() + login("scram-sha-512", "other"), []string{"FAILED kafka broker wrong password or unknown user"}},
		{saslSSL, k.tls() + login("scram-sha-512", "rivulet-word"), []string{"ok kafka broker TLS 1.3", "FAILED kafka topic arrivals missing ACL: it may not be read by User:rivulet",
			"ok kafka topic predictions may be written to", "FAILED kafka topic letters missing ACL: User:rivulet may not see it", "FAILED kafka group missing ACL", "ok artifact"}},
		{plaintext, "delivery: exactly_once", []string{"ok kafka group", "ok kafka transactional id may be used"}},
		{saslSSL, k.tls() + login("plain", "rivulet-word") + "delivery: exactly_once", []string{"FAILED kafka transactional id missing ACL: User:rivulet may not use it"}},
		{saslPlaintext, "", []string{"FAILED kafka broker of a client that has not logged in"}},
		{plaintext, login("plain", "rivulet-word"), []string{"FAILED kafka broker nobody logs in on this port"}},
		{plaintext, k.tls(), []string{"FAILED kafka broker it speaks plaintext on this port"}},
		{saslSSL, login("plain", "rivulet-word"), []string{"FAILED kafka broker it speaks TLS on this port"}},
		{saslSSL, foreign + login("plain", "rivulet-word"), []string{"FAILED kafka broker which is not trusted here"}},
		{saslSSL, name + login("plain", "rivulet-word"), []string{"FAILED kafka broker its certificate is for localhost, 127.0.0.1 and not for kafka.example"}},
		{ssl, k.tls(), []string{"FAILED kafka broker it wants a client certificate"}},
		{ssl, k.clientTLS("other-ca"), []string{"FAILED kafka broker it refuses this client's certificate"}},
		{saslSSL + 10, "", []string{"FAILED kafka broker unreachable: the connection is refused"}},
	} {
		file := fmt.Sprintf("check-%d.yaml", i)
		w.write(file, k.config(w.path("artifact-1"), c.listener, c.settings))
		cmd := exec.Command(filepath.Join(w.bin, "consumer"), "check", "--config", w.path(file))
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

// holds tells whether a line has a state, a subject of two words or one, and a text.
func holds(line, want string) bool {
	words := strings.Fields(want)
	state, rest := words[0], strings.TrimPrefix(want, words[0]+" ")
	for _, subject := range []string{"kafka broker", "kafka topic arrivals", "kafka topic predictions", "kafka topic letters", "kafka group", "kafka transactional id", "artifact"} {
		if text, ok := strings.CutPrefix(rest, subject); ok {
			return strings.HasPrefix(line, state+" ") && strings.Contains(line, subject) && strings.Contains(line, strings.TrimSpace(text))
		}
	}
	return false
}
