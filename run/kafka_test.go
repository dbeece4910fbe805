package run

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/devstack"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/run/connect"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// pinnedConfig is a consumer's that serves an artifact of a directory, without HTTP; ids are nodes of its graph.
func pinnedConfig(t *testing.T, brokers ...string) (cfg config.Consumer, ids []string) {
	t.Helper()
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, b.Seal())
	cfg = config.Default[config.Consumer]()
	cfg.Artifact = filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(cfg.Artifact, b))
	cfg.HTTP.Listen = ""
	cfg.Kafka.Brokers.Brokers = brokers
	return cfg, b.Mapping.IDs
}

// topics are those that the settings name, with 2 partitions for arrivals.
func topics() map[string]int {
	names := config.Default[config.Consumer]().Kafka.Topics
	return map[string]int{names.Arrivals: 2, names.Predictions: 1, names.DeadLetters: 1}
}

// run runs a consumer until the test ends it.
func run(t *testing.T, cfg config.Consumer) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Consumer(ctx, cfg, slog.New(slog.DiscardHandler), nil) }()
	t.Cleanup(cancel)
	return func() error { cancel(); return <-done }
}

// send publishes arrivals as replay does, with the connection settings of a consumer.
func send(t *testing.T, cfg config.Consumer, ids []string) {
	t.Helper()
	client, err := connect.Kafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
	expect.OK(t, err)
	defer client.Close()
	topic, err := replay.NewTopic(client, cfg.Kafka.Topics.Arrivals, "", slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	var arrivals []event.Arrival
	for i, id := range ids {
		arrivals = append(arrivals, event.Arrival{ID: fmt.Sprint("new-", i),
			Features: event.Features{Values: []float32{1, 2, 3}}, Edges: []string{id}})
	}
	expect.OK(t, topic.Send(t.Context(), arrivals))
}

// Arrivals are produced, consumed and predicted over every way to connect, and predictions are compressed as asked.
func TestWaysToConnect(t *testing.T) {
	authority := harness.NewAuthority(t)
	strict := authority.Server()
	strict.ClientAuth, strict.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool()
	cert, key := harness.CertificateFiles(t, authority.Sign("me", time.Now().Add(time.Hour)))
	ca := authority.File()
	file := filepath.Join(t.TempDir(), "password")
	expect.OK(t, os.WriteFile(file, []byte("word\r\n"), 0o600))
	user := func(mechanism string) []devstack.KafkaUser {
		return []devstack.KafkaUser{{Mechanism: mechanism, Name: "me", Password: "word"}}
	}
	for _, c := range []struct {
		server      devstack.KafkaOptions
		tls         config.KafkaTLS
		sasl        config.KafkaSASL
		compression string
	}{
		{devstack.KafkaOptions{}, config.KafkaTLS{}, config.KafkaSASL{Mechanism: "none"}, "none"},
		{devstack.KafkaOptions{TLS: authority.Server()}, config.KafkaTLS{Enabled: true, CAFile: ca},
			config.KafkaSASL{Mechanism: "none"}, "gzip"},
		{devstack.KafkaOptions{TLS: strict}, config.KafkaTLS{Enabled: true, CAFile: ca, CertFile: cert, KeyFile: key},
			config.KafkaSASL{Mechanism: "none"}, "snappy"},
		{devstack.KafkaOptions{Users: user("PLAIN")}, config.KafkaTLS{}, config.KafkaSASL{Mechanism: "plain", Username: "me",
			Password: "word"}, "lz4"},
		{devstack.KafkaOptions{Users: user("SCRAM-SHA-256"), TLS: authority.Server()},
			config.KafkaTLS{Enabled: true, CAFile: ca, ServerName: "localhost"},
			config.KafkaSASL{Mechanism: "scram-sha-256", Username: "me", Password: "word"}, "zstd"},
		{devstack.KafkaOptions{Users: user("SCRAM-SHA-512"), TLS: strict},
			config.KafkaTLS{Enabled: true, CAFile: ca, CertFile: cert, KeyFile: key},
			config.KafkaSASL{Mechanism: "scram-sha-512", Username: "me", PasswordFile: file}, "none"},
	} {
		t.Run(fmt.Sprintf("tls=%t,sasl=%s,%s", c.tls.Enabled, c.sasl.Mechanism, c.compression), func(t *testing.T) {
			c.server.Topics, c.server.Brokers = topics(), 2
			k, err := devstack.StartKafka(c.server)
			expect.OK(t, err)
			defer k.Close()
			cfg, ids := pinnedConfig(t, k.Addrs()...)
			cfg.Kafka.TLS, cfg.Kafka.SASL, cfg.Kafka.Compression = c.tls, c.sasl, c.compression
			send(t, cfg, ids)
			end := run(t, cfg)
			await(t, func() bool {
				return k.Cluster.PartitionInfo(cfg.Kafka.Topics.Predictions, 0).HighWatermark == int64(len(ids))
			})
			if err := end(); err != nil {
				t.Error(err)
			}
			if got := stored(t, k, cfg); got != c.compression {
				t.Errorf("predictions are stored as %v, want %v", got, c.compression)
			}
		})
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("waited a minute in vain")
		}
	}
}

