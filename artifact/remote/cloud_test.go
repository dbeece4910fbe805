package remote

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// cloud is a server of storage and of tokens. Its storage takes requests that a test allows.
type cloud struct {
	*httptest.Server
	tokens  func(r *http.Request) bool // whether a request for a token is right
	allowed func(r *http.Request) bool
	asked   int // for tokens
}

// startCloud starts a cloud whose bucket kept has a directory's files.
func startCloud(t *testing.T, dir string) *cloud {
	t.Helper()
	c := &cloud{}
	files := http.StripPrefix("/kept", http.FileServer(http.Dir(filepath.Dir(dir))))
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/kept/") && c.allowed(r):
			files.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/kept/"):
			w.WriteHeader(http.StatusForbidden)
		case r.ParseForm() == nil && c.tokens(r):
			c.asked++
			w.Header().Set("Content-Type", "application/json")
			expires := "3600"
			if r.Method == http.MethodGet { // Azure's machines
				expires = `"3600"`
			}
			fmt.Fprintf(w, `{"access_token": "good", "token_type": "Bearer", "expires_in": %s}`, expires)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client"}`)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// serviceAccount writes the key of a service account of Google, with which tokens are asked for at an address.
func serviceAccount(t *testing.T, tokens string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	expect.OK(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	expect.OK(t, err)
	text, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "me@example.org",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokens})
	expect.OK(t, err)
	file := filepath.Join(t.TempDir(), "key.json")
	expect.OK(t, os.WriteFile(file, text, 0o600))
	return file
}

// Artifacts come from buckets of Google Cloud and containers of Azure, by each login that there is. A token is asked
// for once. Another login is refused, and errors tell no secret.
func TestBucketsOfOtherClouds(t *testing.T) {
	dir := written(t)
	c := startCloud(t, dir)
	federated := filepath.Join(t.TempDir(), "token")
	expect.OK(t, os.WriteFile(federated, []byte("of-kubernetes\n"), 0o600))
	bearer := func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "Bearer good" && r.URL.RawQuery == ""
	}
	azure := func(r *http.Request) bool { return bearer(r) && r.Header.Get("X-Ms-Version") != "" }
	application := func(r *http.Request) bool {
		return r.URL.Path == "/tenant/oauth2/v2.0/token" && r.PostForm.Get("client_id") == "me" &&
			r.PostForm.Get("scope") == "https://storage.azure.com/.default" &&
			(r.PostForm.Get("client_secret") == "word" || r.PostForm.Get("client_assertion") == "of-kubernetes")
	}
	container := map[string]string{"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_SERVICE_ENDPOINT": c.URL,
		"AZURE_AUTHORITY_HOST": c.URL + "/", "AZURE_TENANT_ID": "tenant", "AZURE_POD_IDENTITY_AUTHORITY_HOST": c.URL,
		"AZURE_STORAGE_SAS_TOKEN": "", "AZURE_CLIENT_SECRET": "", "AZURE_FEDERATED_TOKEN_FILE": "",
		"GOOGLE_APPLICATION_CREDENTIALS": "", "STORAGE_EMULATOR_HOST": ""}
	for name, of := range map[string]struct {
		location        string
		env             map[string]string
		tokens, allowed func(r *http.Request) bool
		asked           int
	}{
		"an emulator of Google's": {"gs://kept/next", map[string]string{
			"STORAGE_EMULATOR_HOST": strings.TrimPrefix(c.URL, "http://")}, nil,
			func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }, 0},
		"a service account": {"gs://kept/next", map[string]string{"STORAGE_EMULATOR_HOST": c.URL,
			"GOOGLE_APPLICATION_CREDENTIALS": serviceAccount(t, c.URL+"/google")},
			func(r *http.Request) bool { return r.URL.Path == "/google" && r.PostForm.Get("assertion") != "" }, bearer, 1},
		"a shared access signature": {"azblob://kept/next", map[string]string{"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=word"},
			nil, func(r *http.Request) bool {
				return r.URL.RawQuery == "sv=1&sig=word" && r.Header.Get("X-Ms-Version") != ""
			}, 0},
		"an application's secret": {"azblob://kept/next", map[string]string{"AZURE_CLIENT_ID": "me",
			"AZURE_CLIENT_SECRET": "word"}, application, azure, 1},
		"an application in Kubernetes": {"azblob://kept/next", map[string]string{"AZURE_CLIENT_ID": "me",
			"AZURE_FEDERATED_TOKEN_FILE": federated}, application, azure, 1},
		"a machine": {"azblob://kept/next", map[string]string{"AZURE_CLIENT_ID": "me"}, func(r *http.Request) bool {
			return r.URL.Path == "/metadata/identity/oauth2/token" && r.Header.Get("Metadata") == "true" &&
				r.Form.Get("resource") == "https://storage.azure.com/" && r.Form.Get("client_id") == "me"
		}, azure, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			for key, value := range container {
				t.Setenv(key, value)
			}
			for key, value := range of.env {
				t.Setenv(key, value)
			}
			c.tokens, c.allowed, c.asked = of.tokens, of.allowed, 0
			b, err := bring(t, of.location)
			expect.OK(t, err)
			expect.Same(t, 20, len(b.Mapping.IDs), "rows of M")
			expect.Same(t, of.asked, c.asked, "tokens")
			c.tokens = func(*http.Request) bool { return false }
			c.allowed = func(*http.Request) bool { return false }
			_, err = bring(t, of.location)
			if err == nil || !strings.Contains(err.Error(), of.location) || strings.Contains(err.Error(), "word") {
				t.Errorf("refused: %v", err)
			}
			left, err := os.ReadDir(os.Getenv("TMPDIR"))
			if err != nil || len(left) > 0 {
				t.Errorf("%v, %v are left behind", err, left)
			}
		})
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account.example.org")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(dir, "absent.json"))
	for location, said := range map[string]string{"azblob://kept/next": `AZURE_STORAGE_ACCOUNT is "account.example.org"`,
		"gs://kept/next": "absent.json"} {
		expect.Error(t, expect.ErrorOf(Open(t.Context(), location)), said, "%s", location)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "storage.example.org")
	const named = "STORAGE_EMULATOR_HOST"
	expect.Error(t, expect.ErrorOf(Open(t.Context(), "gs://kept/next")), named, "an emulator elsewhere, without TLS")
}
