package config

import (
	"fmt"
	"strings"
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
	CAFile     string `key:"ca_file" default:"" usage:"PEM file of the certificate authorities that may have signed the brokers' certificates; read again for each connection" zero:"the system's"`
	CertFile   string `key:"cert_file" default:"" usage:"PEM file of this client's certificate, intermediate ones after it; read again for each connection" zero:"no client certificate"`
	KeyFile    string `key:"key_file" default:"" usage:"PEM file of the client certificate's private key; read again for each connection" zero:"no client certificate"`
	ServerName string `key:"server_name" default:"" usage:"name that all brokers' certificates must have" zero:"the host of each broker's address"`
}

// KafkaSASL sets how this client logs in.
type KafkaSASL struct {
	Mechanism    string `key:"mechanism" default:"none" oneof:"none|plain|scram-sha-256|scram-sha-512|oauthbearer|aws-msk-iam" usage:"how this client logs in; plain and oauthbearer send the password or token in clear if TLS is off. aws-msk-iam is Amazon MSK's, as the user of AWS_ACCESS_KEY_ID or the machine's role, in the region AWS_REGION"`
	Username     string `key:"username" default:"" usage:"name to log in with" zero:"refused, unless the mechanism is none, oauthbearer or aws-msk-iam"`
	Password     Secret `key:"password" default:"" usage:"password to log in with" zero:"read from password_file"`
	PasswordFile string `key:"password_file" default:"" usage:"file with the password, read again for each connection; a line break at its end is left out" zero:"password is used"`
	OAuth        OAuth  `key:"oauth"`
}

// OAuth sets where a client of mechanism oauthbearer gets its tokens: by its own credentials, from an issuer of OAuth
// 2.0 or OpenID Connect.
type OAuth struct {
	TokenURL         string   `key:"token_url" default:"" check:"issuer" usage:"token endpoint of the issuer, https:// or http://, asked for a new token shortly before the last one expires" zero:"refused, if the mechanism is oauthbearer"`
	ClientID         string   `key:"client_id" default:"" usage:"name of this client at the issuer" zero:"refused, if the mechanism is oauthbearer"`
	ClientSecret     Secret   `key:"client_secret" default:"" usage:"secret of this client at the issuer" zero:"read from client_secret_file"`
	ClientSecretFile string   `key:"client_secret_file" default:"" usage:"file with the secret, read again for each token; a line break at its end is left out" zero:"client_secret is used"`
	Scopes           []string `key:"scopes" default:"" usage:"scopes to ask for" zero:"the issuer's default"`
	Parameters       Map      `key:"parameters" default:"" check:"parameters" usage:"further parameters of the request for a token, such as audience or resource: a section of names and values, or audience=kafka,resource=… on the command line and in the environment" zero:"none"`
	Extensions       Map      `key:"extensions" default:"" check:"extensions" usage:"SASL extensions that go to the brokers with the token, such as logicalCluster and identityPoolId of Confluent Cloud; in the form of parameters" zero:"none"`
	CAFile           string   `key:"ca_file" default:"" usage:"PEM file of the certificate authorities that may have signed the issuer's certificate; read again for each connection" zero:"the system's"`
}

// Values of [KafkaSASL.Mechanism].
const (
	SASLNone        = "none"
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
	SASLOAuth       = "oauthbearer"
	SASLAmazon      = "aws-msk-iam"
)

