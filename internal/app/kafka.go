package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"rivulet/config"
)

// Times of Kafka connections.
const (
	dialTimeout = 10 * time.Second
	metadataTTL = 2 * time.Second // how long a change of leaders may go unnoticed
	idleTimeout = 5 * time.Minute
)

// Transport carries requests to Kafka. It knows of topics, all of the cluster where none are named. Name them: a topic
// that this client may not see is then told from one that does not exist. An error names the setting that is wrong.
func Transport(b config.Brokers, topics ...string) (*kafka.Transport, error) {
	secure, who, err := security(b)
	if err != nil {
		return nil, err
	}
	return &kafka.Transport{ClientID: b.ClientID, DialTimeout: dialTimeout, MetadataTTL: metadataTTL, IdleTimeout: idleTimeout,
		MetadataTopics: topics, TLS: secure, SASL: who}, nil
}

// dialer opens the group's connections.
func dialer(b config.Brokers) (*kafka.Dialer, error) {
	secure, who, err := security(b)
	if err != nil {
		return nil, err
	}
	return &kafka.Dialer{ClientID: b.ClientID, Timeout: dialTimeout, DualStack: true, TLS: secure, SASLMechanism: who}, nil
}

// security reads what connections to brokers need, nil for what they do not.
func security(b config.Brokers) (*tls.Config, sasl.Mechanism, error) {
	secure, err := kafkaTLS(b.TLS)
	if err != nil {
		return nil, nil, err
	}
	if b.SASL.Mechanism == config.SASLNone {
		return secure, nil, nil
	}
	who := login{b.SASL}
	if _, err := who.password(); err != nil {
		return nil, nil, err
	}
	return secure, who, nil
}

// kafkaTLS reads the certificates, as [tlsFiles.read] does.
func kafkaTLS(s config.KafkaTLS) (*tls.Config, error) {
	if !s.Enabled {
		return nil, nil // no TLS
	}
	return tlsFiles{"kafka.tls", s.CAFile, s.CertFile, s.KeyFile, s.ServerName}.read()
}

// login is the SASL mechanism that the settings name. The file of a password is read for each connection, so that it can
// be renewed while the process runs.
type login struct{ settings config.KafkaSASL }

// Name is the mechanism's name on the wire.
func (l login) Name() string { return strings.ToUpper(l.settings.Mechanism) }

// Start begins an exchange with a broker.
func (l login) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	password, err := l.password()
	if err != nil {
		return nil, nil, err
	}
	if l.settings.Mechanism == config.SASLPlain {
		return plain.Mechanism{Username: l.settings.Username, Password: password}.Start(ctx)
	}
	algorithm := scram.SHA512
	if l.settings.Mechanism == config.SASLScramSHA256 {
		algorithm = scram.SHA256
	}
	m, err := scram.Mechanism(algorithm, l.settings.Username, password)
	if err != nil {
		return nil, nil, errors.New("kafka.sasl: the user name or the password has characters that SCRAM does not allow")
	}
	return m.Start(ctx)
}

func (l login) password() (string, error) {
	if l.settings.PasswordFile == "" {
		return l.settings.Password.Reveal(), nil
	}
	return readPassword("kafka.sasl.password_file", l.settings.PasswordFile)
}

// Compression is a codec by its name in Kafka's own settings.
func Compression(name string) (kafka.Compression, error) {
	if name == "none" {
		return 0, nil
	}
	var c kafka.Compression
	if err := c.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("compression is %q: %w", name, err)
	}
	return c, nil
}
