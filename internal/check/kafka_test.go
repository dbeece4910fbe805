package check

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/internal/devstack"
	"rivulet/internal/tlsclient"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

var topics = map[string]int{"in": 3, "out": 1, "dead": 1}

func broker(t *testing.T, o devstack.KafkaOptions) *devstack.Kafka {
	t.Helper()
	k, err := devstack.StartKafka(o)
	expect.OK(t, err)
	t.Cleanup(k.Close)
	return k
}

// of returns the checks of a client that connects to brokers with options.
func of(t *testing.T, o kafka.Options, brokers ...string) *Kafka {
	t.Helper()
	k := &Kafka{Brokers: brokers, Group: "g", Arrivals: "in", Predictions: "out", DeadLetters: "dead",
		Principal: "User:ANONYMOUS", TLS: o.TLS != nil, Timeout: 2 * time.Second}
	if who, is := o.Login.(login); is {
		k.Principal = "User:" + who.user
	}
	o.Brokers, o.ClientID, o.Topics = brokers, "test", k.Topics()
	var err error
	k.Client, err = kafka.Connect(o)
	expect.OK(t, err)
	t.Cleanup(k.Client.Close)
	return k
}

// lines runs the checks.
func lines(t *testing.T, k *Kafka) (all []string) {
	t.Helper()
	k.Run(t.Context(), func(r Result) { all = append(all, r.String()) })
	return all
}

// expectLines wants a line for each check, in order, with a text in it.
func expectLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		state, text, _ := strings.Cut(want[i], " ")
		ok = ok && strings.HasPrefix(got[i], state+" ") && strings.Contains(got[i], text)
	}
	if !ok {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// well are the lines of topics and group where nothing is wrong.
var well = []string{"ok topic in: 3 partitions, may be read; ", "ok topic out: 1 partitions, may be written to; ",
	"ok topic dead: 1 partitions, may be written to; ", "ok group g: may be joined"}

const skipped = "skipped kafka topics and group: no broker can be asked"

func TestAllIsWell(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Brokers: 3, Topics: topics})
	c := of(t, kafka.Options{}, k.Addr())
	expectLines(t, lines(t, c), append([]string{"ok kafka " + k.Addr() + ": 3 of 3 brokers answer, plaintext, as User:ANONYMOUS"},
		well...)...)
	c.TransactionalID = "tx"
	expectLines(t, lines(t, c)[5:], "ok kafka transactional id tx:in:0: may be used")
	if info := k.Cluster.GroupInfo("g"); info != nil && len(info.Members) > 0 {
		t.Errorf("the group has members: %v", info.Members)
	}
}

func TestBrokersThatDoNotAnswer(t *testing.T) {
	closed := listen(t, func(c net.Conn) { _ = c.Close() })
	silent := listen(t, func(net.Conn) {})
	for addr, text := range map[string]string{
		"no-such-host.invalid:9092": "-> correct the name, or make it known to this host",
		unused(t):                   "connection refused -> start it, or correct the address",
		closed:                      "whether it speaks TLS: kafka.tls.enabled is false; or it wants a login",
		silent:                      "-> look for a firewall or a wrong address, whether the server hangs",
	} {
		k := of(t, kafka.Options{}, addr)
		k.Timeout = 500 * time.Millisecond
		expectLines(t, lines(t, k), "FAILED "+text, skipped)
	}
}

func unused(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.OK(t, err)
	defer l.Close()
	return l.Addr().String()
}

// listen serves connections with a function, and closes them in the end.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.OK(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
			serve(c)
		}
		for _, c := range open {
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// One broker of two is away, as for a consumer that starts; and a broker that only the cluster's own network reaches is
// named with its address.
func TestBrokersThatCannotBeReached(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Topics: topics})
	away := unused(t)
	c := of(t, kafka.Options{}, away, k.Addr())
	expectLines(t, lines(t, c), append([]string{"ok kafka " + away + ", " + k.Addr() + ": 1 of 1 brokers answer"}, well...)...)
	_, port, err := net.SplitHostPort(away)
	expect.OK(t, err)
	number, err := strconv.Atoi(port)
	expect.OK(t, err)
	k.Cluster.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.Cluster.KeepControl()
		answer := req.ResponseKind().(*kmsg.MetadataResponse)
		answer.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 7, Host: "127.0.0.1", Port: int32(number)}}
		return answer, nil, true
	})
	got := lines(t, of(t, kafka.Options{}, k.Addr()))
	expectLines(t, got[:1], "FAILED kafka broker 7 at "+away+", as the cluster advertises it: dial tcp "+away)
	if !strings.Contains(got[0], "advertised.listeners") {
		t.Errorf("no advice in %s", got[0])
	}
}

