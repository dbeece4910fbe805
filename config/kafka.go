package config

import "time"

// Brokers says where Kafka is, and who asks.
type Brokers struct {
	Brokers  []string `key:"brokers" default:"localhost:9092" check:"addresses" usage:"brokers to begin with, host:port each"`
	ClientID string   `key:"client_id" default:"rivulet" check:"required" usage:"name of this client in the brokers' logs and quotas" zero:"refused"`
}

// Kafka is what the consumer needs of Kafka.
type Kafka struct {
	Brokers
	Group          string        `key:"group" default:"rivulet" check:"required" usage:"consumer group; its members share the partitions" zero:"refused"`
	Topics         Topics        `key:"topics"`
	StartOffset    string        `key:"start_offset" default:"earliest" oneof:"earliest|latest" usage:"where to begin in a partition for which the group has no offset yet"`
	SessionTimeout time.Duration `key:"session_timeout" default:"10s" min:"1s" max:"5m" usage:"silence after which the broker gives this member's partitions to others; heartbeats are sent three times as often"`
	Fetch          Fetch         `key:"fetch"`
	Compression    string        `key:"compression" default:"none" oneof:"none|gzip|snappy|lz4|zstd" usage:"compression of what is published"`
}

// Topics are the consumer's topics. They must be three different ones.
type Topics struct {
	Arrivals    string `key:"arrivals" default:"arrivals" check:"topic" usage:"topic of arrivals"`
	Predictions string `key:"predictions" default:"predictions" check:"topic" usage:"topic of predictions"`
	DeadLetters string `key:"dead_letters" default:"arrivals.dead-letters" check:"topic" usage:"topic of records that can never be predicted"`
}

// Fetch bounds one answer of a broker.
type Fetch struct {
	MaxBytes Bytes         `key:"max_bytes" default:"4MiB" min:"1KiB" max:"1GiB" usage:"most that one answer of a broker brings; a larger record comes alone"`
	MaxWait  time.Duration `key:"max_wait" default:"500ms" min:"1ms" max:"1m" usage:"how long a broker holds a request open while there is nothing to read; it delays no record"`
}

// ProducerKafka is what a producer of arrivals needs of Kafka.
type ProducerKafka struct {
	Brokers
	Topics      ProducerTopics `key:"topics"`
	Compression string         `key:"compression" default:"none" oneof:"none|gzip|snappy|lz4|zstd" usage:"compression of what is published"`
}

// ProducerTopics are a producer's topics.
type ProducerTopics struct {
	Arrivals string `key:"arrivals" default:"arrivals" check:"topic" usage:"topic of arrivals"`
}

func (t Topics) problems() []Problem {
	var found []Problem
	if t.Predictions == t.Arrivals {
		found = append(found, Problem{Key: "predictions", Value: t.Predictions, Reason: "is the topic of arrivals too"})
	}
	if t.DeadLetters == t.Arrivals || t.DeadLetters == t.Predictions {
		found = append(found, Problem{Key: "dead_letters", Value: t.DeadLetters, Reason: "is the topic of arrivals or predictions too"})
	}
	return found
}
