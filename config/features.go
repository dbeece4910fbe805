package config

import "time"

// Features says where the features of an arrival are whose record brings none.
type Features struct {
	From string `key:"from" default:"record" oneof:"record|redis" usage:"record: each arrival brings its features; redis: an arrival without features has those that are stored under its id (event/README.md), and without any it is a dead letter"`
	FeatureServer
}

// FeatureServer sets the Redis that has features by id, and the form of the values there.
type FeatureServer struct {
	Format  string        `key:"format" default:"float32" oneof:"float32|json" usage:"form of the stored values: float32 (all values of the row, little-endian) or json (what an arrival has under features; by name where the artifact has a schema)"`
	Prefix  string        `key:"prefix" default:"features:" check:"prefix" usage:"beginning of the keys; the id follows at once"`
	Timeout time.Duration `key:"timeout" default:"2s" min:"1ms" usage:"limit of one request for features, of up to 1024 ids, with its repetitions"`
	Redis   RedisAddress  `key:"redis"`
}

// FromRecord and FromRedis are the values of [Features.From].
const (
	FromRecord = "record"
	FromRedis  = "redis"
)
