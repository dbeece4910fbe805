package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// undecided has decide look at a comparison again and again, which does not change: it prints one line.
func undecided(t *testing.T, server *miniredis.Miniredis, version string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := server.CommandCount() + 100
	go func() {
		for server.CommandCount() < looks && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	cmd := root()
	cmd.SetContext(ctx)
	out, err := harness.Execute(cmd, "decide", "--every", "1ms", "--redis.url=redis://"+server.Addr())
	if want := version + " is not decided yet: 0 of at least 1000 arrivals are compared\n"; out != want ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("%v, decide --every printed %q, want %q once", err, out, want)
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

// A candidate's life by hand: published beside CURRENT, given up, published again, promoted; history tells it.
func TestCandidateByHand(t *testing.T) {
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
	run("nothing serves", "publish", "--artifact", dirs[0], "--candidate")
	run("is CURRENT", "publish", "--artifact", "file://"+dirs[0])
	web := httptest.NewServer(http.FileServer(http.Dir("/")))
	defer web.Close()
	run("manifest.json: the server answers 404", "publish", "--artifact", web.URL+dirs[1]+"/none")
	run("there is no candidate: trainer publish --candidate", "promote")
	run("--keep is given with --candidate", "publish", "--artifact", dirs[1], "--candidate", "--keep", "3")
	key := signingKey(t)
	run("--sign "+key+".none: open", "publish", "--artifact", dirs[1], "--sign", key+".none")
	run(versions[1]+" is CANDIDATE under prefix rivulet", "publish", "--artifact", web.URL+dirs[1], "--candidate",
		"--sign", key)
	if got := server.HGet("{rivulet}:"+versions[1]+":complete", "signature"); len(got) != ed25519.SignatureSize {
		t.Errorf("the signature in Redis is %q", got)
	}
	run("is in Redis as in the artifact", "verify", "--artifact", web.URL+dirs[1])
	run(`"candidate":true`, "versions", "--json")
	run("candidate  ", "versions")
	run(versions[1]+" is no candidate any more, "+versions[0]+" stays CURRENT", "abort", "--reason", "by mistake")
	run(versions[1]+" is CANDIDATE", "publish", "--artifact", dirs[1], "--candidate")
	undecided(t, server, versions[1])
	run(versions[1]+" is CURRENT\n", "promote")
	out, err := harness.Execute(root(), "history", at)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 6 ||
		!strings.Contains(lines[3], "abort") || !strings.HasSuffix(lines[3], "by mistake") ||
		!strings.Contains(lines[5], "promote") || !strings.Contains(lines[5], versions[0]) ||
		!slices.Contains(strings.Fields(lines[5]), "-") || strings.Contains(lines[5], "%") {
		t.Errorf("%v, history:\n%s", err, out)
	}
}
