package config

// Refresh is the configuration of the trainer's refresh: the Kafka from which arrivals are read, the consumers'
// rules for them, and the Redis to which versions are published.
type Refresh struct {
	Kafka    Cluster     `key:"kafka"`
	Redis    RedisServer `key:"redis"`
	Limits   Limits      `key:"limits"`
	Input    Input       `key:"input"`
	Features Features    `key:"features"`
	Registry Registry    `key:"registry"`
}

func (r Refresh) problems() problems {
	return append(registryProblems(r.Input, r.Registry), lookupProblems(r.Features, r.Redis)...)
}

// Cluster is the configuration of Kafka for a reader of topics.
type Cluster struct {
	Brokers
}

// Bench is the configuration of the benchmarks' services.
type Bench struct {
	Kafka Cluster     `key:"kafka"`
	Redis RedisServer `key:"redis"`
}

// Lines is the configuration of a reader of arrivals as JSON lines: the consumers' rules for them.
type Lines struct {
	Limits   Limits      `key:"limits"`
	Input    Reading     `key:"input"`
	Redis    RedisServer `key:"redis"` // for features by id
	Features Features    `key:"features"`
}

func (l Lines) problems() problems { return lookupProblems(l.Features, l.Redis) }

// Put is the configuration of a writer of features by id.
type Put struct {
	Redis    RedisServer   `key:"redis"`
	Features FeatureServer `key:"features"`
}

func (p Put) problems() problems { return featureProblems(p.Features, p.Redis) }

// Compare is the configuration of a reader of predictions and labels.
type Compare struct {
	Kafka    Cluster  `key:"kafka"`
	Input    Input    `key:"input"`
	Registry Registry `key:"registry"`
}

func (c Compare) problems() problems { return registryProblems(c.Input, c.Registry) }
