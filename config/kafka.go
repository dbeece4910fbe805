package config

import (
	"fmt"
	"time"
)

// Brokers sets the addresses of Kafka and the name of the client.
type Brokers struct {
	Brokers  []string  `key:"brokers" default:"localhost:9092" check:"addresses" usage:"brokers to begin with, host:port each"`
	ClientID string    `key:"client_id" default:"rivulet" check:"required" usage:"name of this client in the brokers' logs and quotas" zero:"refused"`
	TLS      KafkaTLS  `key:"tls"`
	SASL     KafkaSASL `key:"sasl"`
}

// KafkaTLS sets how connections to brokers are encrypted. A broker's certificate is always verified.
type KafkaTLS struct {
	Enabled    bool   `key:"enabled" default:"false" usage:"speak TLS with the brokers; their certificates are always verified"`
	CAFile     string `key:"ca_file" default:"" usage:"PEM file of the certificate authorities that may have signed the brokers' certificates" zero:"the system's"`
	CertFile   string `key:"cert_file" default:"" usage:"PEM file of this client's certificate, intermediate ones after it; read again for each connection" zero:"no client certificate"`
	KeyFile    string `key:"key_file" default:"" usage:"PEM file of the client certificate's private key; read again for each connection" zero:"no client certificate"`
	ServerName string `key:"server_name" default:"" usage:"name that all brokers' certificates must have" zero:"the host of each broker's address"`
}

// KafkaSASL sets how this client logs in.
type KafkaSASL struct {
	Mechanism    string `key:"mechanism" default:"none" oneof:"none|plain|scram-sha-256|scram-sha-512" usage:"how this client logs in; plain sends the password in clear if TLS is off"`
	Username     string `key:"username" default:"" usage:"name to log in with" zero:"refused, unless the mechanism is none"`
	Password     Secret `key:"password" default:"" usage:"password to log in with" zero:"read from password_file"`
	PasswordFile string `key:"password_file" default:"" usage:"file with the password, read again for each connection; a line break at its end is left out" zero:"password is used"`
}

// Values of [KafkaSASL.Mechanism].
const (
	SASLNone        = "none"
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
)

// Kafka is the consumer's configuration of Kafka.
type Kafka struct {
	Brokers
	Group             string        `key:"group" default:"rivulet" check:"required" usage:"consumer group; its members share the partitions" zero:"refused"`
	Topics            Topics        `key:"topics"`
	StartOffset       string        `key:"start_offset" default:"earliest" check:"start" usage:"where a group without an offset for the topic begins: earliest, latest, or a time (RFC 3339); later partitions are read whole. A group without members for offsets.retention.minutes (7 days) begins here again"`
	SessionTimeout    time.Duration `key:"session_timeout" default:"10s" min:"1s" max:"5m" usage:"silence after which the broker gives this member's partitions to others"`
	HeartbeatInterval time.Duration `key:"heartbeat_interval" default:"500ms" min:"50ms" max:"1m" usage:"how often this member tells the group that it is alive, and hears of rebalances: members stop up to this long in each; at most half of session_timeout"`
	InstanceID        string        `key:"instance_id" default:"" check:"instance" usage:"name of this process in the group, which no other one has, such as the pod's: a restart within session_timeout keeps its partitions and stops no other member" zero:"none: every start and stop is a rebalance"`
	Fetch             Fetch         `key:"fetch"`
	Compression       string        `key:"compression" default:"none" oneof:"none|gzip|snappy|lz4|zstd" usage:"compression of published records"`

	TransactionalID    string        `key:"transactional_id" default:"" usage:"beginning of the transactional ids of delivery exactly_once; a colon, the topic of arrivals, a colon and a partition follow. All members of a group must have the same, other groups another one" zero:"the group's name"`
	TransactionTimeout time.Duration `key:"transaction_timeout" default:"1m" min:"1s" max:"24h" usage:"how long a transaction may be open before the brokers abort it; not more than their transaction.max.timeout.ms"`
}

