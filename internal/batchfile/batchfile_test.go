package batchfile

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/parquet"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/schema"
	"rivulet/test/expect"
)

// each returns the arrivals of a file.
func each(t *testing.T, path string, s *schema.Schema) (all []event.Arrival) {
	t.Helper()
	err := Each(path, s, func(_ int, record []byte) error {
		var a event.Arrival
		err := (json.Codec{}).DecodeArrival(record, &a)
		all = append(all, a)
		return err
	})
	expect.OK(t, err)
	return all
}

// A table's rows are the arrivals that JSON lines of the same content are: ids that look like numbers stay text, and
// cells get the types that the schema's features have.
func TestRowsAreArrivals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	text := "x,id,edges,time,y\n0.5,007,\"[\"\"a b\"\", 3]\",2026-03-01T12:00:00Z,2\n1,n2,a;b c,,-1\n,n3,,,0\n"
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	err := Each(path, nil, func(row int, record []byte) error {
		var a event.Arrival
		switch err := (json.Codec{}).DecodeArrival(record, &a); {
		case row == 4: // x is missing
			if err == nil {
				t.Errorf("row %d: %s", row, record)
			}
		case err != nil:
			t.Errorf("row %d: %s: %v", row, record, err)
		case row == 2 && (a.ID != "007" || !slices.Equal(a.Edges, []string{"a b", "3"}) ||
			!slices.Equal(a.Features.Values, []float32{0.5, 2}) || a.Time.Hour() != 12):
			t.Errorf("row %d: %+v", row, a)
		case row == 3 && (!slices.Equal(a.Edges, []string{"a", "b", "c"}) || !a.Time.IsZero()):
			t.Errorf("row %d: %+v", row, a)
		}
		return nil
	})
	expect.OK(t, err)
	columns := []schema.Column{{Name: "age", Type: schema.Number, Numbers: []float64{1, 3}},
		{Name: "code", Type: schema.Text, Texts: []string{"01", "2"}},
		{Name: "ok", Type: schema.Bool, Bools: []bool{true, false}}}
	s, err := schema.Fit(columns, []int32{0, 1},
		schema.FitOptions{MinCount: 1, Kinds: map[string]string{"code": "category"}})
	expect.OK(t, err)
	type arrivalRow struct {
		ID    string  `parquet:"id"`
		Edges string  `parquet:"edges"`
		Age   float64 `parquet:"age"`
		Code  string  `parquet:"code"`
		OK    bool    `parquet:"ok"`
	}
	var file bytes.Buffer
	if err := parquet.WriteRows(&file, func(yield func(arrivalRow, error) bool) {
		_ = yield(arrivalRow{"n1", "a|b", 3, "01", true}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	columnar, named := filepath.Join(t.TempDir(), "b.parquet"), filepath.Join(t.TempDir(), "b.csv")
	expect.OK(t, os.WriteFile(columnar, file.Bytes(), 0o600))
	expect.OK(t, os.WriteFile(named, []byte("id,edges,age,code,ok\nn1,a|b,3,01,true\n"), 0o600))
	got, want := each(t, named, s), each(t, columnar, s)
	for _, a := range [][]event.Arrival{got, want} {
		expect.OK(t, a[0].Features.Encode(s))
	}
	if diff := cmp.Diff(want[0].Features.Values, got[0].Features.Values); diff != "" || len(got[0].Edges) != 2 {
		t.Errorf("features of CSV and Parquet, edges %v (-Parquet +CSV):\n%s", got[0].Edges, diff)
	}
	table, err := s.EncodeColumns([]schema.Column{{Name: "age", Type: schema.Number, Numbers: []float64{3}},
		{Name: "code", Type: schema.Text, Texts: []string{"01"}}, {Name: "ok", Type: schema.Bool, Bools: []bool{true}}})
	expect.OK(t, err)
	if diff := cmp.Diff(table.Dense, got[0].Features.Values); diff != "" {
		t.Errorf("features (-of the table +of the row):\n%s", diff)
	}
	if err := Each(filepath.Join(t.TempDir(), "none.csv"), nil, nil); err == nil {
		t.Error("a file that is not there is read")
	}
}

// Each form has what a prediction has.
func TestPredictionsInEachForm(t *testing.T) {
	p := event.Prediction{ID: "n,1", Class: 2, ClassName: "red", Probability: 0.1, Degraded: true, Known: 3, Unknown: 1,
		Probabilities: []float32{0.25, 0.75}, Top: []event.Score{{Class: 2, Name: "red", Probability: 0.1}}, Artifact: "v1",
		Batch: "b", Source: event.Source{Topic: "arrivals", Partition: 1, Offset: 17},
		IngestTime: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)}
	written := map[Form]*bytes.Buffer{}
	for _, name := range []string{"a.csv", "a.parquet"} {
		form, err := FormOf(name)
		expect.OK(t, err)
		written[form] = &bytes.Buffer{}
		w, err := NewWriter(written[form], form)
		expect.OK(t, err)
		for range 2 {
			expect.OK(t, w.Prediction(&p))
		}
		expect.OK(t, w.Close())
	}
	cells, err := csv.NewReader(written[CSV]).ReadAll()
	if err != nil || len(cells) != 3 {
		t.Fatalf("%v: %v", cells, err)
	}
	got := map[string]string{}
	for i, name := range cells[0] {
		got[name] = cells[1][i]
	}
	for name, want := range map[string]string{"id": "n,1", "class": "2", "class_name": "red", "probability": "0.1",
		"degraded": "true", "probabilities": "[0.25,0.75]", "logits": "", "known_neighbours": "3", "offset": "17",
		"ingest_time": "2026-03-01T12:00:00.000000005Z", "arrival_time": ""} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if !strings.Contains(got["top"], `"name":"red"`) {
		t.Errorf("top is %q", got["top"])
	}
	rows := 0
	err = parquet.EachRow(bytes.NewReader(written[Parquet].Bytes()), func(r *row) error {
		if rows++; r.ID != "n,1" || r.Class != 2 || r.Probability != 0.1 || !slices.Equal(r.Probabilities, p.Probabilities) ||
			r.Offset != 17 || r.Top != got["top"] {
			t.Errorf("row %+v", r)
		}
		return nil
	})
	if err != nil || rows != 2 {
		t.Errorf("%d rows: %v", rows, err)
	}
	if _, err := FormOf("a.xlsx"); err == nil {
		t.Error("a spreadsheet has a form")
	}
}
