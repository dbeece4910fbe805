// Package table reads two tables, one of nodes and one of edges, row by row. A caller that needs a whole graph keeps
// the rows (package dataset); a caller with more edges than memory passes them on (the engines disk and Spark).
//
//	s, err := table.NewStream(name, nodes, edges, settings, positional)
//	err = s.EachNode(func(n table.Node) error { … })
//	err = s.EachEdge(func(e table.Edge) error { … })
//
// Rows mean the same in both ways: an id that a program has written as a float (17.0) is 17 wherever it is read, and a
// mask is the same role. [NewStream] therefore reads the table of nodes once before the first row: it sees how ids,
// labels and roles are written, and which types features with names have.
//
// # Files
//
//	settings.go     Settings: where the tables are, and their columns' meaning; data.yaml
//	conventions.go  the names that columns have in exports of PyG, DGL, GraphStorm, Neptune, Neo4j, Gephi and SNAP
//	inventory.go    the files of a directory: which are tables, and what their columns may be
//	find.go         Find: a guess at the settings of these tables, and questions
//	trend.go        numbers that rise like a clock, are times or count rows
//	sources.go      several tables as one; ids with types, labels and degrees that a table does not have
//	python.go       what reads the files that this program does not read
//	columns.go      finding the columns of id, label, ends and features
//	split.go        finding the columns of the split: one column, or a mask for each role
//	role.go         the role that a value stands for; the order of classes
//	files.go        files of one table: directories, parts and partitions, columns in another order; addresses that only
//	                Spark reads
//	extend.go       files with other names of columns, and with columns that follow from a row's first cell
//	types.go        tables of nodes of several types as one table
//	cell.go         one value of a row, as a number, bool, time or text
//	labels.go       several labels in one cell, or in columns
//	survey.go       a first look at a column's values: its type, and how names are written
//	column.go       the values of a feature with a name
//	rows.go         NodeReader, EdgeReader: a row's cells become a node or an edge
//	stream.go       Stream: all rows of both tables
//	long.go         features in a table of their own, a row for each that is not 0
//	faults.go       faults of rows, counted for a report
package table
