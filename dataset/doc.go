// Package dataset reads, checks, generates and writes whole graphs, and cuts them for the inductive setting: the
// original graph T that is condensed, and the nodes that arrive later.
//
// # Formats
//
// [Open] reads a data set of any of these formats, recognised by the names of its files or chosen by name:
//
//	graphsaint      the directory that [Open] and [Dataset.Save] know, below
//	csv             tables of nodes and edges
//	parquet         the same tables; package dataset/parquet, a program must ask for it
//	tables          a file data.yaml that names such tables and the roles of their columns ([Tables])
//
// Graphs in other layouts become one of these by rivulet_mcond.export, which reads them by the loaders of PyTorch
// Geometric, OGB and DGL.
//
// Whatever the format, errors name the file and the place in it, and the result keeps every promise of [Dataset]. Files
// that people write by hand are read tolerantly if their meaning is clear: edges stand in one direction or both and
// more than once, and self-loops are dropped. Notes name the changes.
//
// # Tables
//
// The csv format is a directory with nodes.csv and edges.csv, or directories nodes and edges with any number of
// such files of one header, read by name; each may be compressed (.csv.gz, .csv.zst, at most 64 MiB and 200
// times its size).
//
//	id,age,income,label,split          source,target
//	anna,31,52e3,buyer,train           anna,bob
//	bob,28,48.5,visitor,val            bob,carla
//	carla,45,71000,,unlabelled         carla,anna
//
//	id         any text, distinct
//	label      the class by name; empty: none. Classes are numbered in the order of their names, which is numerical if
//	           all are integers. Train, val and test nodes need one; an unlabelled node's label is dropped
//	split      train, val, test, unlabelled; tr, va, te, un, training, valid, validation and unlabeled are the same;
//	           empty or none: in no role. Without the column masks say the roles: train_mask, val_mask and test_mask, or
//	           the names that other programs give them; nodes in none of them are unlabelled. Else a split is drawn, see
//	           [Open]
//	features   a list: numbers between spaces, commas or semicolons, in brackets or not; or else
//	others     every other column of nodes is one feature, in their order. With a column features others are ignored
//	source, target   ids of nodes, in either direction; a column weight is their weight; others are ignored
//
// Names of columns are as written here, in any order, unless [Tables] say others. Directories KEY=VALUE of a table are
// its partitions, and a column each. An edge list of SNAP or NetworkX, which has comments for names or none, is a table
// of edges, too. Features may also be in a table of their own, node, feature and value, which data.yaml names.
//
// If all features are numbers, and [Tables] say nothing, they have positions: X is dense. Otherwise they have names and
// types: Columns, from which a schema makes X. The files are then read twice. The first reading finds the type of each
// column by all of its values: number, bool, time or list if every value that is not missing is one, else text. Columns
// that are mostly of one type are refused with the place of the first other value; so are decimal commas and ambiguous
// dates, unless [Tables] say how to read them. Ids, labels and splits that a program has read as floats (17.0, 1e+05)
// are the integers that they were. A node without label and split is then unlabelled. Columns that hold the row numbers
// of pandas are refused. docs/data.md has the whole table.
//
// A feature above 1e15 is refused, because a consumer refuses it, and so is a column whose values differ only in digits
// that float32 does not keep. Labels that are hardly classes, such as a name for each node, are refused, or Suspects.
//
// # The GraphSAINT layout
//
// [Open] reads and [Dataset.Save] writes a directory in the layout of the GraphSAINT data sets:
//
//	adj_full.npz    n×n SciPy CSR; edges get their other direction, self-loops are dropped, and weights, too,
//	                unless --weight data keeps them,
//	                and a note counts each
//	feats.npz       n×d SciPy CSR: a bag of words, or
//	feats.npy       n×d dense array, C or Fortran order; exactly one of the two
//	class_map.json  {"0": 3, "1": 0, …}: node index -> class as an int, a text, or a one-hot list; lists of 0
//	                and 1 are labels where one of them has several ones
//	role.json       {"tr": […], "va": […], "te": […], "un": […]}: disjoint lists of node indices
//
// npz entries may be deflated or stored. Indices are of any integer type, values bool, integers, float32 or
// float64: they are rounded once, to float32. A node's id is its index in decimal, and so is the name of a class,
// unless the lists node_ids.json and class_names.json are there, which Save adds if ids or names differ from the
// indices. Every tr, va and te node needs a class; the class of an un node is dropped. Nodes in no role are
// allowed and left alone. Other files of the layout (adj_train.npz) follow from these and are not read.
// merged.json is there if arrivals were merged into the data: edges to ids that have not arrived yet, and nodes
// whose class came from a label ([graphsaint.Ends]). It also says what edges and labels are where they are not plain:
// weights (the entries of adj_full.npz), types and directions (relations.npz, [A_1 | … | A_R] of [graph.InSlots]),
// a task of labels, of numbers (targets.npy, nodes×outputs) or of links, and types of nodes. schema.json is there if
// the features were made of named columns, and columns.json has those columns: name, type and the value of each node.
// Sparse features are no bag of words then.
//
// Before memory is taken for an array, its shape is compared with the size of the file or of the zip entry, which may
// have 4 GiB; a file that is cut short is an error. Everything that a [Dataset] promises is checked: CSR structure,
// ranges, duplicates, NaN and infinities, classes, roles. A web page or a Git LFS pointer is called that. An error
// names the file, its array and the reason:
//
//	loading data set cora: adj_full.npz: array indices: row 7 lists 3 columns, 2 of them distinct
//
// # The inductive split
//
//	T = (A, X, Y)   tr and un nodes and the edges among them: [Dataset.Original]; N nodes
//	a, ã, x         a batch of va or te nodes: n×N edges to T, n×n edges among itself, n×d features: [Dataset.Attach]
//
// va are the support nodes, te the arrivals. Labels of un nodes are unknown and -1. [Dataset.Neighbours] lists all
// neighbours of a node by id, also those that a deployment will not know: they are the edges that an arrival
// brings. [Dataset.Fingerprint] names the data by content; an artifact records the fingerprint of its training data.
package dataset
