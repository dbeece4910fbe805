package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"rivulet/test/expect"
)

// sources writes a file if there is one, and parses the arguments.
func sources(t *testing.T, file string, environ []string, args ...string) Sources {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags[Consumer](fs)
	if file != "" {
		path := filepath.Join(t.TempDir(), "rivulet.yaml")
		expect.OK(t, os.WriteFile(path, []byte(file), 0o600))
		args = append(args, "--config", path)
	}
	expect.OK(t, fs.Parse(args))
	return Sources{Flags: fs, Environ: environ}
}

func TestDefaults(t *testing.T) {
	got := Default[Consumer]()
	server := RedisServer{URL: "redis://localhost:6379/0", Prefix: "rivulet",
		DialTimeout: 5 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second,
		PoolTimeout: 4 * time.Second,
		Retry:       RedisRetry{3, 20 * time.Millisecond, 500 * time.Millisecond}}
	want := Consumer{
		Kafka: Kafka{
			Brokers: Brokers{Brokers: []string{"localhost:9092"}, ClientID: "rivulet",
				SASL: KafkaSASL{Mechanism: SASLNone}},
			Group:          "rivulet",
			Topics:         Topics{"arrivals", "predictions", "arrivals.dead-letters"},
			StartOffset:    "earliest",
			SessionTimeout: 10 * time.Second, HeartbeatInterval: 500 * time.Millisecond,
			Fetch:       Fetch{4 << 20, 500 * time.Millisecond},
			Compression: "none",

			TransactionTimeout: time.Minute,
		},
		Redis: Redis{
			RedisServer:  server,
			PollInterval: time.Second, HeartbeatTTL: 30 * time.Second,
			LookupTimeout: 2 * time.Second, Outage: "wait", Breaker: RedisBreaker{3, 5 * time.Second},
		},
		Choice:   Choice{Attachment: Auto, Calibration: Auto},
		Delivery: "at_least_once",
		Attach: AttachAndWait{Attach{"off", 24 * time.Hour, 1_000_000, 256 << 20}, 0, 5 * time.Second, 64 << 20,
			"dead_letter"},
		Labels: Labels{Remember: 100_000, TTL: 24 * time.Hour},
		Batch:  Batch{BatchMode{ModeNode}, 256, 8 << 20, 5 * time.Millisecond},
		Cache:  Cache{Bytes: 256 << 20},
		Limits: Limits{1 << 20, 10000, 1 << 10},
		Input: Input{Forget: "off", Format: "json",
			Reading: Reading{Mapping{Preset: "none", TimeUnit: "none", NamedTimeUnit: "auto",
				Decimals:    "auto",
				Placeholder: "__debezium_unavailable_value", Unavailable: "refuse"}, "dead_letter"}},
		Features: Features{FromRecord, FeatureServer{"float32", "features:", 2 * time.Second, ""}},
		Registry: Registry{Timeout: 5 * time.Second},
		Output:   Output{Format: "json", Registry: "none", Answer: Answer{Representation: "none"}},
		HTTP:     HTTP{":9464", nil},
		Shutdown: Shutdown{30 * time.Second},
		Log:      Log{"info", "text"},
	}
	expect.Same(t, want, got, "defaults")
}

// Each layer overrides the one before it, field by field.
func TestLayers(t *testing.T) {
	const file = `
kafka:
  brokers: [a:1, b:2]
  group: from-file
  client_id: from-file
batch: {size: 10, mode: graph}
output: {coverage: 0.9}
redis: # all below is left out
cache: {}
`
	environ := []string{
		"PATH=/bin",
		"RIVULET_KAFKA_GROUP=from-environment",
		"RIVULET_KAFKA_CLIENT_ID=from-environment",
		"RIVULET_KAFKA_TOPICS_DEAD_LETTERS=dead",
		"RIVULET_BATCH_SIZE=20",
		"RIVULET_OUTPUT_LOGITS=true",
		"RIVULET_OUTPUT_FORMAT=protobuf",
		"RIVULET_OUTPUT_REPRESENTATION=embedding",
		"RIVULET_DATA=/data", "RIVULET_TEST_REDIS=redis://localhost", // not settings
	}
	got, err := Load[Consumer](sources(t, file, environ,
		"--kafka.client_id=from-flag", "--batch.size=30", "--output.probabilities", "--cache.bytes=1GiB"))
	expect.OK(t, err)
	want := Default[Consumer]()
	want.Kafka.Brokers.Brokers, want.Kafka.ClientID = []string{"a:1", "b:2"}, "from-flag"
	want.Kafka.Group = "from-environment"
	want.Kafka.Topics.DeadLetters = "dead"
	want.Batch = Batch{BatchMode{"graph"}, 30, 8 << 20, 5 * time.Millisecond}
	want.Output = Output{Format: "protobuf", Registry: "none",
		Answer: Answer{Probabilities: true, Logits: true, Representation: "embedding", Coverage: 0.9}}
	want.Cache.Bytes = 1 << 30
	expect.Same(t, want, got, "settings")
}

