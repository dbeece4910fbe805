package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// pipelineFile writes a pipeline's settings: a group, a topic of arrivals and a prefix of its name.
func pipelineFile(t *testing.T, dir, name, more string) string {
	t.Helper()
	path := filepath.Join(dir, name+".yaml")
	text := fmt.Sprintf("kafka: {group: %s, topics: {arrivals: %[1]s}}\nredis: {prefix: %[1]s}\n%s", name, more)
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// makeTopics makes topics of one partition.
func makeTopics(t *testing.T, cfg config.Consumer, names ...string) {
	t.Helper()
	k, err := harness.NewKafka(cfg.Kafka.Brokers.Brokers...)
	expect.OK(t, err)
	defer k.Close()
	topics := map[string]int{}
	for _, name := range names {
		topics[name] = 1
	}
	expect.OK(t, k.MakeTopics(t.Context(), topics))
}

// One process follows two prefixes with a topic each: every arrival is answered once, by its topic's version, with the
// bits that the version gives alone, and the port tells the pipelines apart.
func TestPipelinesSideBySide(t *testing.T) {
	const n = 300
	versions := map[string]*artifact.Bundle{"orders": rival(t, 1, "orders-1"), "users": rival(t, 2, "users-1")}
	cfg := stackOf(t, versions["orders"])
	cfg.HTTP.Listen = "127.0.0.1:0"
	makeTopics(t, cfg, "orders", "users")
	dir := t.TempDir()
	for name, b := range versions {
		cfg.Pipelines = append(cfg.Pipelines, pipelineFile(t, dir, name, ""))
		server := cfg.Redis.RedisServer
		server.Prefix = name
		if err := WithPublisher(server, func(p *serving.Publisher) error {
			return p.Publish(t.Context(), b, serving.PublishOptions{})
		}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...), kgo.ConsumeTopics(cfg.Kafka.Topics.Predictions))
	expect.OK(t, err)
	defer w.Close()
	want := map[string]event.Prediction{}
	for name, b := range versions {
		of := cfg
		of.Kafka.Topics.Arrivals = name
		arrivals := many(b, name, n)
		for id, p := range alone(t, b, arrivals) {
			want[id] = p
		}
		sendTo(t, of, arrivals)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log harness.Transcript
	done := make(chan error, 1)
	go func() { done <- RunConsumer(ctx, cfg, slog.New(slog.NewTextHandler(&log, nil)), nil) }()
	seen := map[string]bool{}
	for records := 0; records < 2*n; {
		w.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			records++
			var p event.Prediction
			if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
				t.Error(err)
			}
			is := want[p.ID]
			if seen[p.ID] || p.Artifact != is.Artifact || p.Class != is.Class || p.Probability != is.Probability {
				t.Errorf("%s: class %d with %v by %s, want %d with %v by %s, once", p.ID, p.Class, p.Probability, p.Artifact,
					is.Class, is.Probability, is.Artifact)
			}
			seen[p.ID] = true
		})
	}
	address := ""
	for line := range strings.Lines(log.String()) {
		if _, at, is := strings.Cut(line, "listening for metrics and health\" address="); is {
			address = strings.TrimSpace(at)
		}
	}
	get := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
		expect.OK(t, err)
		resp, err := http.DefaultClient.Do(req)
		expect.OK(t, err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		expect.OK(t, err)
		return string(text)
	}
	for name, b := range versions {
		count := fmt.Sprintf("rivulet_arrivals_total{pipeline=%q} %d", name, n)
		await(t, func() bool { return strings.Contains(get("/metrics"), count) }) // after the commit
		info := fmt.Sprintf("rivulet_artifact_info{pipeline=%q,version=%q} 1", name, b.Manifest.Version)
		if !strings.Contains(get("/metrics"), info) {
			t.Errorf("no %s", info)
		}
	}
	if ready := get("/readyz"); ready != "ok\n" {
		t.Errorf("/readyz: %s", ready)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for name := range versions {
		if !strings.Contains(log.String(), `msg="the consumer has ended" pipeline=`+name) {
			t.Errorf("no last line of %s in\n%s", name, log.String())
		}
	}
}

// Versions of two prefixes with the same M have it in memory once.
func TestVersionsOfTwoPrefixesShareM(t *testing.T) {
	old := rival(t, 1, "orders-1")
	cfg := stackOf(t, old)
	rows := func(prefix string) *attach.PackedRows {
		of := cfg
		of.Redis.Prefix = prefix
		w, end, err := follower(of, "", slog.New(slog.DiscardHandler))
		expect.OK(t, err)
		t.Cleanup(func() { _ = end() })
		expect.OK(t, w.Load(t.Context()))
		return w.Current().Numbers([]string{old.Mapping.IDs[0]}, make([]uint32, 1))
	}
	for prefix, b := range map[string]*artifact.Bundle{"same": old, "other": rival(t, 2, "other-1")} {
		server := cfg.Redis.RedisServer
		server.Prefix = prefix
		if err := WithPublisher(server, func(p *serving.Publisher) error {
			return p.Publish(t.Context(), b, serving.PublishOptions{})
		}); err != nil {
			t.Fatal(err)
		}
	}
	first := rows(cfg.Redis.Prefix)
	if rows("same") != first || rows("other") == first {
		t.Error("the same M is in memory twice, or another one is taken for it")
	}
}

// A pipeline that cannot go on ends the process, and the error has its name; the other one drains.
func TestAPipelineThatFailsEndsAll(t *testing.T) {
	names := config.Default[config.Consumer]().Kafka.Topics
	may := func(resource kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op,
			Allow: true}
	}
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: topics(), Users: []devstack.KafkaUser{
		{Mechanism: "PLAIN", Name: "all", Password: "word"},
		{Mechanism: "PLAIN", Name: "no-group", Password: "word", ACLs: []kfake.ACL{
			may(kmsg.ACLResourceTypeTopic, names.Arrivals, kmsg.ACLOperationRead)}}}})
	expect.OK(t, err)
	defer k.Close()
	cfg, _ := pinnedConfig(t, k.Addrs()...)
	cfg.Kafka.SASL = config.KafkaSASL{Mechanism: "plain", Username: "all", Password: "word"}
	dir := t.TempDir()
	for name, more := range map[string]string{"orders": "", "users": ", sasl: {username: no-group}"} {
		path := filepath.Join(dir, name+".yaml")
		expect.OK(t, os.WriteFile(path, []byte("kafka: {group: "+name+more+"}\n"), 0o600))
		cfg.Pipelines = append(cfg.Pipelines, path)
	}
	var log harness.Transcript
	err = RunConsumer(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), nil)
	if !errors.Is(err, kafka.GroupAuthorizationFailed) || !strings.HasPrefix(err.Error(), "pipeline users: ") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(log.String(), `msg="the consumer has ended" pipeline=orders`) {
		t.Errorf("orders has not ended by itself:\n%s", log.String())
	}
	cfg.Pipelines = append(cfg.Pipelines, filepath.Join(dir, "absent.yaml"))
	if err := RunConsumer(t.Context(), cfg, slog.New(slog.DiscardHandler), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}
