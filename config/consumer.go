package config

import "time"

// Consumer is the configuration of the consumer service. The tags hold each field's unit, default and the meaning of
// zero; REFERENCE.md has them as a table.
type Consumer struct {
	Kafka Kafka `key:"kafka"`
	Redis Redis `key:"redis"`

	Artifact    string `key:"artifact" default:"" usage:"directory of an artifact to serve and pin; Redis is then not used" zero:"follow the version that CURRENT names in Redis"`
	Model       string `key:"model" default:"" usage:"model to serve, one of the artifact's" zero:"the artifact's default model"`
	Attachment  string `key:"attachment" default:"auto" oneof:"auto|frozen|joint" usage:"how arrivals are attached to the synthetic graph; auto: as the model's tables and M were made for"`
	Calibration string `key:"calibration" default:"auto" oneof:"auto|none|lp|ep" usage:"propagation after the model: label (lp), error (ep) or none; auto: as validation chose for the model"`

	Delivery string `key:"delivery" default:"at_least_once" oneof:"at_least_once|exactly_once" usage:"at_least_once: after a crash predictions may come twice, marked by their headers; exactly_once: predictions, dead letters and offsets are one transaction, and read-committed readers see each once (Kafka 2.5 or newer)"`

	Attach   Attach   `key:"attach"`
	Batch    Batch    `key:"batch"`
	Cache    Cache    `key:"cache"`
	Limits   Limits   `key:"limits"`
	Input    Input    `key:"input"`
	Output   Output   `key:"output"`
	Labels   Labels   `key:"labels"`
	HTTP     HTTP     `key:"http"`
	Shutdown Shutdown `key:"shutdown"`
	Log      Log      `key:"log"`
}

// Values of [Consumer.Attachment], [Consumer.Calibration], [Consumer.Delivery] and [Batch.Mode] on which wiring branches.
const (
	ExactlyOnce = "exactly_once" // predictions, dead letters and offsets are one transaction

	Auto      = "auto"  // as the artifact says
	On        = "on"    // of Attach.Arrivals
	ModeNode  = "node"  // each arrival on its own
	ModeGraph = "graph" // edges among the arrivals of a micro-batch count
)

func (c Consumer) problems() []Problem {
	var found []Problem
	if c.Attach.TTL > 0 && c.Attach.TTL < time.Second {
		found = append(found, Problem{Key: "attach.ttl", Value: c.Attach.TTL.String(), Reason: "want 0s or at least 1s"})
	}
	if c.Attach.Arrivals != On {
		return found
	}
	if c.Artifact != "" {
		found = append(found, Problem{Key: "attach.arrivals", Value: c.Attach.Arrivals,
			Reason: "rows of arrivals are shared through Redis, which is not used as artifact is set"})
	}
	if c.Attachment == "joint" {
		found = append(found, Problem{Key: "attach.arrivals", Value: c.Attach.Arrivals, Reason: "has arrivals attach to one another in frozen attachment alone, and attachment is joint"})
	}
	return found
}

// Batch says how arrivals are gathered.
type Batch struct {
	Mode   string        `key:"mode" default:"node" oneof:"node|graph" usage:"node: each arrival is predicted on its own; graph: edges among the arrivals of a micro-batch count too"`
	Size   int           `key:"size" default:"256" min:"1" max:"1000000" unit:"arrivals" usage:"most arrivals of a micro-batch"`
	Linger time.Duration `key:"linger" default:"5ms" min:"0s" max:"1h" usage:"how long the first arrival of a micro-batch waits for others" zero:"a micro-batch is what has been read already"`
}

// Attach says whether arrivals become nodes that later ones attach to.
type Attach struct {
	Arrivals string        `key:"arrivals" default:"off" oneof:"off|on" usage:"on: each arrival gets a row of M of its own, by which later arrivals attach to it from any consumer of the version; the artifact must be of method solved or cluster, and attachment frozen. Rows are written under the version that predicted and go with it"`
	TTL      time.Duration `key:"ttl" default:"24h" min:"0s" max:"8760h" usage:"how long an arrival's row is kept at least; it is kept at most twice as long. Of a version the first consumer's counts; between 0s and 1s is refused" zero:"as long as the version"`
	MaxRows  int           `key:"max_rows" default:"1000000" min:"1" max:"1000000000" unit:"rows" usage:"most rows of arrivals of a version; where there are as many, further arrivals get none until some expire"`
}

// Cache bounds the rows of M that are kept in the process.
type Cache struct {
	Bytes Bytes `key:"bytes" default:"256MiB" min:"0" usage:"memory for rows of M, about; an M that fits is read whole when its version is taken over" zero:"keep none, ask Redis each time"`
}

// Limits are what a record may be; one beyond them goes to the dead-letter topic.
type Limits struct {
	RecordBytes Bytes `key:"record_bytes" default:"1MiB" min:"0" usage:"largest record of an arrival, key and value together" zero:"no limit"`
	Edges       int   `key:"edges" default:"10000" min:"0" unit:"edges" usage:"most edges of an arrival" zero:"no limit"`
}

// Input says how arrivals are read.
type Input struct {
	Format string `key:"format" default:"json" oneof:"json|protobuf" usage:"form of an arrival whose record has no content-type header, which would say it"`
}

// Output says in which form predictions are published, and what they carry besides their class and probability.
type Output struct {
	Format string `key:"format" default:"json" oneof:"json|protobuf" usage:"form of predictions; their content-type header says it"`

	TopK          int  `key:"top_k" default:"0" min:"0" unit:"classes" usage:"how many of the most probable classes a prediction lists" zero:"no list; more than there are classes lists all"`
	Probabilities bool `key:"probabilities" default:"false" usage:"add the probabilities of all classes"`
	Logits        bool `key:"logits" default:"false" usage:"add the model's raw output, before temperature and propagation"`

	Representation string  `key:"representation" default:"none" oneof:"none|logits|embedding" usage:"add what a feed computes with instead of a class: the logits, or the layer before the classifier (of a frozen sgc the propagated features, for which the artifact must have been trained with --representation)"`
	Coverage       float64 `key:"coverage" default:"0" unit:"share" check:"share" usage:"share of the arrivals to answer, up to 1: predictions below the probability at which that share of the validation nodes is answered are marked as abstained" zero:"none is marked"`
}

// HTTP is where metrics and health are served.
type HTTP struct {
	Listen string `key:"listen" default:":9464" check:"listen" usage:"address of /metrics, /healthz and /readyz, as host:port or :port" zero:"no HTTP server"`
}

// Shutdown says how the service ends.
type Shutdown struct {
	DrainTimeout time.Duration `key:"drain_timeout" default:"30s" min:"1ms" usage:"how long a stop may take to finish, publish and commit the micro-batch in hand; what is not committed then is read again"`
}

// Log says what is logged, on standard error.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"debug|info|warn|error" usage:"least severe level that is logged"`
	Format string `key:"format" default:"text" oneof:"text|json" usage:"form of a line"`
}

// Publish is the configuration of the trainer's publish: an artifact, and where it goes.
type Publish struct {
	Artifact string      `key:"artifact" default:"" check:"required" usage:"directory of the artifact to publish" zero:"refused"`
	Redis    RedisServer `key:"redis"`
}

// Versions is the configuration of what lists, activates and removes versions.
type Versions struct {
	Redis RedisServer `key:"redis"`
}

// Replay is the configuration of a producer of arrivals.
type Replay struct {
	Kafka ProducerKafka `key:"kafka"`
}
