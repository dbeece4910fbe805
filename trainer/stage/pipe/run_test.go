package pipe_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/test/expect"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/pipe"
)

// count writes, for each key, how many records of which tag it has and their orders; of key 13 it wants but one, and
// key 99 is an error.
type count struct{ word string }

func (c *count) Reduce(key int64, in stage.Records, out stage.Output) error {
	var seen []string
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		seen = append(seen, fmt.Sprintf("%d:%s=%s", r.Tag, r.Order, r.Payload))
		if key == 13 {
			break
		}
		if key == 99 {
			return errors.New("nodes row 7: the id\nis empty")
		}
	}
	return out.Emit(1, stage.Record{Key: key, Order: []byte(c.word), Payload: []byte(strings.Join(seen, " "))})
}

var registry = stage.Registry{"count": func(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	return &count{string(sides["word"]) + string(options)}, nil
}}

// job writes a job's file with a side and a file of two records.
func job(t *testing.T, j pipe.Job) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(j)
	expect.OK(t, err)
	rows := stage.AppendRecord(nil, stage.Record{Key: 1, Payload: []byte("one")})
	rows = stage.AppendRecord(rows, stage.Record{Key: 2, Order: []byte("z"), Payload: []byte("two")})
	for name, content := range map[string][]byte{"job": text, "side-1": []byte("w"), "rows-1": rows} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return filepath.Join(dir, "job")
}

func reducing() pipe.Job {
	return pipe.Job{Stage: "count", Options: json.RawMessage(`1`), Sides: map[string]string{"word": "side-1"}, Outputs: 2}
}

func line(key, tag int, order, payload string) string {
	b := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return fmt.Sprintf("%d\t%d\t%s\t%s\n", key, tag, b(order), b(payload))
}

// rows decodes the lines of an output.
func rows(t *testing.T, out string) []string {
	t.Helper()
	var all []string
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		f := strings.Split(l, "\t")
		if len(f) != 4 {
			t.Fatalf("line %q has %d fields", l, len(f))
		}
		order, err1 := base64.StdEncoding.DecodeString(f[2])
		payload, err2 := base64.StdEncoding.DecodeString(f[3])
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		all = append(all, fmt.Sprintf("%s %s %s %s", f[0], f[1], order, payload))
	}
	return all
}

func TestRun(t *testing.T) {
	long := strings.Repeat("x", 3<<20) // longer than the reader's buffer
	for name, test := range map[string]struct {
		job  pipe.Job
		in   string
		want []string
	}{
		"keys": {reducing(), line(1, 0, "", "a") + line(1, 2, "k", "b") + line(13, 0, "", "c") + line(13, 0, "", "d") +
			line(20, 1, "", "\x00\t\n"),
			[]string{"1 1 w1 0:=a 2:k=b", "1 13 w1 0:=c", "1 20 w1 1:=\x00\t\n", `-1 0 {"in":5,"out":[0,3],"bytes":[0,26]} `}},
		"nothing": {reducing(), "", []string{`-1 0 {"in":0,"out":[0,0],"bytes":[0,0]} `}},
		"long": {reducing(), line(1, 0, "", long),
			[]string{"1 1 w1 0:=" + long, `-1 0 {"in":1,"out":[0,1],"bytes":[0,3145733]} `}},
		"copy": {pipe.Job{Outputs: 1, Files: []string{"rows-1"}}, "0\n",
			[]string{"0 1  one", "0 2 z two", `-1 0 {"in":2,"out":[2],"bytes":[7]} `}},
		"map": {pipe.Job{Stage: "count", Outputs: 2, Map: true}, line(5, 0, "", "a") + line(6, 0, "", "b"),
			[]string{"1 0  0:=a 0:=b", `-1 0 {"in":2,"out":[0,1],"bytes":[0,9]} `}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			expect.OK(t, pipe.Run(job(t, test.job), strings.NewReader(test.in), &out, registry))
			if diff := cmp.Diff(test.want, rows(t, out.String())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	broken := line(1, 0, "", strings.Repeat("x", 90))
	const chunk = 76 // Spark's base64 may break a line there
	cut := len("1\t0\t\t") + chunk
	for want, test := range map[string]struct {
		job pipe.Job
		in  string
	}{
		"stage count: nodes row 7: the id": {reducing(), line(99, 0, "", "")},
		"records are not sorted":           {reducing(), line(2, 0, "", "") + line(1, 0, "", "")},
		"line 1 has 3 fields, want 4":      {reducing(), "1\t0\tx\n"},
		"spark.sql.chunkBase64String.enabled false? Spark knows it from 3.5.2 on": {reducing(),
			broken[:cut] + "\r\n" + broken[cut:]},
		"line 1 is cut":                {reducing(), strings.TrimSuffix(broken, "\n")},
		"line 1 is no record: a null":  {reducing(), "1\t0\t\\N\t\n"},
		"line 1 is no record: strconv": {reducing(), "x\t0\t\t\n"},
		"line 1 is no record: illegal": {reducing(), "1\t0\t?\t\n"},
		`stage "other" is not known`:   {pipe.Job{Stage: "other", Outputs: 1}, ""},
		"side word: open":              {pipe.Job{Stage: "count", Sides: map[string]string{"word": "gone"}}, ""},
		`file "3" of a job with 1`:     {pipe.Job{Outputs: 1, Files: []string{"rows-1"}}, "3\n"},
		"output 1 of a stage with 1":   {pipe.Job{Stage: "count", Outputs: 1}, line(1, 0, "", "")},
	} {
		err := pipe.Run(job(t, test.job), strings.NewReader(test.in), io.Discard, registry)
		expect.Error(t, err, want)
	}
}

// A worker that fails says so in one line, reads the rest of its input, and ends with status 1.
func TestMainDrains(t *testing.T) {
	in := strings.NewReader(line(99, 0, "", "") + strings.Repeat(line(100, 0, "", "more"), 1<<18))
	var errs bytes.Buffer
	status := pipe.Main([]string{job(t, reducing())}, in, io.Discard, &errs, registry)
	if want := pipe.Prefix + "stage count: nodes row 7: the id is empty\n"; status != 1 || errs.String() != want ||
		in.Len() != 0 {
		t.Errorf("status %d, %d bytes unread, %q, want %q", status, in.Len(), &errs, want)
	}
	errs.Reset()
	if status := pipe.Main(nil, strings.NewReader(""), io.Discard, &errs, registry); status != 1 ||
		!strings.Contains(errs.String(), "the file of a job") {
		t.Errorf("status %d, %q", status, &errs)
	}
}
