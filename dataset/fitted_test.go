package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rivulet/graph"
	"rivulet/schema"
	"rivulet/test/expect"
)

// A data set whose features were made of named columns keeps the schema and the columns, also where its rows are
// sparse; files that do not belong to it are refused.
func TestSaveKeepsSchemaAndColumns(t *testing.T) {
	d := randomSet(t, 12, false)
	n := d.Nodes()
	columns := []schema.Column{{Name: "age", Type: schema.Number, Missing: make([]bool, n)},
		{Name: "member", Type: schema.Bool}, {Name: "country", Type: schema.Text, Categorical: true},
		{Name: "joined", Type: schema.Time}, {Name: "about", Type: schema.Vector}}
	for i := range n {
		columns[0].Numbers = append(columns[0].Numbers, float64(i)/3)
		columns[1].Bools = append(columns[1].Bools, i%2 == 0)
		columns[2].Texts = append(columns[2].Texts, []string{"DE", "FR"}[i%2])
		columns[3].Times = append(columns[3].Times, time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC))
		columns[4].Vectors = append(columns[4].Vectors, []float32{float32(i), 0.1})
	}
	columns[0].Missing[3], columns[0].Numbers[3] = true, 0
	s, err := schema.Fit(columns, d.Train, schema.FitOptions{MinCount: 1})
	expect.OK(t, err)
	rows, err := s.EncodeColumns(columns)
	expect.OK(t, err)
	var entries []graph.Edge
	for k, v := range rows.Dense {
		if v != 0 {
			entries = append(entries, graph.Edge{Row: int32(k / rows.Width), Col: int32(k % rows.Width), Val: v})
		}
	}
	x := graph.NewCSR(n, rows.Width, entries)
	for name, features := range map[string]graph.Features{"dense": {Dense: &graph.Dense{Rows: n, Cols: rows.Width,
		Data: rows.Dense}}, "sparse": {Sparse: x}} {
		d.X, d.Schema, d.Values, d.BagOfWords = features, s, columns, false
		dir := filepath.Join(t.TempDir(), "saved")
		if err := d.Save(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Open(dir, OpenOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Schema == nil || got.Schema.Hash() != s.Hash() || got.BagOfWords {
			t.Errorf("%s: schema %v, a bag of words: %t", name, got.Schema, got.BagOfWords)
		}
		expect.Same(t, columns, got.Values, "%s: columns", name)
		if got.Fingerprint() != d.Fingerprint() {
			t.Errorf("%s: another fingerprint", name)
		}
		for text, file := range map[string][2]string{"12 nodes": {columnsFile,
			`[{"name":"a","type":"number","numbers":[1]}]`}, "want number": {columnsFile, `[{"name":"a","type":"float"}]`},
			"and it has values of": {columnsFile, `[{"name":"a","type":"number","bools":[true]}]`},
			"is missing, want": {columnsFile, strings.Replace(
				string(must(t, filepath.Join(dir, columnsFile))), `"missing":[3]`, `"missing":[12]`, 1)},
			schemaFile: {schemaFile, `{}`}} {
			broken := filepath.Join(t.TempDir(), "broken")
			expect.OK(t, os.CopyFS(broken, os.DirFS(dir)))
			expect.OK(t, os.WriteFile(filepath.Join(broken, file[0]), []byte(file[1]), 0o600))
			expect.Error(t, expect.ErrorOf(Open(broken, OpenOptions{})), text, "%s, %s", name, file[0])
		}
	}
}

func must(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	expect.OK(t, err)
	return text
}
