package merge

import "rivulet/event"

// role is the role of a node, as far as merging goes.
type role uint8

const (
	none role = iota
	train
	unlabelled
	heldOut // validation or test
)

// node is a node of the graph, an arrival, or an id that an edge names. A forgotten one stays where it is, and another
// node may have its id.
type node struct {
	id       string
	features *event.Features // of the arrival that gives them; nil: they are the graph's
	answer   int32           // the number of its class or of its row of labels or numbers; -1: it has none
	role     role
	known    bool // the graph has it, or it has arrived
	arrived  bool // it has joined T as one of these arrivals
	updated  bool // its features are those of a later arrival
	labelled bool // its answer came from a label
	relabel  bool // its answer has changed
	again    bool // its id was forgotten before: edges do not wait for it, as the graph would keep the id with them
	gone     bool // it was forgotten
}

// arrive counts an arrival with the id of the node, and reports whether it joins T, as an unlabelled node.
func (n *node) arrive(r *Report) bool {
	switch {
	case n.arrived:
		r.Again++
	case n.role == train || n.role == unlabelled:
		r.InT++
	case n.role == heldOut:
		r.HeldOut++
	default:
		n.role, n.answer, n.known, n.arrived, n.relabel = unlabelled, -1, true, true, true
		r.Joined++
		return true
	}
	return false
}

// forget takes the node, or an arrival that has joined T, back, and counts it.
func (n *node) forget(inGraph bool, r *Report) {
	if n.arrived {
		r.Joined--
	}
	if n.updated {
		r.Updated--
	}
	if inGraph {
		r.Removed++
	}
	if n.arrived || inGraph {
		r.Forgotten++
	}
	*n = node{id: n.id, answer: -1, gone: true}
}

// label gives the node the answer of its latest label, once all arrivals are known, and counts the outcome.
func (n *node) label(answer int32, r *Report) {
	switch n.role {
	case heldOut:
		r.LabelHeldOut++
	case none: // not in T, and it did not arrive
		r.LabelUnknown++
	case train:
		switch {
		case n.answer == answer:
		case n.labelled:
			n.answer, n.relabel = answer, true
			r.Relabelled++
		default:
			r.LabelConflict++
		}
	case unlabelled:
		n.role, n.answer, n.labelled, n.relabel = train, answer, true, true
		if n.arrived {
			r.Labelled++
		} else {
			r.NewLabels++
		}
	}
}
