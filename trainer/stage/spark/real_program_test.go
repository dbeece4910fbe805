package spark_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer/stage/spark/connect"
)

// programs builds the trainer, and the worker beside it, and returns the trainer's path.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, program := range map[string]string{"trainer": "trainer", "worker-linux-" + runtime.GOARCH: "worker"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), "rivulet/cmd/"+program)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return filepath.Join(dir, "trainer")
}

// graphFiles writes a small graph as tables.
func graphFiles(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	expect.OK(t, generated(t).SaveCSV(dir))
	return dir
}

// trained runs the trainer on tables, with variables of the environment, and returns the directory of the artifact.
func trained(t *testing.T, program, data string, variables []string, flags ...string) (string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "artifact")
	_, err := harness.OutputIn(t.Context(), variables, nil, program,
		append([]string{"train", "--nodes", "40", "--data", data, "--out", out}, flags...)...)
	return out, err
}

// sameTensors fails unless two artifacts have the same files, but for the manifest, which has the time.
func sameTensors(t *testing.T, a, b string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", a, err)
	}
	for _, file := range files {
		one, err1 := os.ReadFile(file)
		other, err2 := os.ReadFile(filepath.Join(b, filepath.Base(file)))
		if err1 != nil || err2 != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs: %v %v", filepath.Base(file), err1, err2)
		}
	}
}

// gate is a server with TLS and a token before a Spark Connect server, as companies have one, and returns its address
// and the file of its authority.
func gate(t *testing.T, behind connect.Address, token string) (address, authority string) {
	t.Helper()
	plain := new(http.Protocols)
	plain.SetUnencryptedHTTP2(true)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: behind.Host})
	proxy.Transport, proxy.FlushInterval = &http.Transport{Protocols: plain}, -1
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return "sc://" + server.Listener.Addr().String(), pemOf(t, server.Certificate())
}

func pemOf(t *testing.T, c *x509.Certificate) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authority.pem")
	expect.OK(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o600))
	return file
}

// commandLines gathers the command lines of this machine's processes until its context ends.
func commandLines(ctx context.Context, seen chan<- map[string]bool) {
	lines := map[string]bool{}
	for ctx.Err() == nil {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range all {
			text, _ := os.ReadFile(file)
			lines[string(text)] = true
		}
		time.Sleep(20 * time.Millisecond)
	}
	seen <- lines
}

// with counts the files below directories that have a text.
func with(t *testing.T, text string, dirs ...string) (names []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || strings.Contains(name, "/blockmgr-") {
				return nil //nolint:nilerr // Spark removes files while this looks
			}
			content, _ := os.ReadFile(name)
			if bytes.Contains(content, []byte(text)) {
				names = append(names, name)
			}
			return nil
		})
		expect.OK(t, err)
	}
	return names
}

// The trainer as a program, through TLS with a token: it gives the bytes of a run in memory, a wrong token is refused
// in plain words, and neither the token nor the password of Redis is in Spark's event log and files, in the working
// directory, in the artifact, or in the command line of any process.
func TestSparkBehindTLS(t *testing.T) {
	a, dir := realSpark(t), sparkDir(t)
	program, data, work, token, password := programs(t), graphFiles(t), t.TempDir(), rand.Text(), rand.Text()
	address, authority := gate(t, a, token)
	variables := []string{"SSL_CERT_FILE=" + authority, "RIVULET_REDIS_URL=redis://rivulet:" + password +
		"@localhost:6379/0", "RIVULET_SPARK_TOKEN=" + token}
	onSpark := []string{"--engine", "spark", "--partitions", "3", "--work", work, "--spark", address}

	_, err := trained(t, program, data, append(variables, "RIVULET_SPARK_TOKEN=wrong"), onSpark...)
	if want := address + " refuses the token, or wants one"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	_, err = trained(t, program, data, variables[1:], onSpark...)
	if want := "certificate signed by unknown authority"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}

	want, err := trained(t, program, data, nil, "--sums", "fixed")
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan map[string]bool)
	go commandLines(ctx, seen)
	got, err := trained(t, program, data, variables, onSpark...)
	cancel()
	lines := <-seen
	expect.OK(t, err)
	sameTensors(t, want, got)

	if logs := with(t, "rivulet-worker-", filepath.Join(dir, "events")); len(logs) == 0 {
		t.Error("the event log knows nothing of the run")
	}
	here, workers := false, false
	for line := range lines {
		here = here || strings.Contains(line, program)
		workers = workers || strings.Contains(line, "rivulet-job-")
		if strings.Contains(line, token) || strings.Contains(line, password) {
			t.Errorf("a command line has a secret: %q", line)
		}
	}
	if !here || !workers {
		t.Errorf("of %d command lines, one of the trainer: %t, one of a worker: %t", len(lines), here, workers)
	}
	for what, secret := range map[string]string{"token": token, "password": password} {
		if names := with(t, secret, dir, work, got); len(names) > 0 {
			t.Errorf("the %s is in %q", what, names)
		}
	}
}

// The program spark-sql on the same cluster gives the bytes of a run in memory, and a second run finds the stages.
func TestSparkSQLProgram(t *testing.T) {
	realSpark(t)
	dir := sparkDir(t)
	program, data, work := programs(t), graphFiles(t), t.TempDir()
	want, err := trained(t, program, data, nil, "--sums", "fixed")
	expect.OK(t, err)
	for _, name := range []string{"first", "again"} {
		start := time.Now()
		got, err := trained(t, program, data, nil, "--engine", "spark", "--partitions", "3", "--work", work, "--spark-sql",
			filepath.Join(dir, "spark-sql"))
		expect.OK(t, err)
		t.Logf("%s: %.0f s", name, time.Since(start).Seconds())
		sameTensors(t, want, got)
	}
}
