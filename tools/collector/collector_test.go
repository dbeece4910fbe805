package collector

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// program returns the command of one of Rivulet's programs.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := os.Getenv("RIVULET_TEST_BIN")
	if dir == "" {
		t.Skip("RIVULET_TEST_BIN is not set: make collector sets it")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stderr = t.Output()
	return cmd
}

// start starts a program that gets SIGTERM at the end of the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// receive starts the collector's receiver of OTLP over HTTP, and returns its address and the traces that it receives.
func receive(t *testing.T) (address string, received *consumertest.TracesSink) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	factory := otlpreceiver.NewFactory()
	cfg, received := factory.CreateDefaultConfig(), &consumertest.TracesSink{}
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"http": map[string]any{"endpoint": address}}}).Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	r, err := factory.CreateTraces(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, received)
	if err == nil {
		err = r.Start(t.Context(), componenttest.NewNopHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
	return "http://" + address, received
}

// embedded starts a broker of devstack, and returns its address.
func embedded(t *testing.T) string {
	t.Helper()
	cmd := program(t, "rivulet", "devstack", "--kafka", "127.0.0.1:0", "--redis", "")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	start(t, cmd)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, is := strings.CutPrefix(lines.Text(), "embedded Kafka broker on "); is {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			address, _, _ := strings.Cut(at, ",")
			return address
		}
	}
	t.Fatal("devstack has ended")
	return ""
}

// realKafka returns the address of the broker whose directory RIVULET_TEST_KAFKA_DIR names.
func realKafka(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RIVULET_TEST_KAFKA_DIR")
	if dir == "" {
		t.Skip("RIVULET_TEST_KAFKA_DIR is not set: make collector sets it")
	}
	port, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strings.TrimSpace(string(port))
}

// makeTopics makes topics of one partition.
func makeTopics(t *testing.T, broker string, names ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range names {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, -1
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range answer.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			t.Fatalf("%s: %v", topic.Topic, err)
		}
	}
}

// spans returns all spans that were received, with the attributes of their resource.
func spans(received *consumertest.TracesSink) (all []ptrace.Span, of pcommon.Map) {
	for _, traces := range received.AllTraces() {
		for _, resource := range traces.ResourceSpans().All() {
			of = resource.Resource().Attributes()
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					all = append(all, span)
				}
			}
		}
	}
	return all, of
}

