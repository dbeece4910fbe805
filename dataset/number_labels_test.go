package dataset

import (
	"math"
	"testing"

	"rivulet/dataset/table"
)

// Labels that are numbers may be floats of a file with types, such as Parquet: they are values and not names.
func TestNumberLabelsOfTypedFiles(t *testing.T) {
	names := []string{"id", "income", "split", "x"}
	r, err := table.NewNodeReader(table.Settings{Task: "number", Label: "income"}, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		income float64
		split  string
		label  string
	}{{1001.5, "train", "1001.5"}, {-3, "test", "-3"}, {1e-9, "val", "1e-09"}, {math.NaN(), "unlabelled", ""}} {
		var n table.Node
		err := r.Read([]table.Cell{{Kind: table.Text, Text: "a"}, {Kind: table.Float, Float: test.income},
			{Kind: table.Text, Text: test.split}, {Kind: table.Float, Float: 2}}, &n)
		if err != nil || n.Label != test.label {
			t.Errorf("%v: label %q and %v, want %q", test.income, n.Label, err, test.label)
		}
	}
}