func TestTLS(t *testing.T) {
	authority, other := harness.NewAuthority(t), harness.NewAuthority(t)
	server := authority.Server()
	k := broker(t, devstack.KafkaOptions{Topics: topics, TLS: server})
	old := server.Clone()
	old.Certificates = []tls.Certificate{authority.Sign("old", time.Now().Add(-time.Minute), "127.0.0.1")}
	expired := broker(t, devstack.KafkaOptions{Topics: topics, TLS: old})
	strict := server.Clone()
	strict.ClientAuth, strict.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool()
	mutual := broker(t, devstack.KafkaOptions{Topics: topics, TLS: strict})
	bare := broker(t, devstack.KafkaOptions{Topics: topics})
	trust := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool()}
	with := func(change func(*tls.Config)) *tls.Config {
		c := trust.Clone()
		change(c)
		return c
	}
	identity := func(a *harness.Authority) *tls.Config {
		pair := a.Sign("me", time.Now().Add(time.Hour))
		return with(func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		})
	}
	for name, c := range map[string]struct {
		kafka *devstack.Kafka
		tls   *tls.Config
		want  string
	}{
		"well":              {k, trust, "ok 1 of 1 brokers answer, TLS"},
		"server name":       {k, with(func(c *tls.Config) { c.ServerName = "localhost" }), "ok TLS"},
		"unknown authority": {k, with(func(c *tls.Config) { c.RootCAs = other.Pool() }), "FAILED -> set kafka.tls.ca_file"},
		"other name": {k, with(func(c *tls.Config) { c.ServerName = "kafka.example" }),
			"FAILED not kafka.example -> connect by a name that is in its certificate, or set kafka.tls.server_name"},
		"expired":             {expired, trust, "FAILED -> renew its certificate"},
		"plaintext to TLS":    {k, nil, "FAILED whether it speaks TLS: kafka.tls.enabled is false"},
		"TLS to plaintext":    {bare, trust, "FAILED speaks TLS: kafka.tls.enabled is true"},
		"client certificate":  {mutual, identity(authority), "ok TLS"},
		"no certificate":      {mutual, trust, "FAILED -> set kafka.tls.cert_file"},
		"foreign certificate": {mutual, identity(other), "FAILED -> set kafka.tls.cert_file"},
	} {
		t.Run(name, func(t *testing.T) {
			expected := []string{c.want, skipped}
			if strings.HasPrefix(c.want, "ok") {
				expected = append([]string{c.want}, well...)
			}
			var o kafka.Options
			if c.tls != nil {
				o.TLS = tlsclient.Fixed{TLS: c.tls}
			}
			expectLines(t, lines(t, of(t, o, c.kafka.Addr())), expected...)
		})
	}
}

// login is SASL's with a mechanism.
type login struct{ mechanism, user, password string }

func (l login) Mechanism() string { return l.mechanism }

func (l login) Credentials(context.Context) (username, password string, err error) {
	return l.user, l.password, nil
}

func acl(resource kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op,
		Allow: true}
}

func TestAWrongPasswordIsNotAMissingACL(t *testing.T) {
	for _, name := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(name, func(t *testing.T) {
			k := broker(t, devstack.KafkaOptions{Topics: topics, Users: []devstack.KafkaUser{
				{Mechanism: name, Name: "all", Password: "word"},
				{Mechanism: name, Name: "few", Password: "word", ACLs: []kfake.ACL{
					acl(kmsg.ACLResourceTypeTopic, "in", kmsg.ACLOperationDescribe),
					acl(kmsg.ACLResourceTypeTopic, "out", kmsg.ACLOperationRead)}}}})
			try := func(user, password string) *Kafka {
				return of(t, kafka.Options{Login: login{name, user, password}}, k.Addr())
			}
			expectLines(t, lines(t, try("all", "word")), append([]string{"ok plaintext, as User:all"}, well...)...)
			for _, user := range []string{"all", "nobody"} {
				expectLines(t, lines(t, try(user, "other")), "FAILED or it refuses the login: kafka.sasl.username and kafka.sasl.password", skipped)
			}
			few := try("few", "word")
			few.TransactionalID = "tx"
			expectLines(t, lines(t, few), "ok as User:few",
				"FAILED missing ACL: it may not be read by User:few -> kafka-acls.sh --add --allow-principal 'User:few' "+
					"--operation Describe --operation Read --topic in",
				"FAILED topic out: missing ACL: it may not be written to by User:few",
				"FAILED topic dead: missing ACL: User:few may not see it (whether it exists is not told)",
				"FAILED group g: missing ACL: User:few may not use it",
				"FAILED kafka transactional id tx:in:0: missing ACL: User:few may not use it")
			missing := try("all", "word")
			missing.Predictions = "outt"
			expectLines(t, lines(t, missing)[2:3], "FAILED topic outt: it does not exist, did you mean out?")
		})
	}
}