// Topics are the consumer's topics. They must be three different ones.
type Topics struct {
	Arrivals    string `key:"arrivals" default:"arrivals" check:"topic" usage:"topic of arrivals"`
	Predictions string `key:"predictions" default:"predictions" check:"topic" usage:"topic of predictions"`
	DeadLetters string `key:"dead_letters" default:"arrivals.dead-letters" check:"topic" usage:"topic of records that can never be predicted"`
}

// Fetch bounds one answer of a broker.
type Fetch struct {
	MaxBytes Bytes         `key:"max_bytes" default:"4MiB" min:"1KiB" max:"1GiB" usage:"largest answer of a broker; a larger record comes alone"`
	MaxWait  time.Duration `key:"max_wait" default:"500ms" min:"1ms" max:"1m" usage:"how long a broker holds a request open while there is nothing to read; it delays no record"`
}

// ProducerKafka is the configuration of Kafka for a producer of arrivals.
type ProducerKafka struct {
	Brokers
	Topics      ProducerTopics `key:"topics"`
	Compression string         `key:"compression" default:"none" oneof:"none|gzip|snappy|lz4|zstd" usage:"compression of published records"`
}

// DeadLetterKafka is the configuration of Kafka for a program that feeds dead letters in again.
type DeadLetterKafka struct {
	Brokers
	Group       string `key:"group" default:"rivulet" check:"required" usage:"consumer group; its members share the partitions" zero:"refused"`
	Topics      Topics `key:"topics"`
	Compression string `key:"compression" default:"none" oneof:"none|gzip|snappy|lz4|zstd" usage:"compression of published records"`
}

// ProducerTopics are a producer's topics.
type ProducerTopics struct {
	Arrivals string `key:"arrivals" default:"arrivals" check:"topic" usage:"topic of arrivals"`
}

// Words of [Kafka.StartOffset]; anything else is a time.
const (
	Earliest = "earliest"
	Latest   = "latest"
)

// StartTime returns the time of StartOffset, zero if it is one of the words.
func (k Kafka) StartTime() time.Time {
	at, err := time.Parse(time.RFC3339, k.StartOffset)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (k Kafka) problems() []Problem {
	if 2*k.HeartbeatInterval <= k.SessionTimeout {
		return nil
	}
	return []Problem{{Key: "heartbeat_interval", Value: k.HeartbeatInterval.String(),
		Reason: fmt.Sprintf("more than half of session_timeout, %s: the group would lose this member for one heartbeat",
			k.SessionTimeout)}}
}

func (t KafkaTLS) problems() []Problem {
	reason := ""
	if !t.Enabled {
		reason = "has no effect, because kafka.tls.enabled is false"
	}
	return tlsProblems("", RedisTLS{t.CAFile, t.CertFile, t.KeyFile, t.ServerName}, reason)
}

func (s KafkaSASL) problems() []Problem {
	var found []Problem
	if s.Mechanism == SASLNone {
		return unused("has no effect, because kafka.sasl.mechanism is none", Problem{Key: "username", Value: s.Username},
			Problem{Key: "password", Value: s.Password.String()}, Problem{Key: "password_file", Value: s.PasswordFile})
	}
	if s.Username == "" {
		found = append(found, Problem{Key: "username", Reason: "must not be empty if the mechanism is " + s.Mechanism})
	}
	if s.Password == "" && s.PasswordFile == "" {
		found = append(found, Problem{Key: "password", Reason: "is empty, and so is password_file"})
	}
	if s.Password != "" && s.PasswordFile != "" {
		found = append(found, Problem{Key: "password_file", Value: s.PasswordFile, Reason: "is set, and so is password"})
	}
	return found
}

func (t Topics) problems() []Problem {
	var found []Problem
	if t.Predictions == t.Arrivals {
		found = append(found, Problem{Key: "predictions", Value: t.Predictions, Reason: "is the topic of arrivals too"})
	}
	if t.DeadLetters == t.Arrivals || t.DeadLetters == t.Predictions {
		found = append(found, Problem{Key: "dead_letters", Value: t.DeadLetters,
			Reason: "is the topic of arrivals or predictions too"})
	}
	return found
}
