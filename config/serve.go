package config

import "slices"

import "time"

// Serve is the configuration of `rivulet serve`, which answers arrivals over HTTP: the consumer's settings of the path
// from an arrival to its prediction, and the settings of the server.
type Serve struct {
	Redis Redis `key:"redis"`

	Choice

	Attach Attach `key:"attach"`
	Batch  struct {
		BatchMode
	} `key:"batch"`
	Cache    Cache    `key:"cache"`
	Limits   Limits   `key:"limits"`
	Input    Reading  `key:"input"`
	Features Features `key:"features"`
	Output   struct {
		Answer
	} `key:"output"`
	Server   Server   `key:"serve"`
	Debug    Debug    `key:"debug"`
	Shutdown Shutdown `key:"shutdown"`
	Log      Log      `key:"log"`
}

func (s Serve) problems() problems {
	found := slices.Concat(attachProblems(s.Attach, s.Choice), cacheProblems(s.Cache, s.Choice),
		lookupProblems(s.Features, s.Redis.RedisServer), choiceProblems(s.Choice))
	found.when(s.Batch.Mode != ModeNode, "batch.mode", s.Batch.Mode,
		"an answer on request is of each arrival on its own: set batch.mode to node here (RIVULET_BATCH_MODE=node or "+
			"--batch.mode=node), or predict "+s.Batch.Mode+" batches with the consumer or rivulet predict --mode "+s.Batch.Mode)
	return found
}

// Server sets how arrivals are answered over HTTP.
type Server struct {
	Access

	Listen      string        `key:"listen" default:"127.0.0.1:8080" check:"address" usage:"address of the API, of /metrics and of health, as host:port or :port; beyond loopback it needs TLS and a token, or serve.open"`
	Open        bool          `key:"open" default:"false" usage:"allow an address beyond loopback without TLS or without a token: for networks in which something in front has both"`
	Hosts       []string      `key:"hosts" default:"" usage:"without a token: further names under which the API is reached, with a port or without; other sites' pages could have a browser ask it by a name of theirs" zero:"IP addresses, names without a dot, this machine's name and those of local networks (.local, .internal, .svc)"`
	Connections int           `key:"connections" default:"1024" min:"1" max:"100000" unit:"connections" usage:"most requests at the same time; beyond it the answer is 503, but for health, and connections that have been silent for longest are closed for new ones"`
	Timeout     time.Duration `key:"timeout" default:"5s" min:"1ms" max:"1h" usage:"limit of a request, from its headers to its answer; beyond it the answer is 504"`
	MaxBody     Bytes         `key:"max_body" default:"8MiB" min:"1KiB" max:"1GiB" usage:"largest body of a request; that of a larger one is not read, and the answer is 413"`
	MaxArrivals int           `key:"max_arrivals" default:"1024" min:"1" max:"1000000" unit:"arrivals" usage:"most arrivals of a request; of more the answer is 413"`
	Queue       ServerQueue   `key:"queue"`
	Batch       ServerBatch   `key:"batch"`
}

// ServerQueue bounds waiting arrivals and bodies; requests beyond that are refused at once.
type ServerQueue struct {
	Arrivals int   `key:"arrivals" default:"4096" min:"1" max:"1000000" unit:"arrivals" usage:"most arrivals that wait to be predicted; a request beyond it is answered 429, unless nothing waits"`
	Bytes    Bytes `key:"bytes" default:"64MiB" min:"1KiB" usage:"most bytes of the bodies of all requests under way; a request beyond it is answered 429, unless it is the only one"`
}

// ServerBatch describes how the arrivals of requests are gathered into micro-batches.
type ServerBatch struct {
	Size   int           `key:"size" default:"256" min:"1" max:"1000000" unit:"arrivals" usage:"most arrivals of a micro-batch of several requests; a request is never divided"`
	Linger time.Duration `key:"linger" default:"0s" min:"0s" max:"1s" usage:"how long the first request of a micro-batch waits for others" zero:"a micro-batch consists of the requests that are waiting when the one before it has been answered"`
}

func (s Server) problems() (found problems) {
	found.when(s.Queue.Bytes < s.MaxBody, "queue.bytes", s.Queue.Bytes.String(), "less than max_body, "+s.MaxBody.String())
	missing := s.missing()
	found.when(missing != "" && !s.Open && !loopback(s.Listen), "listen", s.Listen,
		"others than this machine reach it, and it has "+missing+": set serve.tls.cert_file, serve.tls.key_file and "+
			"serve.token_file, or an address such as 127.0.0.1:8080, or serve.open if something in front has both")
	return found
}

// Logging returns how the program logs.
func (s Serve) Logging() Log { return s.Log }
