package login

import (
	"encoding/base64"
	"testing"
	"time"

	"rivulet/kafka"
	"rivulet/test/expect"
)

// The signatures are those of AWS' own signer, aws-sdk-go-v2/aws/signer/v4, for the same keys, region and time.
func TestTokensAreSignedAsByAWS(t *testing.T) {
	const begin = "https://kafka.eu-central-1.amazonaws.com/?Action=kafka-cluster%3AConnect" +
		"&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
		"&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260102%2Feu-central-1%2Fkafka-cluster%2Faws4_request" +
		"&X-Amz-Date=20260102T030405Z&X-Amz-Expires=900"
	at := time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600))
	for session, want := range map[string]string{
		"": "&X-Amz-SignedHeaders=host" +
			"&X-Amz-Signature=ae874169398707b1b58a2dda229819a527bacefe4114ff30c4d7c071601bbf96",
		"FwoGZXIvYXdzEXAMPLE/token+with=signs==": "&X-Amz-Security-Token=FwoGZXIvYXdzEXAMPLE%2Ftoken%2Bwith%3Dsigns%3D%3D" +
			"&X-Amz-SignedHeaders=host&X-Amz-Signature=a45fcbc9c26667357288a9d8f78022a2ebdfef544ba46962b287ec2922b434e2",
	} {
		token := signedToken("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", session, "eu-central-1", at)
		got, err := base64.RawURLEncoding.DecodeString(token)
		if want = begin + want + "&User-Agent=rivulet"; err != nil || string(got) != want {
			t.Errorf("%v, the token has\n%s, want\n%s", err, got, want)
		}
	}
}

// A login takes its credentials and the region of the environment. Without a region it is refused by its setting.
func TestAmazonLogin(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	if _, err := newAmazon(); err == nil {
		t.Error("a login without a region")
	}
	t.Setenv("AWS_DEFAULT_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	l, err := newAmazon()
	expect.OK(t, err)
	user, token, err := l.Credentials(t.Context())
	if err != nil || user != "" || len(token) < 100 || l.Mechanism() != kafka.OAuthBearer {
		t.Errorf("%q, %q, %v by %s", user, token, err, l.Mechanism())
	}
}