// stored is the compression of the first prediction, as another client of Kafka reads it.
func stored(t *testing.T, k *devstack.Kafka, cfg config.Consumer) string {
	t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(k.Addrs()...), kgo.ConsumeTopics(cfg.Kafka.Topics.Predictions)}
	if cfg.Kafka.TLS.Enabled {
		secure, _, err := connect.Security(cfg.Kafka.Brokers)
		expect.OK(t, err)
		now, err := secure.Config()
		expect.OK(t, err)
		opts = append(opts, kgo.DialTLSConfig(now))
	}
	switch cfg.Kafka.SASL.Mechanism {
	case "plain":
		opts = append(opts, kgo.SASL(plain.Auth{User: "me", Pass: "word"}.AsMechanism()))
	case "scram-sha-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: "me", Pass: "word"}.AsSha256Mechanism()))
	case "scram-sha-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: "me", Pass: "word"}.AsSha512Mechanism()))
	}
	client, err := kgo.NewClient(opts...)
	expect.OK(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fetched := client.PollFetches(ctx)
	if err := fetched.Err(); err != nil || fetched.NumRecords() == 0 {
		t.Fatalf("read %d predictions, %v", fetched.NumRecords(), err)
	}
	return []string{"none", "gzip", "snappy", "lz4", "zstd"}[fetched.Records()[0].Attrs.CompressionType()]
}

