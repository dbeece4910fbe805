// Package merge merges arrivals and labels into the graph that a model is trained on, so that the
// next artifact knows them.
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
//	…of an earlier arrival           nothing: the first one stays, as it would in T (counted)
//
// Edges have no direction: two arrivals are joined if either lists the other. Self-edges and repeated ones are
// left out and counted. Edges to validation and test nodes are kept: these nodes then meet the arrival as a
// neighbour, as they would on the stream. Edges to ids that are neither in the data nor among the arrivals wait
// in [dataset.Merged] until the id arrives, at most [Merger.MaxWaiting] of them: beyond that those that came
// first are forgotten (counted).
//
// A label makes an arrival, or an unlabelled node of T, a training node. The class that a node had before any
// arrivals stays, and a label with another class is counted; labels of validation and test nodes are left alone. Of
// two labels of a node the later one is used, see [event.Label], and a class that came from a label gives way to
// that of a later one. Classes keep their names and order: a label of a class that the data do not have is counted,
// and its node stays without a class.
//
// The same arrivals and labels in the same order give the same data set, in how many parts they may come, if all
// labels so far are given each time and no more edges wait than may: what is merged into the data of an earlier
// merge goes on where that one ended. Nodes of the data keep their indices; new ones come after them, in the order
// in which their ids first arrived.
package merge
