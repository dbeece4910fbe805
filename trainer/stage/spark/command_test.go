package spark

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// sparkSQL writes a program that stands in for spark-sql: it keeps the statements in a file and does what a script
// says.
func sparkSQL(t *testing.T, script string) (path, kept string) {
	t.Helper()
	dir := t.TempDir()
	path, kept = filepath.Join(dir, "spark-sql"), filepath.Join(dir, "kept")
	text := "#!/bin/sh\n[ \"$1\" = -S ] && [ \"$2\" = -f ] || exit 9\ncat \"$3\" >'" + kept + "'\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path, kept
}

func newCommand(t *testing.T, path string) Runner {
	t.Helper()
	r, err := Command(path)
	expect.OK(t, err)
	t.Cleanup(func() { _ = r.Close(t.Context()) })
	return r
}

func TestCommand(t *testing.T) {
	path, kept := sparkSQL(t, `echo "spark.sql.variable.substitute	false"; echo "rivulet-answer one two"; echo `+
		`"rivulet-answer "; echo noise >&2`)
	r := newCommand(t, path)
	worker, rows := newFile(workerPrefix+"amd64", []byte("w")), newFile("rivulet-rows", []byte("r"))
	expect.OK(t, r.Send(t.Context(), worker, rows))
	for call, files := range [][]File{{worker, rows}, {worker}} {
		c := &stringRows{}
		if err := r.Run(t.Context(), []string{"SET a=1", "SELECT ';'"}, "SELECT 'x' AS s", c); err != nil {
			t.Fatal(err)
		}
		if want := []string{"one two", ""}; !slices.Equal(c.values, want) {
			t.Errorf("answers %q, want %q", c.values, want)
		}
		text, err := os.ReadFile(kept)
		expect.OK(t, err)
		if n := strings.Count(string(text), "ADD FILE '"); n != len(files) {
			t.Errorf("call %d adds %d files, want %d:\n%s", call, n, len(files), text)
		}
		want := "SET a=1;\nSELECT ';';\nSELECT concat('rivulet-answer ', s) AS s FROM (SELECT 'x' AS s);\n"
		if !strings.HasSuffix(string(text), want) {
			t.Errorf("statements are\n%s", text)
		}
	}
}

func TestCommandFails(t *testing.T) {
	for script, want := range map[string]string{
		`echo "26/11/23 INFO x" >&2; echo "Caused by: Error: rivulet-worker: stage nodes: row 3" >&2; exit ` +
			`1`: "stage nodes: row 3: exit status 1",
		`echo "org.apache.spark.SparkException: [NO_ROOM] nothing left" >&2; exit 1`: "[NO_ROOM] nothing left",
		`exit 3`: "exit status 3",
		`echo "WARN FileStreamSink: x
java.io.FileNotFoundException: File /w/*/done does not exist
[PATH_NOT_FOUND] Path does not exist: /w/*/done. SQLSTATE: 42K03; line 1" >&2; exit ` +
			`1`: "spark: [PATH_NOT_FOUND] Path does not exist: /w/*/done",
		`echo "java.io.IOException: No space left on device" >&2; exit 1`: "spark: a machine of Spark has no room left",
		`echo "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/w." >&2; exit ` +
			`1`: "spark: a machine of Spark could not write below --work",
		`echo "org.apache.spark.SparkException: ExecutorLostFailure (executor 3)" >&2; exit ` +
			`1`: "spark: executors of Spark ended or lost their files",
	} {
		path, _ := sparkSQL(t, script)
		err := words(newCommand(t, path).Run(t.Context(), nil, "SELECT 1", &stringRows{}))
		expect.Error(t, err, want)
	}
	if _, err := Command("/nowhere/spark-sql"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestWorkers(t *testing.T) {
	dir := t.TempDir()
	expect.Error(t, expect.ErrorOf(Workers(dir)), "build them with: make workers")
	// The heads of programs: 62 is amd64, 183 arm64.
	head := func(machine byte) []byte {
		return append([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, machine, 0, 1},
			make([]byte, 64)...)
	}
	for _, test := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"worker-linux-arm64", head(62), "is a program for EM_X86_64, want EM_AARCH64"},
		{"worker-linux-amd64", head(183), "is a program for EM_AARCH64, want EM_X86_64"},
		{"worker-linux-amd64", []byte("#!/bin/sh"), "is no program for linux"},
		{"worker-linux-amd64", head(62), ""},
	} {
		dir := t.TempDir()
		expect.OK(t, os.WriteFile(filepath.Join(dir, test.name), test.content, 0o600))
		found, err := Workers(dir)
		if test.want == "" && (err != nil || len(found) != 1) {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
