package merge

import (
	"cmp"
	"slices"

	"rivulet/dataset/graphsaint"
)

// edge is an edge between two nodes.
type edge struct {
	from, to int32
	of       property
	weight   float32 // 1 where edges have none
	listed   bool    // in the list of the arrival from: it goes with that arrival
}

// turned returns the same edge from its other end.
func (f form) turned(e edge) edge {
	e.from, e.to = e.to, e.from
	if f.slots.Directed {
		e.of ^= 1
	}
	return e
}

// ends identify an edge. Two edges with other weights are the same one; with other types or directions they are not.
type ends struct {
	from, to int32
	of       property
}

func (e *edge) ends() ends { return ends{e.from, e.to, e.of} }

// match returns the edges that the graph does not have, each once and with its largest weight, those of the graph that
// have a larger weight now, and the edges that wait for an id.
func (m *Merger) match() (fresh []edge, waiting []edge) {
	w := queue{places: map[ends]int{}}
	for k, e := range m.edges {
		from, to := &m.nodes[e.from], &m.nodes[e.to]
		switch {
		case e.listed && from.gone:
		case from.lost() || to.lost():
			m.Report.RemovedEdges++
		case from.known && to.known:
			if k < m.waited {
				m.Report.WaitedEdges++
			}
			if e.from > e.to {
				e = m.form.turned(e)
			}
			fresh = append(fresh, e)
		default:
			if k >= m.waited {
				m.Report.UnknownEdges++
			}
			if to.known || !from.known && to.id < from.id { // the end that is known is the first, or the lesser id
				e = m.form.turned(e)
			}
			w.put(e, k < m.waited)
		}
	}
	return m.fresh(fresh), w.latest(m.MaxWaiting, &m.Report)
}

// lost reports whether no edge leads to the node: it was forgotten, or its id was and has not arrived again.
func (n *node) lost() bool { return n.gone || n.again && !n.known }

// fresh leaves out edges that come again and those that T has, and counts the others. The edges of a node in no role
// that has arrived are new in T.
func (m *Merger) fresh(edges []edge) []edge {
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.of, b.of),
			cmp.Compare(b.weight, a.weight))
	})
	edges = slices.CompactFunc(edges, func(a, b edge) bool { return a.ends() == b.ends() })
	return slices.DeleteFunc(edges, func(e edge) bool {
		if m.before(e.from) && m.before(e.to) {
			was, is := m.form.find(m.base, e)
			switch {
			case is && e.weight <= was:
				return true
			case is:
				m.Report.Heavier++
				return false
			}
			m.Report.OldEdges++
		}
		m.Report.Edges++
		return false
	})
}

// before reports whether a node is the graph's, and not an arrival that takes its place.
func (m *Merger) before(i int32) bool { return int(i) < len(m.base.IDs) && !m.nodes[i].arrived }

// queue has the edges that wait for an id, in the order in which they came. One that comes again waits once, with the
// larger of its weights.
type queue struct {
	edges  []edge
	before []float32 // weights of the edges of earlier merges
	places map[ends]int
}

func (q *queue) put(e edge, before bool) {
	of := e.ends()
	at, is := q.places[of]
	if !is {
		at = len(q.edges)
		q.places[of], q.edges = at, append(q.edges, e)
		if before {
			q.before = append(q.before, e.weight)
		}
	}
	q.edges[at].weight = max(q.edges[at].weight, e.weight)
	if before {
		q.before[at] = max(q.before[at], e.weight)
	}
}

// latest returns at most so many edges, the latest ones, and counts what became of the others.
func (q *queue) latest(most int, r *Report) []edge {
	for k, was := range q.before {
		if q.edges[k].weight > was {
			r.Heavier++
		}
	}
	over := max(0, len(q.edges)-most)
	r.ForgottenEdges, r.WaitingEdges = over, len(q.edges)-over
	r.NewWaiting = min(len(q.edges)-len(q.before), r.WaitingEdges)
	return q.edges[over:]
}

// open returns the edges that wait as the data set keeps them. number has the nodes of the data set.
func (m *Merger) open(waiting []edge, number []int32) (open []graphsaint.Waiting) {
	for _, e := range waiting {
		open = append(open, m.form.waiting(number[e.from], m.nodes[e.from].id, m.nodes[e.to].id, e))
	}
	return open
}