// A list replaces the list of the layer before it, in each way of writing it.
func TestLists(t *testing.T) {
	for name, from := range map[string]Sources{
		"file, list": sources(t, "kafka: {brokers: [c:1, d:2]}", nil),
		"file, text": sources(t, `kafka: {brokers: "c:1, d:2"}`, nil),
		"variable":   sources(t, "kafka: {brokers: [a:1, a:2, a:3]}", []string{"RIVULET_KAFKA_BROKERS=c:1,d:2"}),
		"flag":       sources(t, "", []string{"RIVULET_KAFKA_BROKERS=a:1"}, "--kafka.brokers=c:1,d:2"),
	} {
		cfg, err := Load[Consumer](from)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.Same(t, []string{"c:1", "d:2"}, cfg.Kafka.Brokers.Brokers, "%s", name)
	}
}

// The file may be named by the environment; --config goes before it, and an empty one turns it off.
// Helm writes whole numbers of seven digits as powers of ten.
func TestLargeNumbersOfHelm(t *testing.T) {
	cfg, err := Load[Consumer](sources(t, "limits: {edges: 1e+06}\ncache: {bytes: 1.073741824e+09}\n"+
		"output: {coverage: 1e+00}\nkafka: {fetch: {max_bytes: 2.097152e+06}}", nil))
	expect.OK(t, err)
	expect.Same(t, 1_000_000, cfg.Limits.Edges, "limits.edges")
	expect.Same(t, Bytes(1<<30), cfg.Cache.Bytes, "cache.bytes")
	expect.Same(t, 1.0, cfg.Output.Coverage, "output.coverage")
	expect.Same(t, Bytes(2<<20), cfg.Kafka.Fetch.MaxBytes, "kafka.fetch.max_bytes")
	_, err = Load[Consumer](sources(t, "limits: {edges: 1.5}", nil))
	expect.Error(t, err, "limits.edges", "whole number")
}

func TestFileByVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.yaml")
	expect.OK(t, os.WriteFile(path, []byte("batch: {size: 77}"), 0o600))
	environ := []string{"RIVULET_CONFIG=" + path}
	for _, c := range []struct {
		from Sources
		want int
	}{
		{Sources{Environ: environ}, 77},
		{sources(t, "", environ), 77},
		{sources(t, "batch: {size: 78}", environ), 78},
		{sources(t, "", environ, "--config="), 256},
	} {
		cfg, err := Load[Consumer](c.from)
		if err != nil || cfg.Batch.Size != c.want {
			t.Errorf("batch.size is %d, want %d (%v)", cfg.Batch.Size, c.want, err)
		}
	}
}

// Everything that is wrong is reported at once, with the key, the value, its origin and what is allowed.
func TestProblems(t *testing.T) {
	from := sources(t, `
kafka:
  brokers: [a]
  topcis: {arrivals: x}
  client_id: 1.10
  group:
batch: 5
log: {level: loud}
cache: {bytes: 3 apples}
redis: {dial_timeout: 5}
output: {top_k: {a: 1}}
`, []string{"RIVULET_BATCH_SIZE=0", "RIVULET_BATHC_SIZE=1", "RIVULET_LIMITS_EDGES=many"},
		"--batch.mode=nodes", "--batch.linger=2h", "--output.logits=yes")
	_, err := Load[Consumer](from)
	var problems *Error
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want an *Error", err)
	}
	file := "file " + from.Flags.Lookup("config").Value.String() + ":"
	want := []Problem{
		{"batch", "", file + "7", "is a section, want keys and values below it"},
		{"kafka.topcis.arrivals", "", file + "4", "unknown key, did you mean kafka.topics.arrivals?"},
		{"output.top_k.a", "", file + "11", "unknown key, did you mean output.top_k?"},
		{"RIVULET_BATHC_SIZE", "", "environment", "unknown variable, did you mean RIVULET_BATCH_SIZE?"},
		{"kafka.brokers", "[a]", file + "3", `"a": want host:port`},
		{"kafka.client_id", "1.1", file + "5", "want a text; put it in quotes"},
		{"kafka.group", "", file + "6", `no value; leave the key out for the default, or write "" for an empty text`},
		{"redis.dial_timeout", "5", file + "10", "want a duration with its unit, such as 5ms, 1.5s or 2m"},
		{"batch.mode", "nodes", "--batch.mode", "want node or graph"},
		{"batch.size", "0", "RIVULET_BATCH_SIZE", "want at least 1"},
		{"batch.linger", "2h", "--batch.linger", "want at most 1h"},
		{"cache.bytes", "3 apples", file + "9", "want a size in bytes such as 512KiB, 256MiB or 4096"},
		{"limits.edges", "many", "RIVULET_LIMITS_EDGES", "want a whole number"},
		{"output.logits", "yes", "--output.logits", "want true or false"},
		{"log.level", "loud", file + "8", "want debug, info, warn or error"},
	}
	expect.Same(t, want, problems.Problems, "problems")
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 1+len(want) || lines[0] != "configuration: 15 problems" {
		t.Errorf("message:\n%s", err)
	}
	if line := `  batch.mode is "nodes" (--batch.mode): want node or graph`; lines[9] != line {
		t.Errorf("line is %q, want %q", lines[9], line)
	}
}

