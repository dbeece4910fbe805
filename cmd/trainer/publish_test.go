package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// activate of a version that is not there lists those that are, and names the one that was meant.
func TestActivateListsWhatIsThere(t *testing.T) {
	redis, err := devstack.StartRedis()
	expect.OK(t, err)
	defer redis.Close()
	at := "--redis.url=" + redis.URL()
	activate := func(version string) string {
		_, err := harness.Execute(root(), "activate", version, at)
		if err == nil {
			t.Fatalf("%s was activated", version)
		}
		return err.Error()
	}
	if got := activate("none"); !strings.Contains(got, `setting CURRENT to "none"`) ||
		!strings.Contains(got, "no complete version is there") {
		t.Errorf("with an empty Redis: %s", got)
	}
	var versions []string
	for seed := range uint64(2) {
		b := artifacttest.Bundle(seed, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
		expect.OK(t, b.Seal())
		dir := filepath.Join(t.TempDir(), "artifact")
		expect.OK(t, artifact.Write(dir, b))
		if _, err := harness.Execute(root(), "publish", "--artifact", dir, at); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, b.Manifest.Version)
	}
	there := "complete versions are " + versions[0] + ", " + versions[1] + " (CURRENT)"
	for asked, want := range map[string]string{
		versions[0][:len(versions[0])-1]: "did you mean " + versions[0] + "?; " + there,
		"something else":                 there, // not even a name
		"other":                          there,
	} {
		if got := activate(asked); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", asked, got, want)
		}
	}
	if out, err := harness.Execute(root(), "activate", versions[0], at); err != nil || out != versions[0]+" is CURRENT\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// signingKey is a file with a key that signs.
func signingKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	expect.OK(t, err)
	return file
}

// A version is published beside CURRENT, survives pruning, is activated, and the one before it is activated again.
func TestPublishWithoutActivating(t *testing.T) {
	server := miniredis.RunT(t)
	at := "--redis.url=redis://" + server.Addr()
	run := func(want string, args ...string) {
		t.Helper()
		out, err := harness.Execute(root(), append(args, at)...)
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, want) {
			t.Errorf("%q: %s\nwant %s", args, out, want)
		}
	}
	var dirs, versions []string
	for seed := range uint64(2) {
		b := artifacttest.Bundle(seed, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
		expect.OK(t, b.Seal())
		dirs, versions = append(dirs, filepath.Join(t.TempDir(), "artifact")), append(versions, b.Manifest.Version)
		expect.OK(t, artifact.Write(dirs[seed], b))
	}
	run("is CURRENT", "publish", "--artifact", "file://"+dirs[0])
	web := httptest.NewServer(http.FileServer(http.Dir("/")))
	defer web.Close()
	run("manifest.json: the server answers 404", "publish", "--artifact", web.URL+dirs[1]+"/none")
	run("--keep is 0, want 1 or more", "publish", "--artifact", dirs[1], "--keep", "0")
	run("--keep is -2, want 1 or more", "publish", "--artifact", dirs[1], "--activate=false", "--keep", "-2")
	key := signingKey(t)
	run("--sign "+key+".none: open", "publish", "--artifact", dirs[1], "--sign", key+".none")
	run(versions[1]+" is published, and CURRENT stays as it is, under prefix rivulet", "publish", "--artifact",
		web.URL+dirs[1], "--activate=false", "--keep", "0", "--sign", key) // which removes nothing
	if got := server.HGet("{rivulet}:"+versions[1]+":complete", "signature"); len(got) != ed25519.SignatureSize {
		t.Errorf("the signature in Redis is %q", got)
	}
	current := func(want string) {
		t.Helper()
		if got, err := server.Get("{rivulet}:current"); got != want || err != nil {
			t.Errorf("CURRENT is %q (%v), want %q", got, err, want)
		}
	}
	current(versions[0])
	run("", "prune", "--keep", "0")
	run(versions[1]+" is CURRENT\n", "activate", versions[1])
	current(versions[1])
	run(versions[0]+" is CURRENT\n", "activate", versions[0])
	current(versions[0])
}