// Kafka is the consumer's configuration of Kafka.
type Kafka struct {
	Brokers
	Group             string        `key:"group" default:"rivulet" check:"required" usage:"consumer group; its members share the partitions" zero:"refused"`
	Topics            Topics        `key:"topics"`
	StartOffset       string        `key:"start_offset" default:"earliest" check:"start" usage:"where a group without an offset for the topic begins: earliest, latest, or a time (RFC 3339); later partitions are read whole. A group without members for offsets.retention.minutes (7 days) begins here again"`
	SessionTimeout    time.Duration `key:"session_timeout" default:"10s" min:"1s" max:"5m" usage:"silence after which the broker gives this member's partitions to others"`
	HeartbeatInterval time.Duration `key:"heartbeat_interval" default:"500ms" min:"50ms" max:"1m" usage:"how often this member tells the group that it is alive, and hears of rebalances: members stop up to this long in each; at most half of session_timeout"`
	InstanceID        string        `key:"instance_id" default:"" check:"instance" usage:"name of this process in the group, which no other one has, such as the pod's: a restart within session_timeout keeps its partitions and stops no other member" zero:"the host's name and the port of http.listen, where that is fixed: only a crash keeps the partitions, and a stop leaves the group"`
	Fetch             Fetch         `key:"fetch"`
	Compression       string        `key:"compression" default:"none" oneof:"none|gzip|snappy|lz4|zstd" usage:"compression of published records"`

	CommitInterval time.Duration `key:"commit_interval" default:"0s" min:"0s" max:"1m" usage:"how long offsets wait for later ones, to be committed with them: a crash repeats what was published meanwhile. With delivery exactly_once a transaction is open as long, and its predictions are seen as much later" zero:"offsets are committed at once"`

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

func (k Kafka) problems() (found problems) {
	found.when(2*k.CommitInterval > k.TransactionTimeout, "commit_interval", k.CommitInterval.String(), fmt.Sprintf(
		"more than half of transaction_timeout, %s: the brokers would abort transactions", k.TransactionTimeout))
	found.when(2*k.HeartbeatInterval > k.SessionTimeout, "heartbeat_interval", k.HeartbeatInterval.String(), fmt.Sprintf(
		"more than half of session_timeout, %s: the group would lose this member for one heartbeat", k.SessionTimeout))
	return found
}

func (t KafkaTLS) problems() problems {
	reason := ""
	if !t.Enabled {
		reason = "has no effect, because kafka.tls.enabled is false"
	}
	return tlsProblems("", RedisTLS{t.CAFile, t.CertFile, t.KeyFile, t.ServerName}, reason)
}

func (s KafkaSASL) problems() problems {
	o := s.OAuth
	passwords := []Problem{{Key: "username", Value: s.Username}, {Key: "password", Value: s.Password.String()},
		{Key: "password_file", Value: s.PasswordFile}}
	tokens := []Problem{{Key: "oauth.token_url", Value: o.TokenURL}, {Key: "oauth.client_id", Value: o.ClientID},
		{Key: "oauth.client_secret", Value: o.ClientSecret.String()},
		{Key: "oauth.client_secret_file", Value: o.ClientSecretFile},
		{Key: "oauth.scopes", Value: strings.Join(o.Scopes, ",")}, {Key: "oauth.parameters", Value: o.Parameters.String()},
		{Key: "oauth.extensions", Value: o.Extensions.String()}, {Key: "oauth.ca_file", Value: o.CAFile}}
	because := "has no effect, because kafka.sasl.mechanism is " + s.Mechanism
	switch s.Mechanism {
	case SASLNone, SASLAmazon:
		return unused(because, append(passwords, tokens...)...)
	case SASLOAuth:
		return append(unused(because, passwords...), login(s.Mechanism, passwordOf{"oauth.client_id", o.ClientID,
			"oauth.client_secret", o.ClientSecret, o.ClientSecretFile}, needs{"oauth.token_url", o.TokenURL})...)
	}
	return append(unused(because, tokens...),
		login(s.Mechanism, passwordOf{"username", s.Username, "password", s.Password, s.PasswordFile})...)
}

// needs is a setting that must not be empty.
type needs struct{ key, value string }

// passwordOf is a name with its password, which is set or in a file, by their keys.
type passwordOf struct {
	name, value string
	key         string
	password    Secret
	file        string
}

// login returns a problem for each setting that a mechanism lacks, or has twice.
func login(mechanism string, p passwordOf, more ...needs) (found problems) {
	for _, n := range append(more, needs{p.name, p.value}) {
		found.when(n.value == "", n.key, "", "must not be empty if the mechanism is "+mechanism)
	}
	key := p.key[strings.LastIndexByte(p.key, '.')+1:]
	found.when(p.password == "" && p.file == "", p.key, "", "is empty, and so is "+key+"_file")
	found.when(p.password != "" && p.file != "", p.key+"_file", p.file, "is set, and so is "+key)
	return found
}

func (t Topics) problems() (found problems) {
	found.when(t.Predictions == t.Arrivals, "predictions", t.Predictions, "is the topic of arrivals too")
	found.when(t.DeadLetters == t.Arrivals || t.DeadLetters == t.Predictions, "dead_letters", t.DeadLetters,
		"is the topic of arrivals or predictions too")
	return found
}
