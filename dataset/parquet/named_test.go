package parquet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/dataset/table"
	"rivulet/schema"
	"rivulet/test/expect"
)

// Save writes what CSV holds, too.
func TestSave(t *testing.T) {
	g, err := generate.Scaled("reddit", 400)
	expect.OK(t, err)
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	dir := t.TempDir()
	expect.OK(t, Save(d, dir+"/parquet"))
	expect.OK(t, d.SaveCSV(dir+"/csv"))
	back, err := open(dir + "/parquet")
	expect.OK(t, err)
	text, err := open(dir + "/csv")
	expect.OK(t, err)
	if back.Fingerprint() != d.Fingerprint() || text.Fingerprint() != d.Fingerprint() {
		t.Errorf("fingerprints %s of Parquet and %s of CSV, want %s", back.Fingerprint(), text.Fingerprint(), d.Fingerprint())
	}
}

type user struct {
	ID     float64    `parquet:"user"`
	Age    *float64   `parquet:"age,optional"`
	Visits int64      `parquet:"visits"`
	Active *bool      `parquet:"active,optional"`
	Joined *time.Time `parquet:"joined,optional,timestamp(microsecond)"`
	Born   int32      `parquet:"born,date"`
	City   *string    `parquet:"city,optional"`
	Vector []float32  `parquet:"vector,list"`
	Class  *float64   `parquet:"class,optional"`
	Fold   int64      `parquet:"fold"`
}

// Named columns have the types of the file: numbers, bools, times, text and lists, with nulls; ids that were read as
// floats are integers.
func TestNamedColumns(t *testing.T) {
	age, yes, city, one, two := 31.5, true, "Rome", 1.0, 3.0
	joined := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	rows := []user{
		{1, &age, 3, &yes, &joined, 1, &city, []float32{1, 2}, &one, 0},
		{17, nil, 4, nil, nil, 2, nil, []float32{3, 4}, &two, 1},
		{1e5, &age, 5, &yes, &joined, 3, &city, nil, &two, 2},
	}
	dir := writeSet(t, map[string][]byte{"users.parquet": encode(t, [][]user{rows[:2], rows[2:]}),
		"edges.csv": []byte("source,target\n1,17\n100000.0,1.0\n")})
	d, err := dataset.OpenTables(dataset.OpenOptions{
		Tables: table.Settings{Nodes: table.NodesPath(dir + "/users.parquet"),
			Edges: dir + "/edges.csv", ID: "user", Label: "class", Split: "fold",
			SplitValues: map[string]string{"0": "train", "1": "val", "2": "test"}}})
	expect.OK(t, err)
	second := []bool{false, true, false}
	day := func(n int64) time.Time { return time.Unix(n*24*60*60, 0).UTC() }
	want := []schema.Column{
		{Name: "age", Type: schema.Number, Missing: second, Numbers: []float64{31.5, 0, 31.5}},
		{Name: "visits", Type: schema.Number, Numbers: []float64{3, 4, 5}},
		{Name: "active", Type: schema.Bool, Missing: second, Bools: []bool{true, false, true}},
		{Name: "joined", Type: schema.Time, Missing: second, Times: []time.Time{joined, {}, joined}},
		{Name: "born", Type: schema.Time, Times: []time.Time{day(1), day(2), day(3)}},
		{Name: "city", Type: schema.Text, Missing: second, Texts: []string{"Rome", "", "Rome"}},
		{Name: "vector", Type: schema.Vector, Missing: []bool{false, false, true}, Vectors: [][]float32{{1, 2}, {3, 4}, nil}},
	}
	expect.Same(t, want, d.Columns, "columns")
	if diff := cmp.Diff([][]string{{"1", "17", "100000"}, {"1", "3"}}, [][]string{d.IDs, d.Classes}); diff != "" ||
		d.Adj.NNZ() != 4 {
		t.Errorf("%d edges (-want +got):\n%s", d.Adj.NNZ()/2, diff)
	}
}