// Values that are right by themselves but not together.
func TestRulesAcrossFields(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{"--kafka.topics.predictions=arrivals",
			`kafka.topics.predictions is "arrivals" (--kafka.topics.predictions): is the topic of arrivals too`},
		{"--kafka.topics.dead_letters=predictions",
			`kafka.topics.dead_letters is "predictions" (--kafka.topics.dead_letters): is the topic of arrivals or ` +
				`predictions too`},
		{"--redis.poll_interval=20s", `redis.heartbeat_ttl is "30s" (default): not more than twice poll_interval, 20s`},
	} {
		_, err := Load[Consumer](sources(t, "", nil, c.flags))
		expect.Error(t, err, c.want, "%s", c.flags)
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		flag string
		ok   bool
	}{
		{"--http.listen=", true},
		{"--http.listen=127.0.0.1:0", true},
		{"--http.listen=[::1]:9464", true},
		{"--http.listen=9464", false},
		{"--http.listen=:99999", false},
		{"--kafka.brokers=", false},
		{"--kafka.brokers=a:1,", false},
		{"--kafka.brokers=:9092", false},
		{"--kafka.brokers=a:0", false},
		{"--kafka.brokers=[::1]:9092", true},
		{"--kafka.topics.arrivals=..", false},
		{"--kafka.topics.arrivals=a b", false},
		{"--kafka.topics.arrivals=" + strings.Repeat("a", 250), false},
		{"--kafka.topics.arrivals=" + strings.Repeat("a", 249), true},
		{"--kafka.group=", false},
		{"--redis.prefix=", false},
		{"--redis.prefix=a{b}", false},
		{"--redis.prefix=team/rivulet:2", true},
		{"--redis.url=unix:///run/redis.sock?db=1", true},
		{"--redis.url=rediss://user:word@host:6380/2", true},
		{"--redis.url=http://host", false},
		{"--redis.url=redis:///0", false},
		{"--redis.url=redis://:6379/0", false},
		{"--redis.url=", false},
		{"--redis.url=redis://host/x", false},
		{"--redis.url=redis://host?sizes=3", false},
		{"--redis.url=redis://a:1,:2", false},
		{"--redis.outage=panic", false},
		{"--artifact=", true},
		{"--input.format=protobuf", true},
		{"--input.format=xml", false}, {"--input.format=confluent", false}, {"--input.mapping.id=user", false},
		{"--input.mapping.id=/user/id", true}, {"--registry.urls=localhost:8081", false},
		{"--registry.urls=http://u:p@h", false},
		{"--registry.urls=https://h:8081/apis/ccompat/v7", true}, {"--output.registry=lookup", false},
		{"--registry.username=u", false},
		{"--output.format=", false}, {"--output.format=avro", false},
		{"--output.coverage=1", true},
		{"--output.coverage=0.5", true},
		{"--output.coverage=1.01", false},
		{"--output.coverage=-0.1", false},
		{"--output.coverage=NaN", false},
		{"--output.coverage=most", false},
		{"--output.representation=rank", false},
		{"--batch.linger=0s", true},
		{"--shutdown.drain_timeout=0s", false},
	} {
		if _, err := Load[Consumer](sources(t, "", nil, c.flag)); (err == nil) != c.ok {
			t.Errorf("%s: got %v, want it accepted: %t", c.flag, err, c.ok)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"list":           {"- a", "cannot unmarshal"},
		"twice":          {"model: a\nmodel: b", "already defined"},
		"not YAML":       {"a: [", "reading configuration file"},
		"number as key":  {"5: x", "5 (file"},
		"number below":   {"batch: {5: x}", "batch.5 (file"},
		"list of lists":  {"kafka: {brokers: [[a]]}", "entry 0 is [a]"},
		"list for text":  {"model: [a]", "want a string"},
		"truth for list": {"kafka: {brokers: true}", "want a list"},
	} {
		_, err := Load[Consumer](sources(t, c.file, nil))
		expect.Error(t, err, c.want, "%s", name)
	}
	_, err := Load[Consumer](sources(t, "", nil, "--output.format=avro", "--output.registry=register",
		"--registry.urls=http://h"))
	if err != nil {
		t.Errorf("Avro with a registry: %v", err)
	}
	_, err = Load[Consumer](Sources{Environ: []string{"RIVULET_CONFIG=nowhere.yaml"}})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("missing file: got %v", err)
	}
	if _, err := Load[Consumer](sources(t, "# nothing\n", nil)); err != nil {
		t.Errorf("a file of comments: %v", err)
	}
}

