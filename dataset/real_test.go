package dataset

import (
	"testing"

	"rivulet/test/datatest"
	"rivulet/test/expect"
)

type counts struct{ Nodes, Edges, Features, Classes, Train, Unlabelled, Validation, Test int }

func count(d *Dataset) counts {
	return counts{d.Nodes(), d.Adj.NNZ() / 2, d.X.Cols(), len(d.Classes), len(d.Train), len(d.Unlabelled),
		len(d.Validation), len(d.Test)}
}

func TestRealSets(t *testing.T) {
	for name, want := range map[string]counts{
		"cora":         {2708, 5278, 1433, 7, 140, 1068, 500, 1000},
		"amazon_photo": {7650, 119081, 745, 8, 3825, 0, 1912, 1913},
		"coauthor_cs":  {18333, 81894, 6805, 15, 9166, 0, 4583, 4584},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := openDir(datatest.Dir(t, name))
			expect.OK(t, err)
			expect.Same(t, want, count(d), "counts")
			if d.Name != name || !d.BagOfWords {
				t.Errorf("name %q, bag of words %v; want %q, true", d.Name, d.BagOfWords, name)
			}
			o := d.Original()
			if got := len(o.Nodes); got != want.Train+want.Unlabelled {
				t.Errorf("T has %d nodes, want %d", got, want.Train+want.Unlabelled)
			}
		})
	}
}
