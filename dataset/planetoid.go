package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/planetoid"
	"rivulet/graph"
)

// planetoidValidation is the number of validation nodes of the public splits.
const planetoidValidation = 500

var planetoidFormat = Format{
	Name: Planetoid,
	Looks: "a directory with ind.NAME.graph, ind.NAME.allx and the others, or DIRECTORY/ind.NAME if there are several " +
		"sets",
	Found: func(path string) bool {
		_, err := planetoidPrefix(path)
		return err == nil || errors.Is(err, errSeveral)
	},
	Read: func(path string, _ OpenOptions) (*Dataset, error) {
		prefix, err := planetoidPrefix(path)
		if err != nil {
			return nil, err
		}
		return readPlanetoid(prefix, planetoidValidation)
	},
}

var errSeveral = errors.New("there are several sets")

// planetoidPrefix returns the path of a set's files without their extensions.
func planetoidPrefix(path string) (string, error) {
	base := filepath.Base(path)
	if strings.HasPrefix(base, "ind.") && hasFile(base+".graph")(filepath.Dir(path)) {
		return path, nil
	}
	found, err := file.Glob(path, "ind.*.graph")
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", errors.New("there is no file ind.NAME.graph")
	case len(found) > 1:
		return "", fmt.Errorf("%w: give %s, or another, as the path", errSeveral, strings.TrimSuffix(found[0], ".graph"))
	}
	return strings.TrimSuffix(found[0], ".graph"), nil
}

// readPlanetoid reads the files that begin with a path. The public split is Kipf and Welling's: y trains, so many of
// the next nodes validate, test.index tests; the rest of allx is unlabelled.
func readPlanetoid(path string, validation int) (*Dataset, error) {
	prefix := filepath.Base(path)
	p, err := planetoid.Read(filepath.Dir(path), prefix)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: strings.TrimPrefix(prefix, "ind."), BagOfWords: true, IDs: Decimals(p.Nodes)}
	d.undirect(p.Nodes, p.Edges, p.Loops)
	d.X.Sparse = planetoidFeatures(p)
	if err := d.splitPlanetoid(p, prefix, validation); err != nil {
		return nil, err
	}
	if gaps := p.Nodes - p.AllX.Rows - len(p.Test); gaps > 0 {
		d.note("%d nodes that test.index leaves out have no features, class or role.", gaps)
	}
	return d, nil
}

// planetoidFeatures returns the rows of allx and tx in the order of their nodes.
func planetoidFeatures(p *planetoid.Set) *graph.CSR {
	row := graph.Places(p.Test, p.Nodes) // of tx
	m := &graph.CSR{Rows: p.Nodes, Cols: p.AllX.Cols, RowPtr: make([]int, 1, p.Nodes+1), Val: []float32{}}
	add := func(from *graph.CSR, i int) {
		cols, vals := from.Row(i)
		m.ColIdx = append(m.ColIdx, cols...)
		if vals == nil {
			vals = slices.Repeat([]float32{1}, len(cols))
		}
		m.Val = append(m.Val, vals...)
	}
	for i := range p.Nodes {
		switch {
		case i < p.AllX.Rows:
			add(p.AllX, i)
		case row[i] >= 0:
			add(p.TX, int(row[i]))
		}
		m.RowPtr = append(m.RowPtr, len(m.ColIdx))
	}
	m.DropOnes()
	return m
}

// splitPlanetoid sets the public split's roles and labels.
func (d *Dataset) splitPlanetoid(p *planetoid.Set, prefix string, validation int) error {
	d.Classes = Decimals(p.Classes)
	d.Labels = slices.Concat(p.AllY, slices.Repeat([]int32{-1}, p.Nodes-p.AllX.Rows))
	for k, i := range p.Test {
		if p.TY[k] < 0 {
			return fmt.Errorf("%s.ty: row %d, of test node %d, has no class", prefix, k, i)
		}
		d.Labels[i] = p.TY[k]
	}
	if err := CheckContiguous(d.Labels, p.Classes); err != nil {
		return err
	}
	for i := range int32(p.AllX.Rows) {
		switch {
		case int(i) < p.Train:
			d.Train = append(d.Train, i)
		case int(i) >= p.Train+validation:
			d.Unlabelled = append(d.Unlabelled, i)
			d.Labels[i] = -1
		case p.AllY[i] < 0:
			return fmt.Errorf("%s.ally: row %d, a validation node, has no class", prefix, i)
		default:
			d.Validation = append(d.Validation, i)
		}
	}
	d.Test = slices.Sorted(slices.Values(p.Test))
	return d.checkRoles()
}
