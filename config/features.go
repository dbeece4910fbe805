package config

import (
	"strings"
	"time"
)

// Features says where the features of an arrival are whose record brings none.
type Features struct {
	From string `key:"from" default:"record" oneof:"record|redis|feast" usage:"record: each arrival brings its features; redis: an arrival without features has those that are stored under its id (event/README.md), and without any it is a dead letter; feast: the same, with the features that Feast's online store has in the Redis of features.redis"`
	FeatureServer
	Feast Feast `key:"feast"`
}

// Feast names the features of Feast's online store. Its serialization of entity keys is version 3.
type Feast struct {
	Project  string   `key:"project" default:"" usage:"Feast's project" zero:"refused, if features.from is feast"`
	JoinKey  string   `key:"join_key" default:"" usage:"join key of the entity; its value is the arrival's id" zero:"refused, if features.from is feast"`
	JoinType string   `key:"join_type" default:"string" oneof:"string|int32|int64" usage:"type of the join key"`
	Features []string `key:"features" default:"" usage:"features to read, view:feature each: with features.format json they have their names, without the view's, for an artifact with a schema; with float32 one of them is a list of numbers, the row by position" zero:"refused, if features.from is feast"`
}

// problems returns a problem for each setting that features.from: feast lacks, or that has no effect without it.
func (f Features) problems() (found problems) {
	values := []Problem{{Key: "feast.project", Value: f.Feast.Project}, {Key: "feast.join_key", Value: f.Feast.JoinKey},
		{Key: "feast.features", Value: strings.Join(f.Feast.Features, ",")}}
	if f.From != FromFeast {
		return unused("has no effect, because features.from is "+f.From, values...)
	}
	for _, p := range values {
		found.when(p.Value == "", p.Key, "", "must not be empty if features.from is feast")
	}
	for _, name := range f.Feast.Features {
		view, feature, _ := strings.Cut(name, ":")
		found.when(view == "" || feature == "", "feast.features", name, "must be view:feature, such as users:age")
	}
	found.when(f.Format == "float32" && len(f.Feast.Features) > 1, "feast.features", strings.Join(f.Feast.Features, ","),
		"must be one feature, a list of numbers, with features.format float32; with json features have names")
	return found
}

// FeatureServer sets the Redis that has features by id, and the form of the values there.
type FeatureServer struct {
	Format  string        `key:"format" default:"float32" oneof:"float32|json" usage:"form of the stored values: float32 (all values of the row, little-endian) or json (what an arrival has under features; by name where the artifact has a schema)"`
	Prefix  string        `key:"prefix" default:"features:" check:"prefix" usage:"beginning of the keys; the id follows at once"`
	Timeout time.Duration `key:"timeout" default:"2s" min:"1ms" usage:"limit of one request for features, of up to 1024 ids, with its repetitions"`
	Redis   RedisAddress  `key:"redis"`
}

// Values of [Features.From].
const (
	FromRecord = "record"
	FromRedis  = "redis"
	FromFeast  = "feast"
)
