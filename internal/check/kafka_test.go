package check

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/internal/devstack"
	"rivulet/test/harness"
)

func broker(t *testing.T, o devstack.KafkaOptions) *devstack.Kafka {
	t.Helper()
	k, err := devstack.StartKafka(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func of(k *devstack.Kafka) *Kafka {
	return &Kafka{Brokers: k.Addrs()[:1], ClientID: "test", Group: "g", Read: []string{"in"}, Write: []string{"out"},
		Principal: "User:ANONYMOUS", Timeout: 2 * time.Second}
}

// lines runs the checks.
func lines(t *testing.T, k *Kafka) (all []string) {
	t.Helper()
	k.Run(t.Context(), func(r Result) { all = append(all, r.String()) })
	return all
}

// expect wants a line for each check, in order, with a text in it.
func expect(t *testing.T, got []string, want ...string) {
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

var topics = map[string]int{"in": 3, "out": 1}

func TestAllIsWell(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Brokers: 3, Topics: topics})
	expect(t, lines(t, of(k)), "ok "+k.Addr()+": plaintext, nobody logs in", "ok (node ", "ok (node ",
		"ok topic in: 3 partitions, may be read", "ok topic out: 1 partitions, may be written to",
		"ok group g: may be joined")
	c := of(k)
	c.TransactionalID = "tx"
	if got := lines(t, c); !strings.HasPrefix(got[len(got)-1],
		"ok       kafka transactional id tx:in:0: may be used, coordinator ") {
		t.Errorf("the last line is %s", got[len(got)-1])
	}
	if info := k.Cluster.GroupInfo("g"); info != nil && len(info.Members) > 0 {
		t.Errorf("the group has members: %v", info.Members)
	}
}

// skipped are the lines behind brokers of which none answers.
var skipped = []string{"skipped topic in", "skipped topic out", "skipped group g"}

func TestBrokersThatDoNotAnswer(t *testing.T) {
	closed := listen(t, func(c net.Conn) { _ = c.Close() })
	silent := listen(t, func(net.Conn) {})
	for addr, want := range map[string]string{
		"no-such-host.invalid:9092": "the name no-such-host.invalid",
		unused(t):                   "unreachable: the connection is refused",
		closed:                      "it closes the connection at the first request",
		silent:                      "takes the connection and answers nothing within 500ms",
	} {
		k := &Kafka{Brokers: []string{addr}, Group: "g", Read: []string{"in"}, Write: []string{"out"},
			Timeout: 500 * time.Millisecond}
		expect(t, lines(t, k), append([]string{"FAILED " + want}, skipped...)...)
	}
}

func unused(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// listen serves connections with a function, and closes them in the end.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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

// One broker of two is away; what the other says of the topics and the group is still said.
func TestOneBrokerIsAway(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Topics: topics})
	c := of(k)
	c.Brokers = append([]string{unused(t)}, c.Brokers...)
	expect(t, lines(t, c), "FAILED refused", "ok broker "+k.Addr(), "ok topic in", "ok topic out", "ok group g")
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
		"well":        {k, trust, "ok broker " + k.Addr() + ": TLS 1.3, certificate valid until 2"},
		"server name": {k, with(func(c *tls.Config) { c.ServerName = "localhost" }), "ok TLS 1.3"},
		"unknown authority": {k, with(func(c *tls.Config) { c.RootCAs = other.Pool() }),
			"FAILED which is not trusted here -> set kafka.tls.ca_file"},
		"other name": {k, with(func(c *tls.Config) { c.ServerName = "kafka.example" }),
			"FAILED its certificate is for localhost, 127.0.0.1 and not for kafka.example -> connect by a name that is in " +
				"the certificate, or set kafka.tls.server_name"},
		"expired":             {expired, trust, "FAILED and not now -> renew the certificate"},
		"plaintext to TLS":    {k, nil, "FAILED it speaks TLS on this port, and kafka.tls.enabled is false"},
		"TLS to plaintext":    {bare, trust, "FAILED it speaks plaintext on this port, and kafka.tls.enabled is true"},
		"client certificate":  {mutual, identity(authority), "ok client certificate of User:ANONYMOUS"},
		"no certificate":      {mutual, trust, "FAILED it wants a client certificate"},
		"foreign certificate": {mutual, identity(other), "FAILED it refuses this client's certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			check := of(c.kafka)
			check.TLS = c.tls
			want := []string{c.want}
			if strings.HasPrefix(c.want, "ok") {
				want = append(want, "ok topic in", "ok topic out", "ok group g")
			} else {
				want = append(want, skipped...)
			}
			expect(t, lines(t, check), want...)
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
			k := broker(t, devstack.KafkaOptions{Topics: map[string]int{"in": 3, "out": 1, "hidden": 1},
				Users: []devstack.KafkaUser{
					{Mechanism: name, Name: "all", Password: "word"},
					{Mechanism: name, Name: "few", Password: "word", ACLs: []kfake.ACL{
						acl(kmsg.ACLResourceTypeTopic, "in", kmsg.ACLOperationDescribe),
						acl(kmsg.ACLResourceTypeTopic, "out", kmsg.ACLOperationRead)}}}})
			try := func(user, password, group string, reads ...string) []string {
				c := of(k)
				c.Login, c.Username, c.Principal, c.Group, c.Read = login{name, user, password}, user, "User:"+user, group, reads
				return lines(t, c)
			}
			expect(t, try("all", "word", "g", "in"), "ok plaintext, "+name+" as all", "ok topic in", "ok topic out",
				"ok group g")
			expect(t, try("all", "other", "g", "in"),
				append([]string{"FAILED wrong password or unknown user: it refuses all's login with " + name}, skipped...)...)
			expect(t, try("nobody", "word", "g", "in"),
				append([]string{"FAILED wrong password or unknown user: it refuses nobody's login"}, skipped...)...)
			expect(t, try("few", "word", "g", "in", "hidden", "missing"), "ok as few",
				"FAILED missing ACL: it may not be read by User:few -> kafka-acls.sh --add --allow-principal 'User:few' "+
					"--operation Describe --operation Read --topic in",
				"FAILED topic hidden: missing ACL: User:few may not see it (whether it exists is not told)",
				"FAILED topic missing: missing ACL: User:few may not see it (whether it exists is not told)",
				"FAILED topic out: missing ACL: it may not be written to by User:few",
				"FAILED group g: missing ACL: User:few may not use it")
			c := of(k)
			c.Login, c.Username, c.Principal, c.TransactionalID = login{name, "few", "word"}, "few", "User:few", "tx"
			if got := lines(t, c); !strings.Contains(got[len(got)-1],
				"FAILED   kafka transactional id tx:in:0: missing ACL: User:few may not use it") {
				t.Errorf("the last line is %s", got[len(got)-1])
			}
			expect(t, try("all", "word", "g", "missing"), "ok as all", "FAILED topic missing: it does not exist", "ok topic out",
				"ok group g")
		})
	}
}

