// Package planetoid reads the pickles of a Planetoid data set, without running any of their code.
package planetoid

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/numpy"
	"rivulet/dataset/pickle"
	"rivulet/graph"
)

// maxPickleBytes bounds one pickle, which is read into memory. NELL's features, the largest public ones, have 10 MB.
const maxPickleBytes = 1 << 30

// Set is a data set in the form of Yang, Cohen and Salakhutdinov, "Revisiting Semi-Supervised Learning with
// Graph Embeddings" (2016), in the order of their nodes:
//
//	x, y          features and one-hot classes of the training nodes
//	allx, ally    the same of all nodes except the test nodes: the first of them are x, y
//	tx, ty        the same of the test nodes, in the order of test.index
//	test.index    node index of each row of tx, one a line; indices beyond allx that it leaves out are nodes without
//	              features, class or role (CiteSeer has 15)
//	graph         {node: [neighbour, …]}
type Set struct {
	Nodes    int
	AllX, TX *graph.CSR
	AllY, TY []int32 // class by row, -1 if none is set
	Train    int     // rows of y
	Classes  int
	Test     []int32  // node of each row of tx
	Edges    []uint64 // node<<32 | neighbour, as the nodes list them
	Loops    int      // self-loops, which are left out of Edges

	dir, prefix string
}

// Read reads the files of a directory whose names begin with prefix.
func Read(dir, prefix string) (*Set, error) {
	p := &Set{dir: dir, prefix: prefix}
	if err := p.readMatrices(); err != nil {
		return nil, err
	}
	if err := p.readClasses(); err != nil {
		return nil, err
	}
	if err := p.file("test.index", p.readTest); err != nil {
		return nil, err
	}
	p.Nodes = max(p.AllX.Rows, int(slices.Max(p.Test))+1)
	return p, unpickle(p, "graph", p.readGraph)
}

func (p *Set) file(part string, decode func(f *os.File, size int64) error) error {
	return file.Read(p.dir, p.prefix+"."+part, maxPickleBytes, decode)
}

