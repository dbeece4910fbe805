package connect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"rivulet/config"
	"rivulet/internal/check"
	"rivulet/internal/tlsclient"
	"rivulet/kafka"
)

// Kafka returns a client that knows of topics, all of the cluster where none are named. It does not reach out
// yet; the caller closes it. An error names the setting that is wrong.
func Kafka(b config.Brokers, topics ...string) (*kafka.Client, error) {
	secure, who, err := Security(b)
	if err != nil {
		return nil, err
	}
	return kafka.Connect(kafka.Options{Brokers: b.Brokers, ClientID: b.ClientID, TLS: secure, Login: who, Topics: topics})
}

// Security reads the TLS and login for connections to brokers, nil for parts that the settings leave out.
func Security(b config.Brokers) (tlsclient.Source, kafka.Login, error) {
	secure, err := kafkaTLS(b.TLS)
	if err != nil {
		return nil, nil, err
	}
	if b.SASL.Mechanism == config.SASLNone {
		return secure, nil, nil
	}
	who, err := newLogin(b.SASL)
	if err != nil {
		return nil, nil, err
	}
	return secure, who, nil
}

// kafkaTLS reads the certificates, as [tlsFiles.client] does; nil: without TLS.
func kafkaTLS(s config.KafkaTLS) (tlsclient.Source, error) {
	if !s.Enabled {
		return nil, nil // no TLS
	}
	return tlsFiles{"kafka.tls", s.CAFile, s.CertFile, s.KeyFile, s.ServerName}.client()
}

// AdviseKafka adds advice to an error by which the brokers refuse this client.
func AdviseKafka(err error, b config.Brokers) error {
	secure, _ := kafkaTLS(b.TLS) // it was read before
	return check.AdviseKafka(err, Principal(b, secure))
}

// login is the SASL login that the settings name.
type login struct {
	Account
	mechanism string
}

// logins are those that need tokens, by their mechanisms in settings.
var logins = map[string]func(config.KafkaSASL) (kafka.Login, error){}

// RegisterLogin adds a login for a mechanism of kafka.sasl.mechanism that needs tokens. A package does it in its init,
// and only programs that import that package carry it.
func RegisterLogin(mechanism string, by func(config.KafkaSASL) (kafka.Login, error)) {
	logins[mechanism] = by
}

// newLogin returns the login that the settings name, after a look at the files that it reads.
func newLogin(s config.KafkaSASL) (kafka.Login, error) {
	switch s.Mechanism {
	case config.SASLOAuth, config.SASLAmazon:
		by := logins[s.Mechanism]
		if by == nil {
			return nil, fmt.Errorf("kafka.sasl.mechanism is %s, which this program is built without", s.Mechanism)
		}
		return by(s)
	}
	l := login{Account{"kafka.sasl.password_file", s.Username, s.Password, s.PasswordFile}, s.Mechanism}
	_, _, err := l.Account.Credentials()
	return l, err
}

// Mechanism is the mechanism's name on the wire.
func (l login) Mechanism() string { return strings.ToUpper(l.mechanism) }

// Credentials returns the name and the password.
func (l login) Credentials(context.Context) (username, password string, err error) {
	return l.Account.Credentials()
}

// anonymous is the name of a client that does not log in.
const anonymous = "User:ANONYMOUS"

// Principal is the name of this client in ACLs, by Kafka's defaults.
func Principal(b config.Brokers, secure tlsclient.Source) string {
	if b.SASL.Mechanism != config.SASLNone {
		return "User:" + cmp.Or(b.SASL.Username, b.SASL.OAuth.ClientID, "AWS") // a broker may take another claim of the token
	}
	if secure == nil {
		return anonymous
	}
	c, err := secure.Config()
	if err != nil || c.GetClientCertificate == nil {
		return anonymous
	}
	pair, err := c.GetClientCertificate(nil)
	if err != nil || pair.Leaf == nil {
		return anonymous
	}
	return "User:" + pair.Leaf.Subject.String()
}
