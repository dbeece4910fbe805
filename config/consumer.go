package config

import (
	"slices"
	"time"
)

// Consumer is the configuration of the consumer service. The tags give each field's unit, default and the meaning of
// zero; REFERENCE.md shows them as a table.
type Consumer struct {
	Kafka Kafka `key:"kafka"`
	Redis Redis `key:"redis"`

	Choice

	Delivery string `key:"delivery" default:"at_least_once" oneof:"at_least_once|exactly_once" usage:"at_least_once: after a crash a prediction may come twice, with the same source headers; exactly_once: predictions, dead letters and offsets are one transaction, seen once by read-committed readers (Kafka 2.5 or newer)"`

	Attach   AttachAndWait `key:"attach"`
	Batch    Batch         `key:"batch"`
	Cache    Cache         `key:"cache"`
	Limits   Limits        `key:"limits"`
	Input    Input         `key:"input"`
	Features Features      `key:"features"`
	Registry Registry      `key:"registry"`
	Output   Output        `key:"output"`
	Labels   Labels        `key:"labels"`
	HTTP     HTTP          `key:"http"`
	Debug    Debug         `key:"debug"`
	Traces   Traces        `key:"traces"`
	Shutdown Shutdown      `key:"shutdown"`
	Log      Log           `key:"log"`
}

// all has the settings of all programs.
type all struct {
	Consumer
	Serve Server     `key:"serve"`
	Page  PageServer `key:"page"`
}

// Choice selects the artifact and the model that are served, and how.
type Choice struct {
	Artifact    string `key:"artifact" default:"" usage:"artifact to serve and pin: a directory, or an address that begins with file://, https:// or s3://; Redis is then not used" zero:"serve a version in Redis"`
	Version     string `key:"version" default:"" usage:"version in Redis to serve and pin, such as one that trainer publish --activate=false has published to be tried; one that is not there yet is waited for" zero:"follow the version that CURRENT names"`
	VerifyKey   string `key:"verify_key_file" default:"" usage:"PEM file of public keys of Ed25519: a version whose manifest none of them has signed (trainer publish --sign) is refused, and the one before goes on serving" zero:"versions need not be signed"`
	Model       string `key:"model" default:"" usage:"model to serve, one of the artifact's" zero:"the artifact's default model"`
	Attachment  string `key:"attachment" default:"auto" oneof:"auto|frozen|joint" usage:"how arrivals are attached to the synthetic graph; auto: the one for which the model's tables and M were made"`
	Calibration string `key:"calibration" default:"auto" oneof:"auto|none|lp|ep" usage:"propagation after the model: of labels (lp), of errors (ep) or none; auto: the choice of validation for the model"`
}

// Values of [Consumer.Attachment], [Consumer.Calibration], [Consumer.Delivery] and [Batch.Mode] on which wiring
// branches.
const (
	Ignore      = "ignore" // names of features that the artifact's schema does not have are passed over
	AtLeastOnce = "at_least_once"
	ExactlyOnce = "exactly_once" // predictions, dead letters and offsets are one transaction

	Auto     = "auto" // chosen by the artifact
	On       = "on"   // for Attach.Arrivals and Input.Forget
	Drop     = "drop" // for AttachAndWait.Unmatched
	LogJSON  = "json" // a line of the log is JSON
	ModeNode = "node" // each arrival on its own
)

func (c Consumer) problems() problems {
	found := slices.Concat(attachProblems(c.Attach.Attach, c.Choice), cacheProblems(c.Cache, c.Choice),
		registryProblems(c.Input, c.Registry), lookupProblems(c.Features, c.Redis.RedisServer),
		choiceProblems(c.Choice))
	found.when(c.Output.Registry != RegistryNone && len(c.Registry.URLs) == 0, "output.registry", c.Output.Registry,
		"needs a registry, and registry.urls is empty")
	found.when(c.Output.Format == "avro" && c.Output.Registry == RegistryNone, "output.format", c.Output.Format,
		"is read by its schema alone: set output.registry to lookup or register")
	return found
}

// choiceProblems returns settings that contradict artifact.
func choiceProblems(c Choice) (found problems) {
	found.when(c.Artifact != "" && c.Version != "", "version", c.Version,
		"is a version in Redis, which is not used because artifact is set: want one of the two")
	return found
}

// cacheProblems returns settings that contradict cache.directory.
func cacheProblems(c Cache, of Choice) (found problems) {
	found.when(c.Directory != "" && of.Artifact == "", "cache.directory", c.Directory,
		"is for the M of a pinned artifact, and artifact is empty: versions in Redis have their rows there")
	return found
}

// attachProblems returns settings that contradict attach.arrivals.
func attachProblems(a Attach, c Choice) (found problems) {
	if a.Arrivals != On {
		return found
	}
	found.when(c.Artifact != "", "attach.arrivals", a.Arrivals,
		"rows of arrivals are shared through Redis, which is not used because artifact is set")
	found.when(c.Attachment == "joint", "attach.arrivals", a.Arrivals, "needs frozen attachment, and attachment is joint")
	return found
}

