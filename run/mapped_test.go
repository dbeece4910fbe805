package run

import (
	"bytes"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// With cache.directory the first process writes M to a file, and the others read the file and not the artifact's M.
// Another artifact has another file, rows are the same bits, and checks write nothing.
func TestPinnedArtifactsShareAFileOfM(t *testing.T) {
	cfg, ids := pinnedConfig(t, "127.0.0.1:1")
	rowsOf := func() (rows []attach.Row, log string) {
		t.Helper()
		var lines bytes.Buffer
		from, err := pinnedBy(t.Context(), cfg, slog.New(slog.NewTextHandler(&lines, nil)))
		expect.OK(t, err)
		rows = make([]attach.Row, len(ids))
		expect.OK(t, from.source.Current().Rows(t.Context(), ids, rows))
		return rows, lines.String()
	}
	want, _ := rowsOf()
	cfg.Cache.Directory = filepath.Join(t.TempDir(), "rows")
	if wrong := Lint(cfg); len(wrong) > 0 {
		t.Error(wrong)
	}
	checkPinned(t.Context(), cfg)
	if _, err := os.Stat(cfg.Cache.Directory); !os.IsNotExist(err) {
		t.Errorf("a check made the directory: %v", err)
	}
	const said = "M was written to a file"
	got, log := rowsOf()
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(log, said) {
		t.Errorf("the first start: log %s, rows differ (-heap +file):\n%s", log, diff)
	}
	expect.OK(t, os.Remove(filepath.Join(cfg.Artifact, "mapping.safetensors")))
	if got, log = rowsOf(); cmp.Diff(want, got) != "" || strings.Contains(log, said) {
		t.Errorf("the second start: log %s, rows differ (-heap +file):\n%s", log, cmp.Diff(want, got))
	}
	b := artifacttest.Bundle(2, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	cfg.Artifact, ids = filepath.Join(t.TempDir(), "other"), b.Mapping.IDs
	expect.OK(t, artifact.Write(cfg.Artifact, b))
	got, log = rowsOf()
	for i, row := range got {
		cols, vals := b.Mapping.Rows.Row(i)
		if len(row.Cols) != len(cols) || len(cols) > 0 && math.Float32bits(row.Vals[0]) != math.Float32bits(vals[0]) {
			t.Errorf("row %d of another artifact is %v, want %v %v", i, row, cols, vals)
		}
	}
	if !strings.Contains(log, said) {
		t.Errorf("no file of the other artifact's M: %s", log)
	}
}

// Of an artifact that a web server has, M and what trainers alone read are fetched when the file of M is written, and
// again where it was damaged; a start that finds the file whole asks for neither.
func TestMIsFetchedForItsFileAlone(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	b.Spread = artifacttest.Spread(2, b)
	cfg := config.Default[config.Consumer]()
	cfg.Artifact = filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(cfg.Artifact, b))
	rowsOf := func() []attach.Row {
		t.Helper()
		from, err := pinnedBy(t.Context(), cfg, slog.New(slog.DiscardHandler))
		expect.OK(t, err)
		rows := make([]attach.Row, len(b.Mapping.IDs))
		expect.OK(t, from.source.Current().Rows(t.Context(), b.Mapping.IDs, rows))
		return rows
	}
	want := rowsOf()
	files := http.FileServer(http.Dir(cfg.Artifact))
	var asked []string // one request at a time
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, strings.TrimPrefix(r.URL.Path, "/"))
		files.ServeHTTP(w, r)
	}))
	defer web.Close()
	cfg.Artifact, cfg.Cache.Directory = web.URL, t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	serving := []string{"manifest.json", "manifest.sha256", "manifest.sig", "models/sgc.safetensors",
		"synthetic.safetensors"}
	all := append(slices.Clone(serving), "mapping.safetensors", "spread.safetensors")
	slices.Sort(all)
	start := func(what string, requests []string) {
		t.Helper()
		asked = nil
		expect.Same(t, want, rowsOf(), "%s: rows", what)
		slices.Sort(asked)
		expect.Same(t, requests, asked, "%s: requests", what)
	}
	start("the first start", all)
	start("the second", serving)
	found, err := filepath.Glob(filepath.Join(cfg.Cache.Directory, "*.rows"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	expect.OK(t, os.Remove(found[0])) // it is mapped: nobody may change it where it stands
	expect.OK(t, os.WriteFile(found[0], []byte("damaged"), 0o600))
	start("after damage", all)
	start("after that", serving)
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left behind", err, left)
	}
}
