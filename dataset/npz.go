package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/graphsaint"
	"rivulet/dataset/numpy"
	"rivulet/dataset/table"
	"rivulet/graph"
)

var npzFormat = Format{
	Name:  GNNBenchmark,
	Looks: "a file .npz with adj_data or edges, and labels, or a directory with one file .npz that holds them",
	Found: func(path string) bool {
		npz, err := npzFile(path)
		if err != nil {
			return errors.Is(err, errSeveral)
		}
		found := false
		err = file.Read(filepath.Dir(npz), filepath.Base(npz), file.MaxBytes, func(f *os.File, size int64) error {
			z, err := numpy.OpenArchive(f, size, file.MaxBytes)
			found = err == nil && isGraph(z)
			return nil
		})
		return found || err != nil && npz == path // Read names the fault
	},
	Read: func(path string, o OpenOptions) (*Dataset, error) {
		npz, err := npzFile(path)
		if err != nil {
			return nil, err
		}
		d := &Dataset{Name: strings.TrimSuffix(filepath.Base(npz), ".npz")}
		return d, file.Read(filepath.Dir(npz), filepath.Base(npz), file.MaxBytes, func(f *os.File, size int64) error {
			z, err := numpy.OpenArchive(f, size, file.MaxBytes)
			if err != nil {
				return err
			}
			return d.readArchive(z, o)
		})
	},
}

// npzFile returns path, or the one npz file in it. A directory in GraphSAINT layout is not of this format.
func npzFile(path string) (string, error) {
	if strings.HasSuffix(path, ".npz") {
		return path, nil
	}
	found, err := file.Glob(path, "*.npz")
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 || hasFile(adjFile)(path):
		return "", errors.New("there is no file .npz")
	case len(found) > 1:
		return "", fmt.Errorf("%w: give %s, or another, as the path", errSeveral, found[0])
	}
	return found[0], nil
}

// The names that the parts of a set have in archives of several origins: Shchur et al., "Pitfalls of Graph Neural
// Network Evaluation" (2018) and its successors, GraphData, Platonov et al.'s heterophilous graphs, and people's own
// archives of PyTorch Geometric's Data.
var (
	npzAdjacency    = []string{"adj_", "adj_matrix."} // of SciPy's arrays: adj_data, adj_indices, …
	npzEdges        = []string{"edges", "edge_index"}
	npzSparse       = []string{"attr_", "attr_matrix.", "node_attr."}
	npzDense        = []string{"attr_matrix", "node_attr", "node_features", "features", "x"}
	npzLabels       = []string{"labels", "node_labels", "node_label", "label", "y"}
	npzMasks        = []string{"train", "val", "test"} // train_mask or train_masks, …
	npzObjects      = []string{"adj_matrix", "node_attr", "attr_matrix"}
	errSavedObjects = errors.New("it holds Python objects, which this program does not run: save a SciPy matrix m as " +
		"np.savez(file, adj_data=m.data, adj_indices=m.indices, adj_indptr=m.indptr, adj_shape=m.shape, …), and features " +
		"as attr_data, …")
)

// named returns the first name under which the archive has an array, with a suffix; "" if there is none.
func named(z *numpy.Archive, names []string, suffix string) string {
	for _, name := range names {
		if z.Has(name + suffix) {
			return name
		}
	}
	return ""
}

// isGraph reports whether an archive seems to hold a whole set.
func isGraph(z *numpy.Archive) bool {
	return named(z, npzLabels, "") != "" &&
		(named(z, npzAdjacency, "data") != "" || named(z, npzEdges, "") != "" || z.Has("adj_matrix"))
}

// readArchive reads a whole set from one archive:
//
//	adj_data, adj_indices, adj_indptr, adj_shape       CSR adjacency, each edge once or twice; or
//	edges                                              m×2 or 2×m indices of nodes
//	attr_data, attr_indices, attr_indptr, attr_shape   CSR features; or attr_matrix, dense
//	labels                                             class of each node as an integer; -1: none
//	train_masks, val_masks, test_masks                 optional: bools of the nodes; of k×n the first is read
//	class_names, node_names                            optional lists of strings
//
// The graph is taken as undirected, as the authors of these sets take it. Without masks a split is drawn.
func (d *Dataset) readArchive(z *numpy.Archive, o OpenOptions) error {
	for _, name := range npzObjects {
		err := z.Read(name, func(*numpy.Array) error { return nil })
		if errors.Is(err, numpy.ErrElementType) {
			return fmt.Errorf("array %s: %w", name, errSavedObjects)
		}
	}
	edges := named(z, npzEdges, "")
	if edges == "" {
		prefix := cmp.Or(named(z, npzAdjacency, "data"), npzAdjacency[0])
		adj, err := numpy.ReadCompressed(z.Prefixed(prefix), false)
		if err == nil {
			err = numpy.CheckSquare(adj, prefix)
		}
		if err != nil {
			return err
		}
		d.Adj = adj
		if err := d.makeUndirected(o.Tables); err != nil {
			return err
		}
	} else if o.Tables.Weight != "" {
		return fmt.Errorf("array %s has no weights for --weight %s", edges, arrayOfWeights)
	}
	if err := d.readAttributes(z); err != nil {
		return err
	}
	if edges != "" {
		read := func(a *numpy.Array) error { return d.readEdges(a, o.Tables) }
		if err := z.Read(edges, read); err != nil {
			return err
		}
	}
	labels, classes := cmp.Or(named(z, npzLabels, ""), npzLabels[0]), 0
	err := z.Read(labels, func(a *numpy.Array) (err error) {
		d.Labels, classes, err = decodeLabels(a, d.Nodes())
		return err
	})
	if err != nil {
		return err
	}
	if d.IDs, err = d.names(z, "node_names", d.Nodes()); err != nil {
		return err
	}
	if d.Classes, err = d.names(z, "class_names", classes); err != nil {
		return err
	}
	if !z.Has(npzMasks[0]+"_mask") && !z.Has(npzMasks[0]+"_masks") {
		return d.drawSplit(o.SplitSeed)
	}
	return d.readMasks(z)
}

