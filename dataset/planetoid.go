package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/numpy"
	"rivulet/dataset/pickle"
	"rivulet/graph"
)

// planetoidValidation is the number of validation nodes of the public splits.
const planetoidValidation = 500

// maxPickleBytes bounds one pickle, which is read into memory. NELL's features, the largest public ones, have 10 MB.
const maxPickleBytes = 1 << 30

var planetoidFormat = Format{
	Name:  Planetoid,
	Looks: "a directory with ind.NAME.graph, ind.NAME.allx and the others, or DIRECTORY/ind.NAME if there are several sets",
	Found: func(path string) bool {
		_, err := planetoidPrefix(path)
		return err == nil || errors.Is(err, errSeveral)
	},
	Read: func(path string, _ OpenOptions) (*Dataset, error) {
		prefix, err := planetoidPrefix(path)
		if err != nil {
			return nil, err
		}
		p := &planetoid{dir: filepath.Dir(prefix), prefix: filepath.Base(prefix), validation: planetoidValidation}
		return p.read()
	},
}

var errSeveral = errors.New("there are several sets")

// planetoidPrefix returns the path of a set's files without their extensions.
func planetoidPrefix(path string) (string, error) {
	base := filepath.Base(path)
	if strings.HasPrefix(base, "ind.") && hasFile(base+".graph")(filepath.Dir(path)) {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(path), "ind.*.graph"))
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

// escapeGlob returns a path that Glob takes literally.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// planetoid is a data set in the form of Yang, Cohen and Salakhutdinov, "Revisiting Semi-Supervised Learning with
// Graph Embeddings" (2016), in the order of their nodes:
//
//	x, y          features and one-hot classes of the training nodes
//	allx, ally    the same of all nodes except the test nodes: the first of them are x, y
//	tx, ty        the same of the test nodes, in the order of test.index
//	test.index    node index of each row of tx, one a line; indices beyond allx that it leaves out are nodes without
//	              features, class or role (CiteSeer has 15)
//	graph         {node: [neighbour, …]}
//
// The public split is Kipf and Welling's: y trains, the next 500 nodes validate, test.index tests; the rest of allx
// is unlabelled.
type planetoid struct {
	dir, prefix string
	validation  int

	nodes      int
	allx, tx   *graph.CSR
	ally, ty   []int32 // class by row, -1 if none is set
	train      int     // rows of y
	classCount int
	test       []int32 // node of each row of tx
}

func (p *planetoid) read() (*Dataset, error) {
	if err := p.readMatrices(); err != nil {
		return nil, err
	}
	if err := p.readClasses(); err != nil {
		return nil, err
	}
	if err := p.file("test.index", p.readTest); err != nil {
		return nil, err
	}
	d := &Dataset{Name: strings.TrimPrefix(p.prefix, "ind."), BagOfWords: true}
	p.nodes = max(p.allx.Rows, int(slices.Max(p.test))+1)
	d.IDs = Decimals(p.nodes)
	if err := unpickle(p, "graph", func(lists *pickle.Dict, size int) error { return p.readGraph(lists, size, d) }); err != nil {
		return nil, err
	}
	d.X.Sparse = p.features()
	if err := p.split(d); err != nil {
		return nil, err
	}
	if gaps := p.nodes - p.allx.Rows - len(p.test); gaps > 0 {
		d.note("%d nodes that test.index leaves out have no features, class or role.", gaps)
	}
	return d, nil
}

func (p *planetoid) file(part string, decode func(f *os.File, size int64) error) error {
	return file.Read(p.dir, p.prefix+"."+part, maxPickleBytes, decode)
}

// unpickle reads one part whose value is a T.
func unpickle[T any](p *planetoid, part string, use func(v T, size int) error) error {
	return p.file(part, func(f *os.File, size int64) error {
		content := make([]byte, size) // and no more, if the file grows meanwhile
		if _, err := io.ReadFull(f, content); err != nil {
			return numpy.Truncated(err)
		}
		value, err := pickle.Load(content)
		if err != nil {
			return err
		}
		v, ok := value.(T)
		if !ok {
			return fmt.Errorf("the pickle holds %T, want %T", value, v)
		}
		return use(v, len(content))
	})
}

func (p *planetoid) readMatrices() error {
	var x *graph.CSR
	for _, part := range []struct {
		name string
		to   **graph.CSR
	}{{"x", &x}, {"allx", &p.allx}, {"tx", &p.tx}} {
		err := unpickle(p, part.name, func(o *pickle.Object, _ int) (err error) {
			*part.to, err = pickledCSR(o)
			return err
		})
		if err != nil {
			return err
		}
	}
	if x.Cols != p.allx.Cols || p.tx.Cols != p.allx.Cols {
		return fmt.Errorf("x, allx and tx have %d, %d and %d columns", x.Cols, p.allx.Cols, p.tx.Cols)
	}
	if x.Rows > p.allx.Rows {
		return fmt.Errorf("x has %d rows, more than the %d of allx, which must begin with it", x.Rows, p.allx.Rows)
	}
	p.train = x.Rows
	return nil
}