// A failure that waiting does not mend ends the consumer, with an error that names it.
func TestRefusalsEndTheConsumer(t *testing.T) {
	may := func(resource kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op,
			Allow: true}
	}
	names := config.Default[config.Consumer]().Kafka.Topics
	readIn, writeOut := may(kmsg.ACLResourceTypeTopic, names.Arrivals, kmsg.ACLOperationRead),
		may(kmsg.ACLResourceTypeTopic, names.Predictions, kmsg.ACLOperationWrite)
	letters := may(kmsg.ACLResourceTypeTopic, names.DeadLetters, kmsg.ACLOperationWrite)
	join := may(kmsg.ACLResourceTypeGroup, "rivulet", kmsg.ACLOperationRead)
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: topics(), Users: []devstack.KafkaUser{
		{Mechanism: "PLAIN", Name: "all", Password: "word"},
		{Mechanism: "PLAIN", Name: "no-input", Password: "word", ACLs: []kfake.ACL{writeOut, letters, join}},
		{Mechanism: "PLAIN", Name: "no-group", Password: "word", ACLs: []kfake.ACL{readIn, writeOut, letters}},
		{Mechanism: "PLAIN", Name: "no-output", Password: "word", ACLs: []kfake.ACL{readIn, letters, join}},
	}})
	expect.OK(t, err)
	defer k.Close()
	// A real broker says that a password is wrong; the embedded one only hangs up.
	k.Cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.Cluster.KeepControl()
		if !strings.HasSuffix(string(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes), "\x00other") {
			return nil, nil, false
		}
		refusal := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		refusal.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return refusal, nil, true
	})
	all, ids := pinnedConfig(t, k.Addrs()...)
	all.Kafka.SASL = config.KafkaSASL{Mechanism: "plain", Username: "all", Password: "word"}
	send(t, all, ids)
	for _, c := range []struct {
		user, password string
		want           error
		text           string
	}{
		{"all", "other", kafka.SASLAuthenticationFailed, "-> correct kafka.sasl.username"},
		{"no-input", "word", kafka.TopicAuthorizationFailed, names.Arrivals},
		{"no-input", "word", kafka.TopicAuthorizationFailed, "kafka-acls.sh --add --allow-principal 'User:no-input'"},
		{"no-group", "word", kafka.GroupAuthorizationFailed, "rivulet"},
		{"no-group", "word", kafka.GroupAuthorizationFailed, "kafka-acls.sh --add --allow-principal 'User:no-group'"},
		{"no-output", "word", kafka.TopicAuthorizationFailed, names.Predictions},
	} {
		cfg := all
		cfg.Kafka.SASL.Username, cfg.Kafka.SASL.Password = c.user, config.Secret(c.password)
		err := Consumer(t.Context(), cfg, slog.New(slog.NewTextHandler(t.Output(), nil)), nil)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), c.password) {
			t.Errorf("%s with password %q: %v, want %v", c.user, c.password, err, c.want)
		}
	}
}

// A consumer waits for each topic that it reads or writes before it joins its group. The line that repeats names the
// topic, a similar one of the cluster, and what to do; /readyz does, too. It makes no topic, and ends at once.
func TestAMissingTopicIsNamedAtTheStart(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: topics()})
	expect.OK(t, err)
	defer k.Close()
	for _, c := range []struct {
		misspell func(*config.Topics) *string
		topic    string
		similar  string
	}{
		{func(t *config.Topics) *string { return &t.Arrivals }, "arivals", "arrivals"},
		{func(t *config.Topics) *string { return &t.Predictions }, "prediction", "predictions"},
		{func(t *config.Topics) *string { return &t.DeadLetters }, "arrivals.dead-letter", "arrivals.dead-letters"},
	} {
		cfg, ids := pinnedConfig(t, k.Addrs()...)
		send(t, cfg, ids)
		*c.misspell(&cfg.Kafka.Topics) = c.topic
		cfg.Shutdown.DrainTimeout = time.Hour
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		expect.OK(t, err)
		cfg.HTTP.Listen = listener.Addr().String()
		expect.OK(t, listener.Close())
		ctx, stop := context.WithCancel(t.Context())
		var log harness.Transcript
		done := make(chan error, 1)
		go func() { done <- Consumer(ctx, cfg, slog.New(slog.NewTextHandler(&log, nil)), nil) }()
		says := func(text string) bool {
			return strings.Contains(text, "the topic "+c.topic+" does not exist, did you mean "+c.similar+"?") &&
				strings.Contains(text, "kafka-topics.sh --create --topic "+c.topic)
		}
		await(t, func() bool {
			return slices.ContainsFunc(strings.Split(log.String(), "\n"), func(line string) bool {
				return strings.Contains(line, "waiting for the topics") && says(line)
			})
		})
		await(t, func() bool {
			answer, err := http.Get("http://" + cfg.HTTP.Listen + "/readyz")
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			body, _ := io.ReadAll(answer.Body)
			return answer.StatusCode == http.StatusServiceUnavailable && says(string(body))
		})
		if k.Cluster.TopicInfo(c.topic) != nil {
			t.Errorf("the consumer has made the topic %s", c.topic)
		}
		stop()
		expect.OK(t, <-done)
	}
}
