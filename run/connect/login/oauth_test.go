package login

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	kafkawire "rivulet/kafka/wire"
	"rivulet/run/connect"
	"rivulet/test/expect"
)

// issuer gives tokens that nobody signed to the client me with the secret word.
type issuer struct {
	*httptest.Server
	asked  int
	lives  int    // seconds of a token, which the answer does not have where it is 0
	word   string // the secret that it takes
	status int    // of all answers, where not 0
	token  string // in place of one that Kafka takes
	form   url.Values
}

func startIssuer(t *testing.T) *issuer {
	i := &issuer{lives: 3600, word: "word"}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked++
		id, secret, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case i.status != 0:
			w.WriteHeader(i.status)
		case id != "me" || secret != i.word || r.FormValue("grant_type") != "client_credentials" ||
			r.FormValue("scope") != "a b":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client"}`)
		default:
			part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
			now := time.Now().Unix()
			token := part(`{"alg":"none"}`) + "." +
				part(fmt.Sprintf(`{"sub":"admin","iat":%d,"exp":%d,"n":%d}`, now, now+3600, i.asked)) + "."
			lives := ""
			if i.lives > 0 {
				lives = fmt.Sprintf(`,"expires_in":%d`, i.lives)
			}
			i.form = r.PostForm
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer"%s}`, cmp.Or(i.token, token), lives)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// settings are those of a login by the issuer, with the secret in a file.
func (i *issuer) settings(t *testing.T) config.KafkaSASL {
	file := filepath.Join(t.TempDir(), "secret")
	expect.OK(t, os.WriteFile(file, []byte("word\n"), 0o600))
	return config.KafkaSASL{Mechanism: config.SASLOAuth, OAuth: config.OAuth{TokenURL: i.URL, ClientID: "me",
		ClientSecretFile: file, Scopes: []string{"a", "b"}}}
}

// A token serves until shortly before it expires; the secret is read again for the next one. What waiting does not mend
// is permanent, and no error has the secret.
func TestTokensOfAnIssuer(t *testing.T) {
	i := startIssuer(t)
	s := i.settings(t)
	l, err := newTokens(s.OAuth)
	if err != nil || i.asked != 0 {
		t.Fatalf("%v, asked %d times before there is a connection", err, i.asked)
	}
	_, first, err := l.Credentials(t.Context())
	_, again, failed := l.Credentials(t.Context())
	if err = errors.Join(err, failed); err != nil || first != again || first == "" || i.asked != 1 {
		t.Fatalf("%v, %d tokens for two connections", err, i.asked)
	}
	i.lives, i.word = 1, "another"
	l, err = newTokens(s.OAuth)
	expect.OK(t, err)
	_, _, err = l.Credentials(t.Context())
	if err == nil || retry.Judge(err) != retry.Permanent ||
		!strings.Contains(err.Error(), `"me" no token: invalid_client`) ||
		strings.Contains(err.Error(), "word") {
		t.Errorf("a wrong secret: %v", err)
	}
	expect.OK(t, os.WriteFile(s.OAuth.ClientSecretFile, []byte("another"), 0o600))
	_, first, err = l.Credentials(t.Context())
	_, again, failed = l.Credentials(t.Context())
	if err = errors.Join(err, failed); err != nil || first == again {
		t.Errorf("%v, a token that is about to expire is used again", err)
	}
	i.status = http.StatusServiceUnavailable
	if _, _, err := l.Credentials(t.Context()); err == nil || retry.Judge(err) != retry.Retriable {
		t.Errorf("an issuer that is away for a moment: %v", err)
	}
	s.OAuth.CAFile = s.OAuth.ClientSecretFile
	expect.Error(t, expect.ErrorOf(newTokens(s.OAuth)), "kafka.sasl.oauth.ca_file", "no certificates")
}

// The issuer gets the parameters of the settings beside its own, and brokers get the extensions.
func TestParametersAndExtensions(t *testing.T) {
	i := startIssuer(t)
	s := i.settings(t)
	s.OAuth.Parameters = config.Map{"audience": "kafka & more", "resource": "urn:a"}
	s.OAuth.Extensions = config.Map{"logicalCluster": "lkc-1", "identityPoolId": "pool-1"}
	l, err := newTokens(s.OAuth)
	expect.OK(t, err)
	_, message, err := kafkawire.Mechanism(l).Start(t.Context())
	expect.OK(t, err)
	if i.form.Get("audience") != "kafka & more" || i.form.Get("resource") != "urn:a" || i.form.Get("scope") != "a b" {
		t.Errorf("the issuer was asked with %v", i.form)
	}
	_, token, err := l.Credentials(t.Context())
	expect.OK(t, err)
	expect.Same(t, "n,,\x01auth=Bearer "+token+"\x01identityPoolId=pool-1\x01logicalCluster=lkc-1\x01\x01", string(message),
		"to the broker")
}

// Without expires_in a token serves until the time of its claim exp; one without the claim serves until it is refused.
func TestTokensWithoutALifetime(t *testing.T) {
	i := startIssuer(t)
	i.lives = 0
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	jwt := func(claims string) string { return part(`{"alg":"none"}`) + "." + part(claims) + "." }
	for name, c := range map[string]struct {
		token string
		asked int // of two connections
	}{
		"expires soon":  {jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Unix()+5)), 2}, // it counts as expired 10 s before
		"expires later": {jwt(fmt.Sprintf(`{"exp":%d.5}`, time.Now().Unix()+3600)), 1},
		"no claim":      {jwt(`{"sub":"me"}`), 1},
		"wrong claim":   {jwt(`{"exp":"soon"}`), 1},
		"opaque":        {"opaque", 1},
	} {
		l, err := newTokens(i.settings(t).OAuth)
		expect.OK(t, err)
		i.token, i.asked = c.token, 0
		for range 2 {
			_, _, err = l.Credentials(t.Context())
			expect.OK(t, err)
		}
		expect.Same(t, c.asked, i.asked, "requests to the issuer for two connections: %s", name)
	}
}