// text writes a batch's span with its stages, as docs/operate.md shows one.
func text(batch ptrace.Span, stages []ptrace.Span) string {
	took := func(s ptrace.Span) float64 {
		return s.EndTimestamp().AsTime().Sub(s.StartTimestamp().AsTime()).Seconds() * 1e3
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %.1f ms", batch.Name(), took(batch))
	for _, link := range batch.Links().All() {
		fmt.Fprintf(&b, "  link %s", link.TraceID())
	}
	for _, name := range []string{"messaging.batch.message_count", "rivulet.artifact"} {
		if v, ok := batch.Attributes().Get(name); ok {
			fmt.Fprintf(&b, "  %s %s", name, v.AsString())
		}
	}
	b.WriteString("\n")
	for _, s := range stages {
		fmt.Fprintf(&b, "  %s %.2f", s.Name(), took(s))
	}
	return b.String() + " ms"
}

// An arrival whose trace is sampled comes to an embedded and to a real broker among others that have none. The
// collector takes the consumer's spans: one of the micro-batch, linked to the arrival's trace alone, and below it one
// of each stage in their order, which end with the batch. The arrival's prediction, and no other, carries the trace on.
func TestTheCollectorTakesTheSpans(t *testing.T) {
	data, artifact := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "artifact")
	for _, cmd := range []*exec.Cmd{program(t, "rivulet", "generate", "--preset", "small", "--out", data),
		program(t, "trainer", "train", "--data", data, "--costs=false", "--out", artifact)} {
		if out, err := cmd.Output(); err != nil {
			t.Fatalf("%s: %v: %s", cmd, err, out)
		}
	}
	out, err := program(t, "rivulet", "replay", "--data", data, "--limit", "50", "--out", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	arrivals := strings.Split(strings.TrimSpace(string(out)), "\n")
	for name, broker := range map[string]func(*testing.T) string{"embedded": embedded, "real": realKafka} {
		t.Run(name, func(t *testing.T) { batchIsTraced(t, broker(t), artifact, arrivals) })
	}
}

func batchIsTraced(t *testing.T, broker, artifact string, arrivals []string) {
	const traceID = "1af7651916cd43dd8448eb211c80319c"
	const traceparent = "00-" + traceID + "-b7ad6b7169203331-01"
	sampled := strconv.Itoa(len(arrivals) / 2) // the key of its arrival
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	topics := []string{"arrivals-" + run, "predictions-" + run, "dead-letters-" + run}
	makeTopics(t, broker, topics...)
	endpoint, received := receive(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topics[1]), kgo.ProducerLinger(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for k, line := range arrivals {
		r := &kgo.Record{Topic: topics[0], Key: []byte(strconv.Itoa(k)), Value: []byte(line)}
		if string(r.Key) == sampled {
			r.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte(traceparent)}}
		}
		records = append(records, r)
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	start(t, program(t, "consumer", "--kafka.brokers", broker, "--artifact", artifact, "--http.listen", "",
		"--kafka.group", run, "--kafka.topics.arrivals", topics[0], "--kafka.topics.predictions", topics[1],
		"--kafka.topics.dead_letters", topics[2], "--traces.endpoint", endpoint))

	for answered := 0; answered < len(arrivals); {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			answered++
			traced := slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool {
				return h.Key == "traceparent" && string(h.Value) == traceparent
			})
			if traced != (string(r.Key) == sampled) {
				t.Errorf("the prediction of arrival %s carries the trace: %v", r.Key, traced)
			}
		})
	}
	for begun := time.Now(); received.SpanCount() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("the collector has received nothing for a minute")
		}
	}
	all, of := spans(received)
	if name, _ := of.Get("service.name"); name.AsString() != "rivulet-consumer" {
		t.Errorf("the service is called %q", name.AsString())
	}
	at := slices.IndexFunc(all, func(s ptrace.Span) bool { return s.Name() == "rivulet batch" })
	if at < 0 {
		t.Fatalf("no span of a batch among %d", len(all))
	}
	batch := all[at]
	var stages []ptrace.Span
	for _, s := range all {
		if s.ParentSpanID() == batch.SpanID() && s.TraceID() == batch.TraceID() {
			stages = append(stages, s)
		}
	}
	slices.SortStableFunc(stages, func(a, b ptrace.Span) int {
		return a.StartTimestamp().AsTime().Compare(b.StartTimestamp().AsTime())
	})
	t.Logf("as the collector has it:\n%s", text(batch, stages))
	var names []string
	end := batch.StartTimestamp()
	for _, s := range stages {
		names = append(names, s.Name())
		if s.StartTimestamp() != end {
			t.Errorf("%s does not begin where the stage before it ends", s.Name())
		}
		end = s.EndTimestamp()
	}
	for _, want := range []string{"decode", "attach", "predict", "encode", "publish", "commit"} {
		if !slices.Contains(names, want) {
			t.Errorf("no span of %s among %v", want, names)
		}
	}
	if len(all) != len(stages)+1 || end != batch.EndTimestamp() {
		t.Errorf("%d spans, %d of stages, which end at %v, and the batch at %v", len(all), len(stages), end,
			batch.EndTimestamp())
	}
	if n, _ := batch.Attributes().Get("messaging.batch.message_count"); n.Int() != int64(len(arrivals)) {
		t.Errorf("the batch has %d arrivals, want %d", n.Int(), len(arrivals))
	}
	if batch.Kind() != ptrace.SpanKindConsumer || batch.Links().Len() != 1 ||
		batch.Links().At(0).TraceID().String() != traceID {
		t.Errorf("the batch is of kind %v with %d links", batch.Kind(), batch.Links().Len())
	}
}