// unpickle reads one part whose value is a T.
func unpickle[T any](p *Set, part string, use func(v T, size int) error) error {
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

func (p *Set) readMatrices() error {
	var x *graph.CSR
	for _, part := range []struct {
		name string
		to   **graph.CSR
	}{{"x", &x}, {"allx", &p.AllX}, {"tx", &p.TX}} {
		err := unpickle(p, part.name, func(o *pickle.Object, _ int) (err error) {
			*part.to, err = pickledCSR(o)
			return err
		})
		if err != nil {
			return err
		}
	}
	if x.Cols != p.AllX.Cols || p.TX.Cols != p.AllX.Cols {
		return fmt.Errorf("x, allx and tx have %d, %d and %d columns", x.Cols, p.AllX.Cols, p.TX.Cols)
	}
	if x.Rows > p.AllX.Rows {
		return fmt.Errorf("x has %d rows, more than the %d of allx, which must begin with it", x.Rows, p.AllX.Rows)
	}
	p.Train = x.Rows
	return nil
}

func (p *Set) readClasses() error {
	var y []int32
	for _, part := range []struct {
		name string
		rows int
		to   *[]int32
	}{{"y", p.Train, &y}, {"ally", p.AllX.Rows, &p.AllY}, {"ty", p.TX.Rows, &p.TY}} {
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
		if p.AllY[i] != c {
			return fmt.Errorf("%s.ally: row %d is of class %d, in y of class %d", p.prefix, i, p.AllY[i], c)
		}
	}
	return nil
}

// oneHot returns the class of each row, -1 if none is set.
func (p *Set) oneHot(pickled *pickle.Array, rows int) ([]int32, error) {
	a, err := numpy.OpenPickled(pickled)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[0] != rows || a.Count == 0 {
		return nil, fmt.Errorf("array of shape %v, want %d rows of classes", a.Shape, rows)
	}
	if p.Classes == 0 {
		p.Classes = a.Shape[1]
	}
	if a.Shape[1] != p.Classes {
		return nil, fmt.Errorf("%d classes, others have %d", a.Shape[1], p.Classes)
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

func (p *Set) readTest(f *os.File, _ int64) error {
	lines := bufio.NewScanner(f)
	seen := map[int32]bool{}
	for n := 1; lines.Scan(); n++ {
		v, err := strconv.ParseInt(strings.TrimSpace(lines.Text()), 10, 32)
		if err != nil {
			return fmt.Errorf("line %d: %.40q is not a node index", n, lines.Text())
		}
		// Each index beyond allx may be a gap; more gaps than nodes must be a mistake.
		if most := p.AllX.Rows + 2*p.TX.Rows; int(v) < p.AllX.Rows || int(v) >= most {
			return fmt.Errorf("line %d: node %d is outside %d…%d, behind the nodes of allx", n, v, p.AllX.Rows, most-1)
		}
		if seen[int32(v)] {
			return fmt.Errorf("line %d: node %d occurs twice", n, v)
		}
		seen[int32(v)] = true
		p.Test = append(p.Test, int32(v))
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(p.Test) != p.TX.Rows {
		return fmt.Errorf("%d nodes for the %d rows of tx", len(p.Test), p.TX.Rows)
	}
	return nil
}

// readGraph reads the neighbours that nodes list. A pickle can mention one list many times, but not so that there are
// more neighbours than bytes.
func (p *Set) readGraph(lists *pickle.Dict, size int) error {
	seen := make([]bool, p.Nodes)
	for k, key := range lists.Keys {
		i, err := p.node(key)
		if err != nil {
			return fmt.Errorf("key [%d] of the dict: %w", k, err)
		}
		list, ok := lists.Values[k].(*pickle.List)
		if !ok {
			return fmt.Errorf("node %d: neighbours are %T, want a list", i, lists.Values[k])
		}
		if seen[i] {
			return fmt.Errorf("node %d occurs twice", i)
		}
		seen[i] = true
		if len(p.Edges)+p.Loops+len(list.Items) > size {
			return errors.New("more neighbours than the pickle has bytes: nodes share their lists")
		}
		for at, item := range list.Items {
			j, err := p.node(item)
			if err != nil {
				return fmt.Errorf("node %d: neighbour [%d]: %w", i, at, err)
			}
			if i == j {
				p.Loops++
				continue
			}
			p.Edges = append(p.Edges, uint64(i)<<32|uint64(j))
		}
	}
	return nil
}

func (p *Set) node(v any) (uint32, error) {
	i, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("it is %T, want an integer", v)
	}
	if i < 0 || i >= int64(p.Nodes) {
		return 0, fmt.Errorf("node %d is outside 0…%d", i, p.Nodes-1)
	}
	return uint32(i), nil
}

// pickledCSR checks and converts a csr_matrix.
func pickledCSR(o *pickle.Object) (*graph.CSR, error) {
	if o.State == nil {
		return nil, errors.New("the matrix has no content")
	}
	m := &graph.CSR{}
	shape, _ := o.State.Get("_shape")
	size, ok := shape.(pickle.Tuple)
	if !ok || len(size) != 2 {
		return nil, fmt.Errorf("attribute _shape is %T, want rows and columns", shape)
	}
	for k, to := range []*int{&m.Rows, &m.Cols} {
		v, _ := size[k].(int64)
		if err := numpy.CheckSize(k, v); err != nil {
			return nil, fmt.Errorf("attribute _shape: %w", err)
		}
		*to = int(v)
	}
	return m, numpy.ReadContent(func(name string, decode func(*numpy.Array) error) error {
		value, _ := o.State.Get(name)
		pickled, ok := value.(*pickle.Array)
		if !ok {
			return fmt.Errorf("attribute %s is %T, want an array", name, value)
		}
		a, err := numpy.OpenPickled(pickled)
		if err == nil {
			err = decode(a)
		}
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		return nil
	}, m)
}