func (p *planetoid) readClasses() error {
	var y []int32
	for _, part := range []struct {
		name string
		rows int
		to   *[]int32
	}{{"y", p.train, &y}, {"ally", p.allx.Rows, &p.ally}, {"ty", p.tx.Rows, &p.ty}} {
		err := unpickle(p, part.name, func(a *pickle.Array, _ int) (err error) {
			*part.to, err = p.oneHot(a, part.rows)
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, c := range y {
		if c < 0 {
			return fmt.Errorf("%s.y: row %d has no class, but it is a training node", p.prefix, i)
		}
		if p.ally[i] != c {
			return fmt.Errorf("%s.ally: row %d is of class %d, in y of class %d", p.prefix, i, p.ally[i], c)
		}
	}
	return nil
}

// oneHot returns the class of each row, -1 if none is set.
func (p *planetoid) oneHot(pickled *pickle.Array, rows int) ([]int32, error) {
	a, err := numpy.OpenPickled(pickled)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[0] != rows || a.Count == 0 {
		return nil, fmt.Errorf("array of shape %v, want %d rows of classes", a.Shape, rows)
	}
	if p.classCount == 0 {
		p.classCount = a.Shape[1]
	}
	if a.Shape[1] != p.classCount {
		return nil, fmt.Errorf("%d classes, others have %d", a.Shape[1], p.classCount)
	}
	classes := slices.Repeat([]int32{-1}, rows)
	return classes, a.Floats(func(k int, v float32) error {
		i, c := a.Position(k)
		switch {
		case v == 0:
			return nil
		case v != 1:
			return fmt.Errorf("row %d, column %d is %v, want 0 or 1", i, c, v)
		case classes[i] >= 0:
			return fmt.Errorf("row %d has classes %d and %d: data with several classes a node is not supported", i,
				classes[i], c)
		}
		classes[i] = int32(c)
		return nil
	})
}

func (p *planetoid) readTest(f *os.File, _ int64) error {
	lines := bufio.NewScanner(f)
	seen := map[int32]bool{}
	for n := 1; lines.Scan(); n++ {
		v, err := strconv.ParseInt(strings.TrimSpace(lines.Text()), 10, 32)
		if err != nil {
			return fmt.Errorf("line %d: %.40q is not a node index", n, lines.Text())
		}
		// Each index beyond allx may be a gap; more gaps than nodes must be a mistake.
		if most := p.allx.Rows + 2*p.tx.Rows; int(v) < p.allx.Rows || int(v) >= most {
			return fmt.Errorf("line %d: node %d is outside %d…%d, behind the nodes of allx", n, v, p.allx.Rows, most-1)
		}
		if seen[int32(v)] {
			return fmt.Errorf("line %d: node %d occurs twice", n, v)
		}
		seen[int32(v)] = true
		p.test = append(p.test, int32(v))
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(p.test) != p.tx.Rows {
		return fmt.Errorf("%d nodes for the %d rows of tx", len(p.test), p.tx.Rows)
	}
	return nil
}

// features returns the rows of allx and tx in the order of their nodes.
func (p *planetoid) features() *graph.CSR {
	row := make([]int32, p.nodes) // of tx
	for i := range row {
		row[i] = -1
	}
	for k, i := range p.test {
		row[i] = int32(k)
	}
	m := &graph.CSR{Rows: p.nodes, Cols: p.allx.Cols, RowPtr: make([]int, 1, p.nodes+1), Val: []float32{}}
	add := func(from *graph.CSR, i int) {
		cols, vals := from.Row(i)
		m.ColIdx = append(m.ColIdx, cols...)
		if vals == nil {
			vals = slices.Repeat([]float32{1}, len(cols))
		}
		m.Val = append(m.Val, vals...)
	}
	for i := range p.nodes {
		switch {
		case i < p.allx.Rows:
			add(p.allx, i)
		case row[i] >= 0:
			add(p.tx, int(row[i]))
		}
		m.RowPtr = append(m.RowPtr, len(m.ColIdx))
	}
	m.DropOnes()
	return m
}

// split sets the public split's roles and labels.
func (p *planetoid) split(d *Dataset) error {
	d.Classes = Decimals(p.classCount)
	d.Labels = slices.Concat(p.ally, slices.Repeat([]int32{-1}, p.nodes-p.allx.Rows))
	for k, i := range p.test {
		if p.ty[k] < 0 {
			return fmt.Errorf("%s.ty: row %d, of test node %d, has no class", p.prefix, k, i)
		}
		d.Labels[i] = p.ty[k]
	}
	if err := CheckContiguous(d.Labels, p.classCount); err != nil {
		return err
	}
	for i := range int32(p.allx.Rows) {
		switch {
		case int(i) < p.train:
			d.Train = append(d.Train, i)
		case int(i) >= p.train+p.validation:
			d.Unlabelled = append(d.Unlabelled, i)
			d.Labels[i] = -1
		case p.ally[i] < 0:
			return fmt.Errorf("%s.ally: row %d, a validation node, has no class", p.prefix, i)
		default:
			d.Validation = append(d.Validation, i)
		}
	}
	d.Test = slices.Sorted(slices.Values(p.test))
	return d.checkRoles()
}
