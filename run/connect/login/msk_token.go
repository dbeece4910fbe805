package login

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	service   = "kafka-cluster"
)

// signedToken returns a token for the clusters of a region, which is valid for 15 minutes: the address of a request to
// connect that is signed in its query (AWS Signature Version 4), in base64. The keys of a user have no session.
func signedToken(id, secret, session, region string, now time.Time) string {
	at := now.UTC().Format("20060102T150405Z")
	scope := strings.Join([]string{at[:8], region, service, "aws4_request"}, "/")
	query := url.Values{"Action": {service + ":Connect"}, "X-Amz-Algorithm": {algorithm},
		"X-Amz-Credential": {id + "/" + scope}, "X-Amz-Date": {at}, "X-Amz-Expires": {"900"},
		"X-Amz-SignedHeaders": {"host"}}
	if session != "" {
		query.Set("X-Amz-Security-Token", session)
	}
	host, encoded := "kafka."+region+".amazonaws.com", strings.ReplaceAll(query.Encode(), "+", "%20")
	request := strings.Join([]string{"GET", "/", encoded, "host:" + host, "", "host", digest("")}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(strings.Split(scope, "/"), strings.Join([]string{algorithm, at, scope, digest(request)},
		"\n")) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	address := "https://" + host + "/?" + encoded + "&X-Amz-Signature=" + hex.EncodeToString(key) + "&User-Agent=rivulet"
	return base64.RawURLEncoding.EncodeToString([]byte(address))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
