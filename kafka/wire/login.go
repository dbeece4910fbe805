package wire

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"rivulet/kafka/retry"
)

// SASL mechanisms, as [Login] names them.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
)

// Login is a client's login.
type Login interface {
	// Mechanism is one of the SASL mechanisms.
	Mechanism() string
	// Credentials are asked for at each connection, so that a password can be renewed while the process runs. The
	// password of OAUTHBEARER is the token, and it has no user name.
	Credentials(ctx context.Context) (username, password string, err error)
}

// TokenLogin is a login by tokens that it can get anew. It is told what became of each.
type TokenLogin interface {
	Login
	// Accepted says that a broker took a token.
	Accepted(token string)
	// Refused says that a broker did not take a token. It reports whether the next connection may have a better one.
	Refused(token string) bool
	// Extensions go to the broker with each token, by their names (RFC 7628, KIP-342).
	Extensions() map[string]string
}

// Mechanism returns a login as kafka-go asks for it.
func Mechanism(l Login) sasl.Mechanism { return exchange{l} }

// exchange is a [Mechanism].
type exchange struct{ login Login }

// Name returns the mechanism's name on the wire.
func (e exchange) Name() string { return e.login.Mechanism() }

// Start begins an exchange with a broker.
func (e exchange) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	username, password, err := e.login.Credentials(ctx)
	if err != nil {
		return nil, nil, err
	}
	var algorithm scram.Algorithm
	switch e.Name() {
	case Plain:
		return plain.Mechanism{Username: username, Password: password}.Start(ctx)
	case OAuthBearer:
		tokens, _ := e.login.(TokenLogin)
		message := "n,,\x01auth=Bearer " + password + "\x01"
		if tokens != nil {
			extensions := tokens.Extensions()
			for _, name := range slices.Sorted(maps.Keys(extensions)) {
				message += name + "=" + extensions[name] + "\x01"
			}
		}
		return &bearer{tokens, password}, []byte(message + "\x01"), nil
	case ScramSHA256:
		algorithm = scram.SHA256
	case ScramSHA512:
		algorithm = scram.SHA512
	default:
		return nil, nil, retry.Misuse(fmt.Sprintf("SASL mechanism is %q, want %s, %s, %s or %s", e.Name(), Plain, ScramSHA256,
			ScramSHA512, OAuthBearer))
	}
	m, err := scram.Mechanism(algorithm, username, password)
	if err != nil {
		return nil, nil, retry.Misuse("the user name or the password has characters that SCRAM does not allow")
	}
	return m.Start(ctx)
}

// bearer is a client's side of OAUTHBEARER (RFC 7628), which kafka-go lacks: the first message has the token.
type bearer struct {
	login TokenLogin // nil: it has one token
	token string
}

// Next ends the exchange. A broker that refuses the token answers why, and fails the login after the client's last
// word. Where another token may be taken, the exchange ends with an error that asks for another connection.
func (b *bearer) Next(_ context.Context, answer []byte) (done bool, message []byte, err error) {
	switch {
	case len(answer) == 0:
		if b.login != nil {
			b.login.Accepted(b.token)
		}
		return true, nil, nil
	case b.login != nil && b.login.Refused(b.token):
		return false, nil, fmt.Errorf("the broker refuses the token (%.200q); the next connection asks for a new one", answer)
	}
	return false, []byte{1}, nil
}
