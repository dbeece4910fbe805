package dataset

import (
	"errors"

	"rivulet/dataset/file"
	"rivulet/dataset/ogb"
)

var ogbFormat = Format{
	Name:  "ogb",
	Looks: "a directory with " + ogb.Features + ", as OGB downloads it",
	Found: hasFile(ogb.Features),
	Read:  readOGB,
}

func readOGB(dir string, o OpenOptions) (*Dataset, error) {
	d := &Dataset{}
	var err error
	if d.Name, err = file.Name(dir); err != nil {
		return nil, err
	}
	g, err := ogb.Read(dir, checkMagnitude)
	if err != nil {
		return nil, err
	}
	for i, role := range g.Split {
		if role == "" && (g.HasSplit || g.Labels[i] == "") {
			g.Split[i] = "unlabelled"
		}
	}
	b := &builder{settings: o.Tables, labels: g.Labels, split: g.Split}
	d.IDs, d.X.Dense = Decimals(g.X.Rows), g.X
	d.Adj = undirected(d, g.X.Rows, g.Edges, g.Loops)
	if err := errors.Join(b.classes(d), b.roles(d, g.HasSplit, o.SplitSeed)); err != nil {
		return nil, err
	}
	d.checkTrained()
	return d, nil
}
