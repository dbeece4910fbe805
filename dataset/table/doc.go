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
package table