// Batch describes how arrivals are gathered into micro-batches.
type Batch struct {
	BatchMode
	Size     int           `key:"size" default:"256" min:"1" max:"1000000" unit:"arrivals" usage:"most arrivals of a micro-batch"`
	MaxBytes Bytes         `key:"max_bytes" default:"8MiB" min:"0" usage:"most bytes of the records of a micro-batch; a larger record is one of its own. A list of short ids takes up to twenty times its bytes while it is worked on, so this bounds the memory" zero:"no limit"`
	Linger   time.Duration `key:"linger" default:"5ms" min:"0s" max:"1h" usage:"how long the first arrival of a micro-batch waits for others" zero:"a micro-batch consists of the arrivals that have been read already"`
}

// BatchMode decides whether the arrivals of a micro-batch see each other.
type BatchMode struct {
	Mode string `key:"mode" default:"node" oneof:"node|graph" usage:"node: each arrival is predicted on its own; graph: edges among the arrivals of a micro-batch count too"`
}

// Attach says whether arrivals get rows of M, so that later ones can attach to them.
type Attach struct {
	Arrivals string        `key:"arrivals" default:"off" oneof:"off|on" usage:"on: each arrival gets a row of M of its own, to which later arrivals attach, in any consumer of the version; needs an artifact of method solved or cluster and frozen attachment. Rows are removed with the version that predicted"`
	TTL      time.Duration `key:"ttl" default:"24h" min:"1s" max:"8760h" usage:"how long an arrival's row is stored, from when it was last written"`
	MaxRows  int           `key:"max_rows" default:"1000000" min:"1" max:"1000000000" unit:"rows" usage:"most rows of arrivals of a version; at this number, further arrivals get none until some expire. A row counts until it would expire, also if it was replaced or forgotten"`
	MaxBytes Bytes         `key:"max_bytes" default:"256MiB" min:"0" usage:"approximate memory of Redis for rows of arrivals of a version: the bytes of each row and its key, and 150 more; beyond it, further arrivals get none until some expire" zero:"no limit"`
}

// AttachAndWait is [Attach] of a consumer, whose arrivals may wait for edges that come as records of their own.
type AttachAndWait struct {
	Attach
	Wait      time.Duration `key:"wait" default:"0s" min:"0s" max:"1h" usage:"how long an arrival waits for edges that come as records of their own, and such an edge for its arrival, in the time of the records' timestamps; an arrival with as many edges as its edge_count says waits no longer" zero:"arrivals do not wait, and such edges are counted and passed over"`
	MaxAhead  time.Duration `key:"max_ahead" default:"5s" min:"1ms" max:"1h" usage:"with attach.wait: how far a record's timestamp may lie beyond the newest one before it in the partition plus attach.wait; a record further ahead waits as if it were stamped with that newest one, and ends no other wait"`
	WaitBytes Bytes         `key:"wait_bytes" default:"64MiB" min:"64KiB" usage:"with attach.wait: most bytes of the records between one that waits and the last that was read, with what was read of each and 512 more, in all partitions of a consumer together, in equal shares; an arrival or an edge waits no longer than its partition's share lasts"`
	Unmatched string        `key:"unmatched" default:"dead_letter" oneof:"dead_letter|drop" usage:"with attach.wait: what becomes of an edge for which no arrival has waited, as of one between nodes that are known already; dead_letter: it goes to the dead-letter topic; drop: it is counted only"`
}

// Cache bounds the rows of M in the memory of the process.
type Cache struct {
	Bytes Bytes `key:"bytes" default:"256MiB" min:"0" usage:"approximate memory for rows of M; an M that fits is read whole when its version is loaded" zero:"cache none, ask Redis each time"`

	Directory string `key:"directory" default:"" usage:"with artifact: directory on a local disk in which M is kept as a file that is mapped into memory. The first process writes it, the others on the machine start without reading M and share its memory. Who may write there decides what is predicted" zero:"M is in the memory of each process"`
}

// Limits bound a record; one beyond them goes to the dead-letter topic.
type Limits struct {
	RecordBytes Bytes `key:"record_bytes" default:"1MiB" min:"0" usage:"largest record of an arrival, key and value together" zero:"no limit"`
	Edges       int   `key:"edges" default:"10000" min:"0" unit:"edges" usage:"most edges of an arrival" zero:"no limit"`
	IDBytes     Bytes `key:"id_bytes" default:"1KiB" min:"0" usage:"longest id of an arrival or a neighbour" zero:"no limit, but an arrival's key and id have at most 128 KiB together"`
}

// Input describes how arrivals are read.
type Input struct {
	Forget string `key:"forget" default:"off" oneof:"off|on" usage:"on: a tombstone, a delete of Debezium or Connect, and a record {\"id\": …, \"forget\": true} remove what is stored of the id, and a refresh takes its node out of the graph (docs/stream.md); off: deletes and tombstones are passed over and counted"`
	Format string `key:"format" default:"json" oneof:"json|protobuf|confluent" usage:"form of arrivals whose record has no content-type header; confluent: each begins with a byte 0 and the id of its schema. Where there is a registry, a record that begins with a byte 0 is taken for one in any case"`
	Reading
}