// A refused token is not used again. Until a token was taken once, a refusal is a mistake in the settings; afterwards
// it is an outage.
func TestRefusedTokens(t *testing.T) {
	i := startIssuer(t)
	l, err := newTokens(i.settings(t).OAuth)
	expect.OK(t, err)
	tokens := l.(kafkawire.TokenLogin)
	connect := func(answer string) error {
		machine, _, err := kafkawire.Mechanism(l).Start(t.Context())
		expect.OK(t, err)
		_, _, err = machine.Next(t.Context(), []byte(answer))
		return err
	}
	expect.OK(t, connect(`{"status":"invalid_token"}`)) // the broker says more after the client's last word
	expect.OK(t, connect(""))
	expect.Same(t, 2, i.asked, "requests to the issuer after a refusal")
	expect.OK(t, connect(""))
	expect.Same(t, 2, i.asked, "requests to the issuer while its token is taken")
	err = connect(`{"status":"invalid_token"}`)
	if err == nil || retry.Judge(err) != retry.Retriable {
		t.Errorf("a refusal after tokens were taken: %v", err)
	}
	_, token, err := l.Credentials(t.Context())
	expect.OK(t, err)
	expect.Same(t, 3, i.asked, "requests to the issuer after a token that was taken is refused")
	tokens.Refused("an older one")
	_, same, _ := l.Credentials(t.Context())
	expect.Same(t, token, same, "the token after an older one was refused")
}

// A real Kafka takes the issuer's tokens, and refuses another text for good.
func TestOAuthBearerOnKafka(t *testing.T) {
	dir := os.Getenv("RIVULET_TEST_KAFKA_DIR")
	if dir == "" {
		t.Skip("RIVULET_TEST_KAFKA_DIR is not set to the directory of a broker that tools/kafka/kafka.sh runs")
	}
	text, err := os.ReadFile(filepath.Join(dir, "port"))
	port, failed := strconv.Atoi(strings.TrimSpace(string(text)))
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	i := startIssuer(t)
	for _, token := range []string{"", "nonsense"} {
		i.token = token
		b := config.Brokers{Brokers: []string{"127.0.0.1:" + strconv.Itoa(port+1)}, ClientID: "test", SASL: i.settings(t)}
		client, err := connect.Kafka(b, "arrivals")
		expect.OK(t, err)
		reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: "arrivals"}, retry.Patience{})
		expect.OK(t, err)
		_, _, err = reader.Range(t.Context())
		if token == "" && err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
			t.Errorf("a token of the issuer: %v", err)
		}
		if token != "" && (!errors.Is(err, kafka.SASLAuthenticationFailed) || retry.Judge(err) != retry.Permanent) {
			t.Errorf("another text: %v", err)
		}
		client.Close()
	}
}