func TestLoginsThatDoNotFitTheListener(t *testing.T) {
	guarded := broker(t, devstack.KafkaOptions{Topics: topics,
		Users: []devstack.KafkaUser{{Mechanism: "PLAIN", Name: "all", Password: "word"}}})
	expect(t, lines(t, of(guarded)), append(
		[]string{"FAILED it closes the connection of a client that has not logged in -> set kafka.sasl.mechanism"},
		skipped...)...)
	c := of(guarded)
	c.Login = login{mechanism: "GSSAPI"}
	expect(t, lines(t, c), append([]string{"FAILED it does not offer GSSAPI, but PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"},
		skipped...)...)
}

// The check ends with its context, also in the middle of waiting for an answer.
func TestTheContextEndsIt(t *testing.T) {
	silent := listen(t, func(net.Conn) {})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	k := &Kafka{Brokers: []string{silent}, Timeout: time.Hour}
	k.Run(ctx, func(Result) {})
}

// set gives a topic of an embedded broker a setting.
func set(t *testing.T, k *devstack.Kafka, topic, name, value string) {
	t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...))
	if err != nil {
		t.Fatal(err)
	}
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

func TestSettingsOfTopicsThatAreWrittenTo(t *testing.T) {
	k := broker(t, devstack.KafkaOptions{Topics: topics})
	line := func() string {
		t.Helper()
		for _, l := range lines(t, of(k)) {
			if strings.Contains(l, "topic out") {
				return l
			}
		}
		t.Fatal("nothing is said of the topic")
		return ""
	}
	if got := line(); strings.Contains(got, "max.message.bytes=") ||
		!strings.Contains(got, "max.message.bytes 1048588, cleanup.policy delete") {
		t.Errorf("as Kafka makes topics: %s", got)
	}
	for _, c := range []struct{ name, value, want string }{
		{"max.message.bytes", "65536", "batches are split; a prediction that is larger becomes a dead letter"},
		{"cleanup.policy", "compact,delete",
			"those without a key are given one; if all are wanted: kafka-configs.sh --alter --topic out"},
		{"min.insync.replicas", "9", "nothing can be written: min.insync.replicas is 9, and it has"},
	} {
		set(t, k, "out", c.name, c.value)
		if got := line(); !strings.Contains(got, c.want) ||
			strings.HasPrefix(got, "FAILED") != (c.name == "min.insync.replicas") {
			t.Errorf("%s=%s: %s", c.name, c.value, got)
		}
	}
}

// Settings that the broker does not tell are no failure, and settings that it does not know are not judged.
func TestSettingsAreJudgedByReplicas(t *testing.T) {
	for _, c := range []struct {
		replicas int
		found    map[string]string
		state    State
		found1   string
		do       string
	}{
		{3, map[string]string{minInsync: "2"}, OK, "well; min.insync.replicas 2 of 3", ""},
		{3, map[string]string{minInsync: "1"}, OK, "well; min.insync.replicas 1 of 3",
			"what one broker has acknowledged is lost with it: kafka-configs.sh --alter --topic out --add-config " +
				"min.insync.replicas=2"},
		{1, map[string]string{minInsync: "1"}, OK, "well; min.insync.replicas 1 of 1", ""},
		{1, nil, OK, "well", ""},
		{1, map[string]string{minInsync: "2"}, Failed,
			"nothing can be written: min.insync.replicas is 2, and it has 1 replicas",
			"kafka-configs.sh --alter --topic out --add-config min.insync.replicas=1, or give it more replicas"},
	} {
		if got := judge(Result{OK, "topic", "well", ""}, "out", c.replicas,
			c.found); got != (Result{c.state, "topic", c.found1, c.do}) {
			t.Errorf("%v of %d replicas: %v", c.found, c.replicas, got)
		}
	}
}
