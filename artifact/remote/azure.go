package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// azureContainer returns the source of an address azblob://container/path, in the account AZURE_STORAGE_ACCOUNT.
func azureContainer(u *url.URL, transport http.RoundTripper) (*source, error) {
	account := os.Getenv("AZURE_STORAGE_ACCOUNT")
	if account == "" || strings.ContainsAny(account, "./:@?#") {
		return nil, fmt.Errorf("AZURE_STORAGE_ACCOUNT is %q, want the name of the container's account", account)
	}
	base, err := server("AZURE_STORAGE_SERVICE_ENDPOINT", "https://"+account+".blob.core.windows.net")
	if err != nil {
		return nil, err
	}
	by := &azureLogin{next: transport, signature: strings.TrimPrefix(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), "?"),
		tokens: oauth2.ReuseTokenSource(nil, azureTokens())}
	return &source{base.JoinPath(u.Host, u.Path), &http.Client{Transport: by, CheckRedirect: stay}}, nil
}

// azureLogin sends requests to Azure's storage.
type azureLogin struct {
	next      http.RoundTripper
	signature string // query of a shared access signature; empty: tokens are used
	tokens    oauth2.TokenSource
}

// RoundTrip adds the login to a request and sends it.
func (a *azureLogin) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Ms-Version", "2023-11-03")
	req.URL.RawQuery = a.signature
	if a.signature == "" {
		token, err := a.tokens.Token()
		if err != nil {
			return nil, fmt.Errorf("no login (AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID, or this machine's identity): %w", err)
		}
		token.SetAuthHeader(req)
	}
	return a.next.RoundTrip(req)
}

// storage is the resource that a token must be valid for: Azure's storage.
const storage = "https://storage.azure.com/"

// azureTokens returns the source of tokens. An application has a secret, or the token that Kubernetes writes for it
// (workload identity). Where the environment names neither, the machine has an identity.
func azureTokens() oauth2.TokenSource {
	id, file, secret := os.Getenv("AZURE_CLIENT_ID"), os.Getenv("AZURE_FEDERATED_TOKEN_FILE"),
		os.Getenv("AZURE_CLIENT_SECRET")
	if file == "" && secret == "" {
		return azureMachine(id)
	}
	authority := cmp.Or(os.Getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com")
	return azureApplication{file, clientcredentials.Config{ClientID: id, ClientSecret: secret,
		TokenURL: strings.TrimSuffix(authority, "/") + "/" + os.Getenv("AZURE_TENANT_ID") + "/oauth2/v2.0/token",
		Scopes:   []string{storage + ".default"}, AuthStyle: oauth2.AuthStyleInParams}}
}

// azureApplication is an application of Azure's directory.
type azureApplication struct {
	file string // of the token by which it asks; empty: it has a secret
	clientcredentials.Config
}

// Token implements [oauth2.TokenSource].
func (a azureApplication) Token() (*oauth2.Token, error) {
	by := a.Config
	if a.file != "" {
		text, err := os.ReadFile(a.file)
		if err != nil {
			return nil, fmt.Errorf("AZURE_FEDERATED_TOKEN_FILE: %w", err)
		}
		by.EndpointParams = url.Values{"client_assertion": {strings.TrimSpace(string(text))},
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
	}
	return by.Token(withClient())
}

// azureMachine is an identity of a virtual machine of Azure, by its client id; empty: the only one.
type azureMachine string

// Token implements [oauth2.TokenSource].
func (m azureMachine) Token() (*oauth2.Token, error) {
	host := cmp.Or(os.Getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST"), "http://169.254.169.254")
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {storage}}
	if m != "" {
		query.Set("client_id", string(m))
	}
	req, err := http.NewRequestWithContext(withClient(), http.MethodGet,
		strings.TrimSuffix(host, "/")+"/metadata/identity/oauth2/token?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Metadata", "true")
	answer, err := (&http.Client{Timeout: loginTimeout}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the machine's identity answers %s", answer.Status)
	}
	var token struct {
		Access  string `json:"access_token"`
		Expires string `json:"expires_in"` // seconds
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&token); err != nil {
		return nil, fmt.Errorf("the machine's identity: %w", err)
	}
	seconds, err := strconv.Atoi(token.Expires)
	if err != nil || token.Access == "" {
		return nil, errors.New("the machine's identity gives no token with a time")
	}
	return &oauth2.Token{AccessToken: token.Access, Expiry: time.Now().Add(time.Duration(seconds) * time.Second)}, nil
}
