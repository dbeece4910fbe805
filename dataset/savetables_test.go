package dataset

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What SaveCSV writes is read as the same data set; a bag of words becomes dense.
func TestSaveCSV(t *testing.T) {
	for _, preset := range []string{"small", "reddit"} {
		g, err := Scaled(preset, 400)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Generate(g, 7)
		if err != nil {
			t.Fatal(err)
		}
		if d, err = d.Withhold(0.3, 1); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := d.SaveCSV(dir); err != nil {
			t.Fatal(err)
		}
		back, err := Open(dir, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := *d
		want.Name, want.Notes, want.BagOfWords, want.X = back.Name, back.Notes, false, back.X
		if diff := cmp.Diff(&want, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", preset, diff)
		}
		for i := range d.Nodes() {
			d.X.Each(i, func(c int, v float32) {
				if back.X.Dense.Row(i)[c] != v {
					t.Fatalf("%s: x[%d, %d] is %v, want %v", preset, i, c, back.X.Dense.Row(i)[c], v)
				}
			})
		}
		if err := d.SaveCSV(dir); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a second time: %v", err)
		}
	}
}