// Reading sets how arrivals of a known form are read.
type Reading struct {
	Mapping Mapping `key:"mapping"`

	UnknownFeatures string `key:"unknown_features" default:"dead_letter" oneof:"dead_letter|ignore" usage:"what becomes of an arrival with a feature whose name the artifact's schema does not have"`
}

// Output sets the form of predictions and their optional fields.
type Output struct {
	Format   string `key:"format" default:"json" oneof:"json|protobuf|avro" usage:"form of predictions; their content-type header says it; avro needs output.registry, as it is read by its schema alone"`
	Registry string `key:"registry" default:"none" oneof:"none|lookup|register" usage:"lookup: predictions have the Confluent wire format, with the schema that the registry has for the subject TOPIC-value; register: the same, and the schema is registered where it is missing"`

	Answer
}

// Answer sets the optional fields of predictions.
type Answer struct {
	TopK          int  `key:"top_k" default:"0" min:"0" unit:"classes" usage:"how many of the most probable classes a prediction lists, or of the best candidates of a task of links" zero:"no list of classes, 10 candidates; a number above that of the classes lists all"`
	Probabilities bool `key:"probabilities" default:"false" usage:"add the probabilities of all classes"`
	Logits        bool `key:"logits" default:"false" usage:"add the model's raw output, before temperature and propagation"`

	Representation string  `key:"representation" default:"none" oneof:"none|logits|embedding" usage:"add a vector for feeds that compute with it: the logits, or the layer before the classifier (of a frozen sgc the propagated features, for which the artifact must have been trained with --representation)"`
	Explain        int     `key:"explain" default:"0" min:"0" max:"100" unit:"reasons" usage:"how many of its strongest reasons a prediction lists: features and neighbours with what they add to the logit (docs/serve.md)" zero:"none"`
	ExplainIDs     bool    `key:"explain_ids" default:"false" usage:"name the neighbours among the reasons by their ids"`
	Coverage       float64 `key:"coverage" default:"0" unit:"share" check:"share" usage:"share of the arrivals to answer, up to 1: predictions are marked as abstained if their probability is below the threshold at which this share of the validation nodes is answered" zero:"none is marked"`
}

// HTTP sets the address of metrics and health.
type HTTP struct {
	Listen string   `key:"listen" default:":9464" check:"listen" usage:"address of /metrics, /healthz and /readyz, as host:port or :port" zero:"no HTTP server"`
	Hosts  []string `key:"hosts" default:"" usage:"further names under which this port is reached, with a port or without; other sites' pages could have a browser read it by a name of theirs" zero:"IP addresses, names without a dot, this machine's name and those of local networks (.local, .internal, .svc)"`
}

// Debug sets the address of profiles and effective settings.
type Debug struct {
	Listen string `key:"listen" default:"" check:"loopback" usage:"address of /debug/pprof/ and /debug/settings, such as 127.0.0.1:6060; only this machine may reach it" zero:"neither is served"`
}

// Traces sets where spans of batches go.
type Traces struct {
	Endpoint string  `key:"endpoint" default:"" check:"endpoint" usage:"address of an OpenTelemetry collector, such as http://localhost:4318, to which a span of each traced batch and its stages is sent (OTLP over HTTP; the path /v1/traces is added unless it is there); OTEL_EXPORTER_OTLP_HEADERS has further headers, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say who sends" zero:"no spans, and predictions carry no trace context"`
	Share    float64 `key:"share" default:"0" unit:"share" check:"share" usage:"share of the batches that are traced though none of their arrivals is" zero:"only batches with an arrival whose traceparent says that it is sampled"`
}

// Shutdown sets how the service ends.
type Shutdown struct {
	DrainTimeout time.Duration `key:"drain_timeout" default:"30s" min:"1ms" usage:"time that a stop has to finish, publish and commit the current micro-batches; records that are not committed by then are read again"`
}

// Log sets the log on standard error.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"debug|info|warn|error" usage:"least severe level that is logged"`
	Format string `key:"format" default:"text" oneof:"text|json" usage:"form of a line"`
}

// Publish is the configuration of the trainer's publish: an artifact and the Redis that it goes to.
type Publish struct {
	Artifact string      `key:"artifact" default:"" check:"required" usage:"artifact to publish: a directory, or an address that begins with file://, https:// or s3://" zero:"refused"`
	Redis    RedisServer `key:"redis"`
}

// Versions is the configuration of the commands that list, activate and remove versions.
type Versions struct {
	Redis RedisServer `key:"redis"`
}

// DeadLetters is the configuration of a program that feeds dead letters in again.
type DeadLetters struct {
	Kafka DeadLetterKafka `key:"kafka"`
}

// Replay is the configuration of a producer of arrivals.
type Replay struct {
	Kafka ProducerKafka `key:"kafka"`
}

// Logging returns how the program logs.
func (c Consumer) Logging() Log { return c.Log }
