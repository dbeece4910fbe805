package dataset

import (
	"errors"
	"io/fs"
	"testing"

	"rivulet/test/expect"
)

// What SaveCSV writes is read as the same data set; a bag of words becomes dense.
func TestSaveCSV(t *testing.T) {
	for _, sparse := range []bool{true, false} {
		d, err := randomSet(t, 600, sparse).Withhold(0.3, 1)
		expect.OK(t, err)
		dir := t.TempDir()
		expect.OK(t, d.SaveCSV(dir))
		back, err := Open(dir, OpenOptions{})
		expect.OK(t, err)
		want := *d
		want.Name, want.Notes, want.BagOfWords, want.X = back.Name, back.Notes, false, back.X
		expect.Same(t, &want, back, "sparse %t", sparse)
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