// readEdges reads the indices of the ends of edges, m×2 or 2×m; 2×2 is 2 edges, each a row.
func (d *Dataset) readEdges(a *numpy.Array, t table.Settings) error {
	if len(a.Shape) != 2 || a.Shape[0] != 2 && a.Shape[1] != 2 {
		return fmt.Errorf("shape %v, want edges×2 or 2×edges", a.Shape)
	}
	n, columns, loops := d.X.Rows(), a.Shape[1] == 2, 0
	edges := make([][2]int32, a.Count/2)
	err := a.Ints(func(k int, v int64) error {
		i, j := a.Position(k)
		if v < 0 || v >= int64(n) {
			return fmt.Errorf("[%d, %d] is %d, outside 0…%d", i, j, v, n-1)
		}
		if !columns {
			i, j = j, i
		}
		edges[i][j] = int32(v)
		return nil
	})
	if err != nil {
		return err
	}
	edges = slices.DeleteFunc(edges, func(e [2]int32) bool {
		if e[0] == e[1] {
			loops++
		}
		return e[0] == e[1]
	})
	d.Adj = undirected(d, n, edges, loops)
	if t.Directed {
		return d.keepRelations(n, edges, nil, t)
	}
	return nil
}

// readMasks reads the roles: one bool a node, or several splits of them; the first one counts. Nodes in no mask are
// unlabelled.
func (d *Dataset) readMasks(z *numpy.Archive) error {
	in := make([]string, d.Nodes())
	for k, role := range npzMasks {
		name := role + "_masks"
		if !z.Has(name) {
			name = role + "_mask"
		}
		err := z.Read(name, func(a *numpy.Array) error {
			splits := a.Count / len(in)
			if a.Count%len(in) != 0 || splits == 0 || len(a.Shape) > 2 ||
				a.Shape[0] != len(in) && a.Shape[len(a.Shape)-1] != len(in) {
				return fmt.Errorf("shape %v, want a bool for each of %d nodes, or several splits of them", a.Shape, len(in))
			}
			if k == 0 && splits > 1 {
				d.note("The masks are %d splits: the first one is read.", splits)
			}
			return a.Floats(func(k int, v float32) error {
				i, split := k, 0
				if len(a.Shape) == 2 {
					if split, i = a.Position(k); a.Shape[1] != len(in) {
						i, split = split, i
					}
				}
				switch {
				case split > 0 || v == 0:
				case v != 1 || in[i] != "":
					return fmt.Errorf("node %d: it is %v, and the node is in %q; want a bool, and each node in one mask", i, v, in[i])
				case d.Labels[i] < 0:
					return fmt.Errorf("node %d has no class, but a %s node needs one", i, role)
				default:
					in[i] = role
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	for i, role := range in {
		if role == "" {
			in[i], d.Labels[i] = "unlabelled", -1
		}
	}
	return d.takeRoles(in)
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

func (d *Dataset) readAttributes(z *numpy.Archive) (err error) {
	last := named(z, npzDense, "")
	if last != "" {
		err = z.Read(last, func(a *numpy.Array) (err error) {
			d.X.Dense, err = numpy.ReadDense(a)
			return err
		})
	} else {
		prefix := cmp.Or(named(z, npzSparse, "data"), npzSparse[0])
		last, d.BagOfWords = prefix+"shape", true
		d.X.Sparse, err = numpy.ReadCompressed(z.Prefixed(prefix), false)
	}
	if err != nil || d.Adj == nil {
		return err
	}
	if err := d.checkFeatureRows(); err != nil {
		return fmt.Errorf("array %s: %w", last, err)
	}
	return nil
}

// decodeLabels reads classes 0…C-1, which must all occur, and -1 for none.
func decodeLabels(a *numpy.Array, nodes int) (labels []int32, classes int, err error) {
	if a.Count != nodes {
		return nil, 0, fmt.Errorf("shape %v, want a class for each of %d nodes", a.Shape, nodes)
	}
	labels = make([]int32, nodes)
	err = a.Ints(func(k int, v int64) error {
		if v < -1 || v >= int64(nodes) {
			return fmt.Errorf("[%d] is %d, outside -1…%d", k, v, nodes-1)
		}
		labels[k] = int32(v)
		classes = max(classes, int(v)+1)
		return nil
	})
	if err == nil {
		err = CheckContiguous(labels, classes)
	}
	return labels, classes, err
}

// names reads an optional list of n distinct names. If it is missing, or of Python objects, the names are indices.
func (d *Dataset) names(z *numpy.Archive, list string, n int) ([]string, error) {
	if !z.Has(list) {
		return Decimals(n), nil
	}
	var names []string
	err := z.Read(list, func(a *numpy.Array) (err error) {
		if numpy.Elements(a) != n {
			return fmt.Errorf("shape %v, want %d names", a.Shape, n)
		}
		if names, err = a.Texts(); err != nil {
			return err
		}
		return graphsaint.CheckNames(names, n)
	})
	if errors.Is(err, numpy.ErrElementType) {
		d.note("%s are Python objects and were ignored: their indices are used instead.", list)
		return Decimals(n), nil
	}
	return names, err
}
