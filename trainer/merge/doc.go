// Package merge merges arrivals and labels into the graph that a model is trained on, so that the next artifact knows
// them.
//
//	m := merge.New(data)
//	m.Arrival(&a)           // each arrival of the stream, in its order
//	m.Label(&l)             // each label, before or after its arrival
//	grown, report := m.Dataset()
//
// The outcome of an arrival:
//
//	its id is new                    it joins T: as a training node if its class is known, else as an unlabelled one
//	                                 (its features and edges count, like those of all nodes of T; it has no class)
//	…of a node in no role            the same, with the features that arrived
//	…of a node of T                  nothing: the node of T stays (counted)
//	…of a validation or test node    nothing: these nodes must not be trained on (counted)
//	…of an earlier arrival           the later one replaces it with features and edges (counted)
//
// Edges have no direction: two arrivals are joined if either lists the other. Edges to ids that are neither in the
// data nor among the arrivals are left out and counted, and so are self-edges. Edges to validation and test nodes are
// kept: these nodes then meet the arrival as a neighbour, as they would on the stream.
//
// A label makes an arrival, or an unlabelled node of T, a training node. The class of a node that has one stays, and
// a label with another class is counted; labels of validation and test nodes are left alone. Of two labels of a node
// the later one is used, see [event.Label]. Classes keep their names and order: a label of a class that the data do
// not have is counted, and its node stays without a class.
//
// The same arrivals and labels in the same order give the same data set. Nodes of the data keep their indices; new
// ones come after them, in the order in which their ids first arrived.
package merge