func TestLoginsThatDoNotFitTheListener(t *testing.T) {
	guarded := broker(t, devstack.KafkaOptions{Topics: topics,
		Users: []devstack.KafkaUser{{Mechanism: "PLAIN", Name: "all", Password: "word"}}})
	expectLines(t, lines(t, of(t, kafka.Options{}, guarded.Addr())), "FAILED or it wants a login: kafka.sasl.mechanism", skipped)
}

// The check ends with its context, also in the middle of waiting for an answer.
func TestTheContextEndsIt(t *testing.T) {
	k := of(t, kafka.Options{}, listen(t, func(net.Conn) {}))
	k.Timeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	k.Run(ctx, func(Result) {})
}

// set gives a topic of an embedded broker a setting.
func set(t *testing.T, k *devstack.Kafka, topic, name, value string) {
	t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...))
	expect.OK(t, err)
	defer admin.Close()
	req := kmsg.NewIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	resource.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: name, Value: &value}}
	req.Resources = append(req.Resources, resource)
	res, err := req.RequestWith(t.Context(), admin)
	if err != nil || res.Resources[0].ErrorCode != 0 {
		t.Fatalf("%s=%s: %v, %+v", name, value, err, res)
	}
}

// The settings of topics that are read and written are shown, and those that will hurt come with advice.
func TestSettingsOfTopics(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Topics: topics})
	got := lines(t, of(t, kafka.Options{}, k.Addr()))
	for _, line := range got[1:4] {
		if strings.Contains(line, " -> ") || !strings.Contains(line, "; cleanup.policy delete, records are kept for 7 days, "+
			"max.message.bytes 1048588") {
			t.Errorf("as Kafka makes topics: %s", line)
		}
	}
	set(t, k, "in", cleanupPolicy, "compact,delete")
	set(t, k, "dead", maxMessageBytes, "65536")
	set(t, k, "out", minInsync, "9")
	expectLines(t, lines(t, of(t, kafka.Options{}, k.Addr()))[1:4],
		"ok topic in: 3 partitions, may be read; cleanup.policy compact,delete, records are kept for 7 days, "+
			"max.message.bytes 1048588 -> of the records of a key only the last one is kept: arrivals and edges",
		"FAILED topic out: nothing can be written: min.insync.replicas is 9, and it has 1 replicas -> ",
		"ok -> a dead letter has its record in it, and the topic of arrivals takes larger ones: kafka-configs.sh --alter "+
			"--topic dead --add-config max.message.bytes=1048588")
}

// At its start a consumer asks for the settings of its topic of arrivals that lose records.
func TestSettingsThatLoseArrivals(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Topics: topics})
	c := of(t, kafka.Options{}, k.Addr())
	losses := func(want ...string) {
		t.Helper()
		found, err := c.Losses(t.Context())
		expect.OK(t, err)
		var got []string
		for _, r := range found {
			got = append(got, r.String())
		}
		expectLines(t, got, want...)
	}
	losses()
	set(t, k, "in", cleanupPolicy, "compact,delete")
	set(t, k, "in", retentionTime, "60000")
	losses("ok topic in: of the records of a key only the last one is kept: arrivals and edges that have not been read",
		"ok topic in: a consumer that stands still for longer than 1m0s may lose arrivals -> kafka-configs.sh --alter --topic in")
	c.Wait = time.Minute
	losses("FAILED with attach.wait an arrival and its edges have one key: edges are lost -> kafka-configs.sh",
		"FAILED topic in: records are kept for 1m0s, and an arrival waits for its edges for 1m0s")
	c.Arrivals = "missing"
	_, err := c.Losses(t.Context())
	expect.Error(t, err, "Unknown Topic", "of a topic that does not exist")
}

