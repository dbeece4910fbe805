package dataset

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What SaveCSV writes is read as the same data set; a bag of words becomes dense.
func TestSaveCSV(t *testing.T) {
	for _, sparse := range []bool{true, false} {
		d, err := randomSet(t, 600, sparse).Withhold(0.3, 1)
		if err != nil {
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
			t.Errorf("sparse %t (-want +got):\n%s", sparse, diff)
		}
		for i := range d.Nodes() {
			d.X.Each(i, func(c int, v float32) {
				if back.X.Dense.Row(i)[c] != v {
					t.Fatalf("sparse %t: x[%d, %d] is %v, want %v", sparse, i, c, back.X.Dense.Row(i)[c], v)
				}
			})
		}
		if err := d.SaveCSV(dir); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a second time: %v", err)
		}
	}
}
