// Package login has the logins to Kafka that need tokens. A program that imports it takes them in
// kafka.sasl.mechanism:
//
//	oauthbearer   tokens of an issuer, by the client credentials grant of OAuth
//	aws-msk-iam   tokens by which a client of Amazon MSK logs in as a user or role of AWS IAM
//
// Brokers take both by the mechanism OAUTHBEARER.
package login

import (
	"context"
	"time"

	"rivulet/artifact/remote/s3"
	"rivulet/config"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
)

func init() {
	connect.RegisterLogin(config.SASLOAuth, func(s config.KafkaSASL) (kafka.Login, error) { return newTokens(s.OAuth) })
	connect.RegisterLogin(config.SASLAmazon, func(config.KafkaSASL) (kafka.Login, error) { return newAmazon() })
}

// amazon is a login to Amazon MSK, with a new token for each connection.
type amazon struct {
	region string
	by     *s3.AWS
}

// newAmazon returns a login with the credentials and the region that the environment or the machine's role give.
func newAmazon() (*amazon, error) {
	l := &amazon{s3.Region(), s3.NewAWS()}
	if l.region == "" {
		return nil, retry.Misuse("kafka.sasl.mechanism is aws-msk-iam, and AWS_REGION is not set")
	}
	return l, nil
}

// Mechanism is the mechanism's name on the wire.
func (*amazon) Mechanism() string { return kafka.OAuthBearer }

// Credentials returns a new token.
func (l *amazon) Credentials(context.Context) (_, token string, err error) {
	id, secret, session, err := l.by.Keys()
	if err != nil {
		return "", "", err
	}
	return "", signedToken(id, secret, session, l.region, time.Now()), nil
}

var _ kafka.Login = (*amazon)(nil)
