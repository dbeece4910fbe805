package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/graphsaint"
	"rivulet/dataset/numpy"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/target"
)

// The files of the GraphSAINT layout.
const (
	adjFile     = "adj_full.npz"
	sparseFile  = "feats.npz"
	denseFile   = "feats.npy"
	classesFile = "class_map.json"
	rolesFile   = "role.json"
)

// Files beyond the layout's own, that [Dataset.Save] writes if they differ from the defaults.
const (
	idsFile   = "node_ids.json"
	namesFile = "class_names.json"
	// mergedFile is there only if arrivals were merged into the data, or if edges are not plain or labels no classes.
	mergedFile = "merged.json"
	// The relations of edges with types or directions, and the numbers of a task of numbers.
	relationsFile, targetsFile = "relations.npz", "targets.npy"
	// The schema that made the features, and the named columns that it made them of.
	schemaFile, columnsFile = "schema.json", "columns.json"
	timesFile               = "times.json"
)

// maxJSONBytes bounds class_map.json and role.json; two million nodes take 30 MB.
const maxJSONBytes = 1 << 30

// load reads a data set in the GraphSAINT layout (see the package documentation) and checks it completely: the
// Dataset that it returns keeps every promise of its fields. Errors name the file, the array in it and the reason.
func load(dir string, o table.Settings) (*Dataset, error) {
	d, said := &Dataset{}, graphsaint.Merged{}
	if err := readJSON(dir, mergedFile, &said, func() error { return nil }); err != nil {
		return nil, err
	}
	if said.Weights && o.Weight == "" {
		o.Weight = arrayOfWeights
	}
	err := file.Read(dir, adjFile, file.MaxBytes, func(f *os.File, size int64) (err error) {
		d.Adj, err = readAdjacency(f, size, file.MaxBytes)
		switch by := said.Relations(); {
		case err != nil:
		case !by.Relational():
			err = d.makeUndirected(o)
		case !said.Weights || o.DropWeights:
			d.Adj.Val = nil
		}
		if err == nil && said.Weights && d.Adj.Val == nil && !o.DropWeights { // each is 1 now
			d.Adj.Val = slices.Repeat([]float32{1}, d.Adj.NNZ())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	relations := func(dir string) error { return d.loadRelations(dir, said.Relations(), d.Adj.Val != nil) }
	classes := func(dir string) error { return d.loadClasses(dir, o.Task, said.Task) }
	outputs := func(dir string) error {
		task := d.Task // labels, if class_map.json has lists
		if said.Task != target.Classes {
			task = said.Task
		}
		return labelForms[task.Truth()].load(d, dir, &said)
	}
	degrees := func(string) error { return inFile(adjFile, d.checkDegrees()) }
	ends := func(string) error {
		d.Merged = said.Open()
		return inFile(mergedFile, d.Merged.Check(d.IDs, d.Train))
	}
	for _, load := range []func(dir string) error{relations, d.loadFeatures, d.loadRoles, classes, d.loadIDs,
		degrees, outputs, ends, d.loadTimes, d.loadFitted} {
		if err := load(dir); err != nil {
			return nil, err
		}
	}
	if d.NodeTypes = said.NodeTypes; d.NodeTypes != nil && d.TypesOf() == nil {
		return nil, fmt.Errorf("%s has no column %.100q, which names each node's type", columnsFile, d.NodeTypes.Column)
	}
	d.Name, err = file.Name(dir)
	return d, err
}

func (d *Dataset) loadIDs(dir string) (err error) {
	d.IDs, err = loadNames(dir, idsFile, d.Nodes())
	return err
}

// loadNames reads a list of n distinct names, in order; without the file they are decimal indices.
func loadNames(dir, name string, n int) (names []string, err error) {
	if _, err := os.Lstat(filepath.Join(dir, name)); file.Missing(err) {
		return Decimals(n), nil
	}
	err = file.Read(dir, name, maxJSONBytes, func(f *os.File, _ int64) (err error) {
		names, err = graphsaint.ReadNames(bufio.NewReader(f), n)
		return err
	})
	return names, err
}

// Decimals returns "0", "1", … up to n-1: the ids of nodes that have no others.
func Decimals(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

func (d *Dataset) loadFeatures(dir string) error {
	_, errSparse := os.Stat(filepath.Join(dir, sparseFile))
	_, errDense := os.Stat(filepath.Join(dir, denseFile))
	switch {
	case errSparse == nil && errDense == nil:
		return fmt.Errorf("%s and %s both exist: which holds the features?", sparseFile, denseFile)
	case file.Missing(errSparse) && file.Missing(errDense):
		return fmt.Errorf("neither %s nor %s exists: no features", sparseFile, denseFile)
	case errDense == nil:
		return file.Read(dir, denseFile, file.MaxBytes, func(f *os.File, size int64) error {
			a, err := numpy.OpenArray(f, size)
			if err != nil {
				return err
			}
			if d.X.Dense, err = numpy.ReadDense(a); err != nil {
				return err
			}
			return d.checkFeatureRows()
		})
	}
	d.BagOfWords = true
	return file.Read(dir, sparseFile, file.MaxBytes, func(f *os.File, size int64) error {
		z, err := numpy.OpenArchive(f, size, file.MaxBytes)
		if err != nil {
			return err
		}
		if d.X.Sparse, err = numpy.ReadSparse(z); err != nil {
			return err
		}
		if err := d.checkFeatureRows(); err != nil {
			return fmt.Errorf("array shape: %w", err)
		}
		return nil
	})
}

func (d *Dataset) checkFeatureRows() error {
	if rows := d.X.Rows(); rows != d.Nodes() {
		return fmt.Errorf("features of %d nodes for a graph of %d", rows, d.Nodes())
	}
	return nil
}

func (d *Dataset) loadRoles(dir string) error {
	return file.Read(dir, rolesFile, maxJSONBytes, func(f *os.File, _ int64) error {
		r, err := graphsaint.ReadRoles(bufio.NewReader(f), d.Nodes())
		if err != nil {
			return err
		}
		d.Train, d.Validation, d.Test, d.Unlabelled = r.Train, r.Validation, r.Test, r.Unlabelled
		return nil
	})
}

// loadClasses reads the labels after the roles: labels of unlabelled nodes are dropped, so that nothing can use
// them by mistake. Lists of 0 and 1 are labels where one of them has several ones, or where the settings say so.
func (d *Dataset) loadClasses(dir, asked string, said target.Task) error {
	task, guess := said, asked == "" && said == target.Classes
	if asked != "" {
		var err error
		if task, err = target.Parse(asked); err != nil {
			return err
		}
	}
	sets := task.Truth() == target.LabelSet
	return file.Read(dir, classesFile, maxJSONBytes, func(f *os.File, _ int64) error {
		var names []string
		var err error
		if !sets {
			names, err = graphsaint.ReadClasses(bufio.NewReader(f), d.Nodes())
			d.Labels, d.Classes = numbered(names)
		}
		if one := err; sets || guess && errors.Is(err, graphsaint.ErrLabels) {
			if _, err = f.Seek(0, io.SeekStart); err == nil {
				err = d.loadLabels(bufio.NewReader(f))
			}
			if one != nil && err == nil && !d.several() { // a node without a class among nodes of one each
				err = one
			}
		}
		if err != nil {
			return err
		}
		for _, role := range []struct {
			name  string
			nodes []int32
		}{{"tr", d.Train}, {"va", d.Validation}, {"te", d.Test}} {
			for _, i := range role.nodes {
				if d.Labels[i] < 0 && task.Truth() != target.Neighbours {
					return fmt.Errorf("node %d of role %s has no class", i, role.name)
				}
			}
		}
		for _, i := range d.Unlabelled {
			if d.Labels[i] = -1; d.Targets != nil {
				clear(d.Targets.Row(int(i)))
			}
		}
		return nil
	})
}

// loadClassNames names the classes by class_names.json, if it is there, in which class c is at [c].
func (d *Dataset) loadClassNames(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, namesFile)); file.Missing(err) {
		if !slices.Equal(d.Classes, Decimals(len(d.Classes))) {
			d.note("Classes are numbered from 0, in this order: %s.", strings.Join(table.Most(d.Classes), ", "))
		}
		return nil
	}
	numbers := make([]int, len(d.Classes))
	for k, class := range d.Classes {
		var err error
		if numbers[k], err = strconv.Atoi(class); err != nil {
			return fmt.Errorf("%s: it is for classes that are numbers, and %s has names itself", namesFile, classesFile)
		}
	}
	names, err := loadNames(dir, namesFile, slices.Max(numbers)+1)
	if err != nil {
		return err
	}
	for k, c := range numbers {
		d.Classes[k] = names[c]
	}
	return nil
}

// makeUndirected drops self-loops and adds directions of edges that stand in one direction only. Weights are dropped
// unless the settings keep them; so are directions, which stand beside the undirected graph if they are kept.
func (d *Dataset) makeUndirected(t table.Settings) error {
	if !t.Directed {
		return d.bothWays(t)
	}
	edges, weights := pairs(d.Adj)
	if t.Weight == "" || t.DropWeights {
		weights = nil
	}
	err := d.bothWays(t)
	if err == nil {
		err = d.keepRelations(d.Adj.Rows, edges, weights, nil, t)
	}
	return err
}

// bothWays is makeUndirected without the directions.
func (d *Dataset) bothWays(t table.Settings) error {
	if t.Weight != "" && !t.DropWeights {
		return d.keepWeights(d.Adj)
	}
	weights := 0
	for _, v := range d.Adj.Val {
		if v != 1 {
			weights++
		}
	}
	if d.Adj.Val = nil; weights > 0 {
		d.note("Weights of edges were dropped: %d were not 1; --weight %s keeps them.", weights, arrayOfWeights)
	}
	if !isUndirected(d.Adj) {
		d.symmetrise(d.Adj)
	}
	return nil
}

// symmetrise drops self-loops and adds directions of edges that stand in one direction only.
func (d *Dataset) symmetrise(adj *graph.CSR) {
	var directed []uint64
	for i := range adj.Rows {
		columns, _ := adj.Row(i)
		for _, j := range columns {
			if int(j) != i {
				directed = append(directed, uint64(i)<<32|uint64(j))
			}
		}
	}
	d.undirect(adj.Rows, directed, adj.NNZ()-len(directed))
}

// undirect builds the graph of n nodes from edges source<<32 | target, which it sorts; loops were left out of them. It
// notes what it changes.
func (d *Dataset) undirect(n int, directed []uint64, loops int) {
	slices.Sort(directed)
	distinct := slices.Compact(directed)
	edges, oneWay := make([][2]int32, 0, len(distinct)/2), 0
	for _, e := range distinct {
		i, j := int32(e>>32), int32(uint32(e))
		_, back := slices.BinarySearch(distinct, uint64(j)<<32|uint64(i))
		if !back {
			oneWay++
		}
		if !back || i < j {
			edges = append(edges, [2]int32{i, j})
		}
	}
	d.Adj = graph.Symmetric(n, edges)
	for _, note := range []struct {
		n    int
		what string
	}{{loops, "self-loops were dropped: a model adds its own."},
		{len(directed) - len(distinct), "edges that stand there again were merged."},
		{oneWay, "edges that stood in one direction got the other."}} {
		if note.n > 0 {
			d.note("%d %s", note.n, note.what)
		}
	}
}

// readAdjacency reads adj_full.npz, a square matrix.
func readAdjacency(r io.ReaderAt, size, limit int64) (*graph.CSR, error) {
	z, err := numpy.OpenArchive(r, size, limit)
	if err != nil {
		return nil, err
	}
	adj, err := numpy.ReadSparse(z)
	if err != nil {
		return nil, err
	}
	return adj, numpy.CheckSquare(adj)
}

// isUndirected reports whether a pattern has both directions of each edge and no self-loop. The columns of each row
// must ascend; those of the transpose then do, too.
func isUndirected(adj *graph.CSR) bool {
	t := adj.Transpose()
	for i := range adj.Rows {
		out, _ := adj.Row(i)
		in, _ := t.Row(i)
		if _, loop := slices.BinarySearch(out, int32(i)); loop || !slices.Equal(out, in) {
			return false
		}
	}
	return true
}

// loadTimes reads when each node came; data without the file do not say it.
func (d *Dataset) loadTimes(dir string) error {
	return readJSON(dir, timesFile, &d.Times, func() error {
		if len(d.Times) != d.Nodes() {
			return fmt.Errorf("%d times of %d nodes", len(d.Times), d.Nodes())
		}
		return nil
	})
}

// readJSON reads a file of one JSON value into value, and calls use if the file is there. Errors name the file.
func readJSON(dir, name string, value any, use func() error) error {
	if _, err := os.Lstat(filepath.Join(dir, name)); file.Missing(err) {
		return nil
	}
	return file.Read(dir, name, maxJSONBytes, func(f *os.File, _ int64) error {
		decoder := json.NewDecoder(bufio.NewReader(f))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(value); err != nil {
			return err
		}
		if decoder.More() {
			return errors.New("content behind the JSON value")
		}
		return use()
	})
}
