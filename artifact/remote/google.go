package remote

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// readOnly is the right that tokens for Google's buckets are asked with.
const readOnly = "https://www.googleapis.com/auth/devstorage.read_only"

// googleBucket returns the source of an address gs://bucket/path.
func googleBucket(u *url.URL, transport http.RoundTripper) (*source, error) {
	base, err := server("STORAGE_EMULATOR_HOST", "https://storage.googleapis.com")
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	emulated, key := os.Getenv("STORAGE_EMULATOR_HOST") != "", os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if !emulated || key != "" { // emulators want no login
		tokens, err := google.DefaultTokenSource(withClient(), readOnly)
		if err != nil {
			return nil, fmt.Errorf("no login (GOOGLE_APPLICATION_CREDENTIALS is %q; else this machine's service account): %w",
				key, err)
		}
		client.Transport = &oauth2.Transport{Source: tokens, Base: transport}
	}
	return &source{base.JoinPath(u.Host, u.Path), client}, nil
}

// loginTimeout is how long a server may take that gives tokens.
const loginTimeout = 10 * time.Second

// withClient returns a context with the client that asks for tokens.
func withClient() context.Context {
	return context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: loginTimeout})
}

// server returns the address of a cloud's servers, or of others that a variable names.
func server(variable, own string) (*url.URL, error) {
	named := os.Getenv(variable)
	if named != "" && !strings.Contains(named, "://") { // as Google's emulators are named
		named = "http://" + named
	}
	at, err := url.Parse(cmp.Or(named, own))
	if err != nil || !secure(at) || at.User != nil || at.RawQuery != "" {
		return nil, fmt.Errorf("%s is no address such as https://storage.example:9000, or http:// on this machine", variable)
	}
	return at, nil
}