// Programs share a file and an environment: a key that only another one needs is accepted.
func TestSharedSettings(t *testing.T) {
	shared := sources(t, "kafka: {group: g}\nredis: {prefix: shared}\nartifact: /a",
		[]string{"RIVULET_BATCH_SIZE=2", "RIVULET_KAFKA_TOPICS_ARRIVALS=in"})
	publish, err := Load[Publish](Sources{Flags: shared.Flags, Environ: shared.Environ})
	if err != nil || publish.Redis.Prefix != "shared" || publish.Artifact != "/a" {
		t.Errorf("publish: %+v, %v", publish, err)
	}
	replay, err := Load[Replay](Sources{Flags: shared.Flags, Environ: shared.Environ})
	if err != nil || replay.Kafka.Topics.Arrivals != "in" {
		t.Errorf("replay: %+v, %v", replay, err)
	}
	_, err = Load[Publish](Sources{Environ: []string{"RIVULET_REDIS_URI=x"}})
	if err == nil || !strings.Contains(err.Error(), "RIVULET_REDIS_URI (environment): unknown variable") ||
		!strings.Contains(err.Error(), "artifact (default): must not be empty") {
		t.Errorf("publish without an artifact: %v", err)
	}
}

func TestAlias(t *testing.T) {
	fs := pflag.NewFlagSet("publish", pflag.ContinueOnError)
	Flags[Publish](fs)
	Alias(fs, map[string]string{"redis": "redis.url"})
	expect.OK(t, fs.Parse([]string{"--redis", "redis://other:1/2", "--artifact=dir"}))
	cfg, err := Load[Publish](Sources{Flags: fs})
	if err != nil || cfg.Redis.URL.Reveal() != "redis://other:1/2" {
		t.Errorf("%v, %v", cfg, err)
	}
}

// Help says the unit, what is allowed, the default and the meaning of zero.
func TestHelp(t *testing.T) {
	fs := pflag.NewFlagSet("consumer", pflag.ContinueOnError)
	Flags[Consumer](fs)
	help := fs.FlagUsages()
	for _, want := range []string{
		"--batch.size arrivals ",
		"most arrivals of a micro-batch (default 256)",
		"--batch.mode node|graph ",
		"how long the first arrival of a micro-batch waits for others; 0s: a micro-batch consists of the arrivals that " +
			"have been read already (default 5ms)",
		"--output.logits ",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, help)
		}
	}
}

// Settings that exclude growth are named by their own key, like settings of a section.
func TestProblemsOfAttach(t *testing.T) {
	for _, other := range []string{"RIVULET_ARTIFACT=somewhere", "RIVULET_ATTACHMENT=joint"} {
		_, err := Load[Consumer](sources(t, "attach: {arrivals: on}", []string{other}))
		if err == nil || !strings.Contains(err.Error(), "attach.arrivals") ||
			strings.Contains(err.Error(), ".attach.arrivals") {
			t.Errorf("%s with attach.arrivals on: %v", other, err)
		}
	}
	for _, ttl := range []string{"999ms", "1us", "0s"} {
		expect.Error(t, expect.ErrorOf(Load[Consumer](sources(t, "attach: {ttl: "+ttl+"}", nil))),
			"attach.ttl", "attach.ttl %s", ttl)
	}
	cfg, err := Load[Consumer](sources(t, "attach: {arrivals: on, ttl: 90m}", []string{"RIVULET_ATTACHMENT=frozen"}))
	if err != nil || cfg.Attach.Attach != (Attach{On, 90 * time.Minute, 1_000_000, 256 << 20}) {
		t.Errorf("%+v, %v", cfg.Attach, err)
	}
}

// ${NAME} in a file is refused with the variable that does what was meant, also in a list, and for a password.
func TestNothingIsExpandedInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rivulet.yaml")
	text := "kafka:\n  brokers: [\"${BROKER:-localhost}:9092\"]\n" +
		"redis:\n  password: ${REDIS_PASSWORD}\n  username: a$b{c}\n"
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := Load[Consumer](Sources{Environ: []string{"RIVULET_CONFIG=" + file}})
	for _, want := range []string{"2 problems", "kafka.brokers (file " + file +
		":2): ${BROKER:-localhost} is not expanded",
		"redis.password (file " + file + ":4): ${REDIS_PASSWORD} is not expanded", "RIVULET_REDIS_PASSWORD instead"} {
		expect.Error(t, err, want)
	}
}
