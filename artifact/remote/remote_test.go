package remote_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/remote"
	_ "rivulet/artifact/remote/s3" // addresses of buckets
	"rivulet/test/expect"
)

// written is an artifact on disk.
func written(t *testing.T) string {
	t.Helper()
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	dir := filepath.Join(t.TempDir(), "next")
	expect.OK(t, artifact.Write(dir, b))
	return dir
}

// bring fetches an artifact and reads it, and removes what was fetched.
func bring(t *testing.T, location string) (*artifact.Bundle, error) {
	t.Helper()
	a, err := remote.Open(t.Context(), location)
	if err != nil {
		return nil, err
	}
	var b *artifact.Bundle
	if err = a.Complete(t.Context()); err == nil {
		b, err = artifact.ReadAll(a.Dir)
	}
	expect.OK(t, a.Remove())
	if _, there := os.Stat(a.Dir); there == nil && strings.Contains(location, "s3://") {
		t.Errorf("%s is left behind", a.Dir)
	}
	return b, err
}

// An artifact is the same from a directory, a web server and a bucket. A file that is missing, damaged or of another
// size is refused by its name, and nothing of the artifact is left behind.
func TestFetch(t *testing.T) {
	dir := written(t)
	want, err := artifact.ReadAll(dir)
	expect.OK(t, err)
	web := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(dir))))
	defer web.Close()
	store := s3mem.New()
	fake := httptest.NewServer(gofakes3.New(store).Server())
	defer fake.Close()
	expect.OK(t, store.CreateBucket("kept"))
	put := func(name string) {
		f, err := os.Open(filepath.Join(dir, name))
		expect.OK(t, err)
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err == nil {
			_, err = store.PutObject("kept", "a/next/"+name, map[string]string{}, f, info.Size(), nil)
		}
		expect.OK(t, err)
	}
	for name := range want.Manifest.Files {
		put(name)
	}
	put("manifest.json")
	put("manifest.sha256")
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("AWS_ENDPOINT_URL", fake.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "me")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "word")
	for _, location := range []string{dir, "file://" + dir, web.URL + "/next", web.URL + "/next/", "s3://kept/a/next"} {
		got, err := bring(t, location)
		if err != nil || got.Manifest.Version != want.Manifest.Version {
			t.Errorf("%s: %v", location, err)
		}
	}
	away := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/next/manifest.json", http.StatusFound))
	defer away.Close()
	for location, said := range map[string]string{
		away.URL + "/next":  "it redirects to http://192.0.2.1/next/manifest.json, want https://",
		"s3://kept/a/other": "manifest.json: the server answers 404", "s3://other/a/next": "404",
		web.URL + "/other": "manifest.json: the server answers 404", "ftp://host/next": "want a directory, file://",
		"http://example.org/next": "http:// on this machine alone", "https://me:word@host/next": "without a login",
		"gs://kept/next": "want a directory", "s3:///next": "want a directory", "s3://kept/a/next?sig=word": "want a directory",
	} {
		if _, err := bring(t, location); err == nil || !strings.Contains(err.Error(), said) ||
			strings.Contains(err.Error(), "word") {
			t.Errorf("%s: %v, want %s", location, err, said)
		}
	}
	const damaged = "synthetic.safetensors"
	for _, c := range []struct {
		change func([]byte) []byte
		said   string
	}{
		{func(b []byte) []byte { b[len(b)-1]++; return b }, damaged + ": SHA-256 is"},
		{func(b []byte) []byte { return append(b, 0) }, damaged + ": "},
		{func(b []byte) []byte { return b[:len(b)-2] }, damaged + ": "},
	} {
		text, err := os.ReadFile(filepath.Join(dir, damaged))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, damaged), c.change(text), 0o600)
		}
		expect.OK(t, err)
		put(damaged)
		for _, location := range []string{web.URL + "/next", "s3://kept/a/next"} {
			expect.Error(t, expect.ErrorOf(bring(t, location)), c.said, "%s", location)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left behind", err, left)
	}
}

// An address with a signature asks for each file with it. Nothing that is printed repeats it.
func TestSignedAddress(t *testing.T) {
	dir := written(t)
	files := http.FileServer(http.Dir(filepath.Dir(dir)))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "sv=1&sig=a%2Fword%3D" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer web.Close()
	t.Setenv("TMPDIR", t.TempDir())
	const signature = "?sv=1&sig=a%2Fword%3D"
	b, err := bring(t, web.URL+"/next"+signature)
	expect.OK(t, err)
	expect.Same(t, 20, len(b.Mapping.IDs), "rows of M")
	for location, said := range map[string]string{
		web.URL + "/next?sig=otherword":             "403 Forbidden",
		web.URL + "/other" + signature:              "404 Not Found",
		"http://127.0.0.1:1/next?sig=word":          "refused",
		"https://me:word@127.0.0.1:1/next?sig=word": "without a login",
	} {
		_, err := bring(t, location)
		expect.Error(t, err, said, "%s", location)
		if strings.Contains(err.Error(), "word") {
			t.Errorf("%s: %v", location, err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left behind", err, left)
	}
}

// The signature is the one of AWS' documentation, where the server compares it: a request with another key is refused.
func TestRequestsAreSigned(t *testing.T) {
	var header string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Authorization") + " " + r.Header.Get("X-Amz-Content-Sha256") + " " +
			r.Header.Get("X-Amz-Security-Token")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer s.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	t.Setenv("AWS_SESSION_TOKEN", "session")
	t.Setenv("AWS_REGION", "eu-west-1")
	_, err := remote.Open(t.Context(), "s3://kept/next")
	if err == nil || !strings.Contains(err.Error(), "403") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v, want 403", err)
	}
	if !strings.HasPrefix(header, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") ||
		!strings.Contains(header, "/eu-west-1/s3/aws4_request") || !strings.HasSuffix(header,
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 session") {
		t.Errorf("the request has %q", header)
	}
}