func TestSettingsAreJudged(t *testing.T) {
	usual := map[string]string{cleanupPolicy: "delete", retentionTime: "604800000", maxMessageBytes: "1048588"}
	k := &Kafka{Arrivals: "in", Labels: "labels", Predictions: "out", DeadLetters: "dead", RecordBytes: 1 << 20,
		Wait: time.Hour}
	for _, c := range []struct {
		topic, name, value string
		replicas           int
		want               string // state, and the advice
	}{
		{"in", retentionTime, "604800000", 1, "ok "},
		{"in", retentionTime, "-1", 1, "ok "},
		{"in", retentionTime, "7100000", 1, "ok a consumer that stands still for longer than 1h58m20s may lose arrivals: " +
			"kafka-configs.sh --alter --topic in --add-config retention.ms=604800000"},
		{"in", retentionTime, "3600000", 1, "FAILED records are kept for 1h0m0s, and an arrival waits for its edges for " +
			"1h0m0s (attach.wait): Kafka may delete it meanwhile, and a consumer that starts again then never answers it: " +
			"kafka-configs.sh --alter --topic in --add-config retention.ms=604800000"},
		{"in", maxMessageBytes, "2000000", 1, "ok it takes records of more than limits.record_bytes (1048576), which " +
			"become dead letters: raise that, or kafka-configs.sh --alter --topic in --add-config max.message.bytes=1048644"},
		{"in", cleanupPolicy, "compact", 1, "FAILED of the records of a key only the last one is kept, and with attach.wait " +
			"an arrival and its edges have one key: edges are lost: kafka-configs.sh --alter --topic in --add-config " +
			"cleanup.policy=delete"},
		{"labels", cleanupPolicy, "compact", 1, "ok "},
		{"out", retentionTime, "1000", 1, "ok "},
		{"out", cleanupPolicy, "compact", 1, "ok of the records of a key only the last one is kept; if all are wanted: " +
			"kafka-configs.sh --alter --topic out --add-config cleanup.policy=delete"},
		{"out", maxMessageBytes, "65536", 1, "ok batches are split, and a prediction that is larger becomes a dead letter: " +
			"kafka-configs.sh --alter --topic out --add-config max.message.bytes=1048588"},
		{"out", minInsync, "1", 1, "ok "},
		{"out", minInsync, "2", 3, "ok "},
		{"out", minInsync, "1", 3, "ok what one broker has acknowledged is lost with it: kafka-configs.sh --alter --topic " +
			"out --add-config min.insync.replicas=2"},
		{"out", minInsync, "2", 1, "FAILED kafka-configs.sh --alter --topic out --add-config min.insync.replicas=1, or give " +
			"it more replicas"},
		{"dead", minInsync, "", 1, "ok "},
	} {
		all := map[string]map[string]string{}
		for _, topic := range []string{"in", "labels", "out", "dead"} {
			all[topic] = map[string]string{}
			for name, value := range usual {
				all[topic][name] = value
			}
		}
		all[c.topic][c.name] = c.value
		r := k.judge(Result{OK, "topic", "well", ""}, c.topic, c.replicas, all)
		if got := string(r.State) + " " + r.Do; got != c.want {
			t.Errorf("%s: %s=%s: %s\nwant %s", c.topic, c.name, c.value, got, c.want)
		}
	}
}

// The check lists the group's members, and fails where one is another program.
func TestMembersOfTheGroupAreListed(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Topics: topics})
	c := of(t, kafka.Options{}, k.Addrs()...)
	c.Purpose = "writes predictions to out"
	line := func() string {
		var found string
		c.Run(t.Context(), func(r Result) {
			if r.What == "kafka group g" {
				found = r.String()
			}
		})
		return found
	}
	if got := line(); !strings.HasSuffix(got, "may be joined") {
		t.Errorf("an empty group: %s", got)
	}
	join := func(purpose string) {
		s, err := kafka.NewSource(c.Client, kafka.SourceOptions{Group: "g", Topics: []string{"in"}, Purpose: purpose},
			retry.Patience{})
		expect.OK(t, err)
		expect.OK(t, s.Await(t.Context()))
		_, err = s.Join(t.Context())
		expect.OK(t, err)
		t.Cleanup(s.Leave)
	}
	join(c.Purpose)
	if got := line(); !strings.Contains(got, "may be joined; 1 members: test at 127.0.0.1:") ||
		!strings.Contains(got, "reads in (3 partitions) and writes predictions to out") {
		t.Errorf("a member of this program: %s", got)
	}
	c.Purpose = "writes predictions to elsewhere"
	if got := line(); !strings.Contains(got, "another program is a member") || !strings.Contains(got, "FAIL") ||
		!strings.Contains(got, "test at 127.0.0.1:") {
		t.Errorf("a member of another program: %s", got)
	}
}
