// Package merge merges arrivals and labels into the graph that a model is trained on, so that the next artifact knows
// them.
//
//	m := merge.New(graph)                     // a data set
//	err := m.Arrival(&a)                      // each arrival of the stream, in its order
//	m.Edge(&e)                                // each edge that came as a record of its own, in the same order
//	m.Forget(id)                              // each id that is to be forgotten, among the arrivals in their order
//	m.Label(&l)                               // each label, before or after its arrival
//	grown, report, err := m.Grow(ctx, false)
//
// # Rules
//
//	the arrival's id is new          it joins T: as a training node if its class is known, else as an unlabelled one
//	                                 (its features and edges count, as of all nodes of T; it has no class)
//	…of a node in no role            the same, with the features that arrived
//	…of a node of T                  nothing: the node of T stays (counted)
//	…of a validation or test node    nothing: these nodes must not be trained on (counted)
//	…of an earlier arrival           nothing: the first one stays, as it would in T (counted)
//	…of any of the last three        its features become the node's, with [Merger.UpdateFeatures]
//
// Two arrivals are joined if either lists the other, or if an edge of its own names both. An edge that comes several
// times is one edge, with its largest weight where edges have weights, because that does not depend on where rounds are
// cut; entries of one list for the same neighbour are added up before, as rows of a table are. Where the graph's edges
// have types or directions, edges of other types or directions are other edges. Types keep their names: an edge of
// another type is counted, and left out. An edge of its own may also join two nodes that the graph had, or come before
// both of its ends. Self-edges and repeated ones are left out and counted. Edges to validation and test nodes are kept:
// these nodes then meet the arrival as a neighbour, as they would on the stream. Edges to ids that are neither in the
// graph nor among the arrivals wait until the id arrives, at most [Merger.MaxWaiting] of them: beyond that the oldest
// are forgotten (counted).
//
// A label makes an arrival, or an unlabelled node of T, a training node. The class that a node had before any arrivals
// stays, and a label with another class is counted; labels of validation and test nodes are left alone. Of two labels
// of a node the later one is used, see [event.Label], and a class that came from a label gives way to a later label's.
// Classes keep their names and order: a label of a class that the graph does not have is counted, and its node stays
// without a class. Where a node has several labels or numbers, a label says all of them ("red;blue", "2.5;7"). A task
// of links trains on all nodes of T, and reads no labels. Where nodes are of several types, arrivals say theirs as the
// feature that names it, and one by position is refused.
//
// An id that is forgotten ([Merger.Forget]) leaves the graph with its edges, whatever its role was, and so does its
// arrival before that. An edge that names it is left out and does not wait for it. A later arrival with the id is
// another node, and edges of arrivals that came after the forgetting lead to it.
//
// The same arrivals and labels in the same order give the same graph, in however many rounds they come, if each round
// is given all labels so far and no more edges wait than may. Nodes of the graph keep their order; new ones come after
// them, in the order in which their ids first arrived.
//
// A node in no role is a known end of an edge, and an arrival with its id takes its place.
//
// # How
//
// All of it is in memory, beside the graph that it is merged into. A merger has one list of nodes: those of the graph,
// in their order, and every other id that a record has named. A map leads from an id to its node, and an edge is a pair
// of nodes, whether they have arrived or not. An arrival decides at once whether it joins T. To forget an id takes its
// node out of the map: what named the id before keeps the node that is gone, and what names it later gets another.
//
// Grow gives nodes their labels, puts each edge to those that are new, that the graph has already or that wait, and
// assembles the data set: the nodes that it had, then the arrivals that joined, with all edges.
package merge
