package app

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/infer/attach"
)

// With cache.directory the first process writes M to a file, and the others read the file and not the artifact's M.
// Another artifact has another file, rows are the same bits, and checks write nothing.
func TestPinnedArtifactsShareAFileOfM(t *testing.T) {
	cfg, ids := pinnedConfig(t, "127.0.0.1:1")
	rowsOf := func() (rows []attach.Row, log string) {
		t.Helper()
		var lines bytes.Buffer
		from, err := pinnedBy(t.Context(), cfg, slog.New(slog.NewTextHandler(&lines, nil)))
		if err != nil {
			t.Fatal(err)
		}
		rows = make([]attach.Row, len(ids))
		if err := from.source.Current().Rows(t.Context(), ids, rows); err != nil {
			t.Fatal(err)
		}
		return rows, lines.String()
	}
	want, _ := rowsOf()
	cfg.Cache.Directory = filepath.Join(t.TempDir(), "rows")
	if wrong := lintPipeline(cfg); len(wrong) > 0 {
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
	if err := os.Remove(filepath.Join(cfg.Artifact, "mapping.safetensors")); err != nil {
		t.Fatal(err)
	}
	if got, log = rowsOf(); cmp.Diff(want, got) != "" || strings.Contains(log, said) {
		t.Errorf("the second start: log %s, rows differ (-heap +file):\n%s", log, cmp.Diff(want, got))
	}
	b := artifacttest.Bundle(2, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	cfg.Artifact, ids = filepath.Join(t.TempDir(), "other"), b.Mapping.IDs
	if err := artifact.Write(cfg.Artifact, b); err != nil {
		t.Fatal(err)
	}
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
