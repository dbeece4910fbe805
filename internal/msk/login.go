// Package msk makes the tokens by which a client of Amazon MSK logs in as a user or role of AWS IAM. Brokers take them
// by the mechanism OAUTHBEARER.
package msk

import (
	"context"
	"time"

	"rivulet/artifact/remote"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Login is a login to Amazon MSK, with a new token for each connection.
type Login struct {
	region string
	by     *remote.AWS
}

// NewLogin returns a login with the credentials and the region that the environment or the machine's role give.
func NewLogin() (*Login, error) {
	l := &Login{remote.Region(), remote.NewAWS()}
	if l.region == "" {
		return nil, retry.Misuse("kafka.sasl.mechanism is aws-msk-iam, and AWS_REGION is not set")
	}
	return l, nil
}

// Mechanism is the mechanism's name on the wire.
func (*Login) Mechanism() string { return kafka.OAuthBearer }

// Credentials returns a new token.
func (l *Login) Credentials(context.Context) (_, token string, err error) {
	id, secret, session, err := l.by.Keys()
	if err != nil {
		return "", "", err
	}
	return "", Token(id, secret, session, l.region, time.Now()), nil
}

var _ kafka.Login = (*Login)(nil)
