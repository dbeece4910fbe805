package login

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"rivulet/config"
	"rivulet/internal/tlsclient"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
)

// tokenLogin is a login by OAUTHBEARER. It gets its token by the client credentials grant, and keeps it until shortly
// before it expires.
type tokenLogin struct {
	account connect.Account // of the client at the issuer
	url     string
	scopes  []string
	more    url.Values // further parameters of the request
	extends map[string]string
	client  *http.Client

	mu       sync.Mutex
	token    *oauth2.Token
	accepted bool // a broker has taken a token
}

// tokenTimeout is the time that an issuer may take.
const tokenTimeout = 10 * time.Second

// newTokens reads the secret and the certificates. It asks for no token yet.
func newTokens(o config.OAuth) (kafka.Login, error) {
	secure, err := connect.Authorities("kafka.sasl.oauth", o.CAFile)
	if err != nil {
		return nil, err
	}
	l := &tokenLogin{url: o.TokenURL, scopes: o.Scopes, more: url.Values{}, extends: o.Extensions,
		client: &http.Client{Transport: tlsclient.Transport(secure), Timeout: tokenTimeout},
		account: connect.Account{Setting: "kafka.sasl.oauth.client_secret_file", Username: o.ClientID,
			Password: o.ClientSecret, File: o.ClientSecretFile}}
	for name, value := range o.Parameters {
		l.more.Set(name, value)
	}
	_, _, err = l.account.Credentials()
	return l, err
}

// Extensions returns the SASL extensions of the settings.
func (l *tokenLogin) Extensions() map[string]string { return l.extends }

// Mechanism is the mechanism's name on the wire.
func (*tokenLogin) Mechanism() string { return kafka.OAuthBearer }

// mistakes are answers of an issuer that no waiting mends (RFC 6749, section 5.2).
var mistakes = []string{"invalid_client", "invalid_scope", "unauthorized_client", "unsupported_grant_type"}

// Credentials returns a token that is valid. An issuer that cannot be reached is asked again at the next connection.
func (l *tokenLogin) Credentials(ctx context.Context) (_, token string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token.Valid() {
		return "", l.token.AccessToken, nil
	}
	id, secret, err := l.account.Credentials()
	if err != nil {
		return "", "", err
	}
	from := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: l.url, Scopes: l.scopes,
		EndpointParams: l.more}
	got, err := from.Token(context.WithValue(ctx, oauth2.HTTPClient, l.client))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused): // the answer's body, which nobody has checked, is left out
		text := fmt.Sprintf("the issuer %s gives client %q no token: %s %s", l.url, id,
			cmp.Or(refused.ErrorCode, refused.Response.Status), refused.ErrorDescription)
		if slices.Contains(mistakes, refused.ErrorCode) {
			return "", "", retry.Misuse(text)
		}
		return "", "", errors.New(text)
	case err != nil:
		return "", "", fmt.Errorf("asking the issuer for a token: %w", err)
	}
	if got.Expiry.IsZero() { // the issuer does not say it: RFC 6749 only recommends that
		got.Expiry = expiry(got.AccessToken)
	}
	l.token = got
	return "", got.AccessToken, nil
}

// expiry returns when a token says that it expires, if it is a JWT; else the zero time, which is never.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Exp <= 0 || claims.Exp > math.MaxInt32*100 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}

// Accepted remembers that the issuer's tokens are of use.
func (l *tokenLogin) Accepted(string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted = true
}

// Refused forgets the token. Once a broker has taken one, the next one may be taken, too: this one has expired, or was
// revoked, or its issuer has changed its keys. Before, the settings are wrong.
func (l *tokenLogin) Refused(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != nil && l.token.AccessToken == token {
		l.token = nil
	}
	return l.accepted
}
