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
	URL     RedisURL      `key:"url" default:"" check:"redis?" usage:"the Redis that has them, as redis.url; a user and password in it take the place of redis.username and redis.password, and all other settings of redis.* hold for both: with redis.sentinel.master its hosts are sentinels too, and are asked for a master of the same name" zero:"that of redis.url"`
}

// Server returns how the Redis of features is reached where the one for versions is reached as r says.
func (f FeatureServer) Server(r RedisServer) RedisServer {
	if f.URL == "" {
		return r
	}
	r.URL = f.URL
	username, password := f.URL.Login()
	if username != "" || password != "" {
		r.Username = ""
	}
	if password != "" {
		r.Password, r.PasswordFile = "", ""
	}
	return r
}

// lookupProblems returns the problems of features.* of a program that looks features up.
func lookupProblems(f Features, r RedisServer) problems {
	found := featureProblems(f.FeatureServer, r)
	found.when(f.URL != "" && f.From != FromRedis, "features.url", f.URL.String(),
		"is read if features.from is redis only, and that is "+f.From)
	return found
}

// featureProblems returns the problems of features.url with the settings of redis.*.
func featureProblems(f FeatureServer, r RedisServer) (found problems) {
	if f.URL == "" {
		return nil
	}
	for _, p := range f.Server(r).urlProblems() {
		found.add("features."+p.Key, p.Value, p.Reason)
	}
	return found
}

// Values of [Features.From].
const (
	FromRecord = "record"
	FromRedis  = "redis"
)
