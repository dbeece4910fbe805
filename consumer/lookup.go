package consumer

import (
	"context"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/internal/hashtable"
)

// neighbours holds the rows of M of a batch's neighbours: as rows, or as numbers of rows.
type neighbours struct {
	// rows[i]: rows of the neighbours of arrival i, in the order of its edges; none where numbers is used
	rows [][]attach.Row
	// with [PipelineOptions.Arrivals], per arrival: its id is a node of T, or that could not be read
	inT     []bool
	arrived []int // per arrival: how many of its neighbours are earlier arrivals with rows
	// ids are the distinct ids of all edges, and of arrivals that get rows; with numbers, one id per edge
	ids    []string
	unread bool // the row of one of ids could not be read
	old    int  // edges of their own between two nodes of T

	m       *attach.PackedRows // the rows that numbers counts; nil where rows is used
	numbers []uint32           // row number per edge, arrival by arrival; 0: unknown neighbour
	ends    []int32            // ends[i]: end of arrival i's edges in numbers

	standing map[string]int32 // id -> the batch's arrival that is its row of ã; empty where arrivals see no other
	within   []int32          // per distinct id: that arrival, -1 if there is none
	place    hashtable.List   // finds ids
	at       []int32          // positions in ids of all edges, arrival by arrival
	original []attach.Row     // original[k] is the row of ids[k] as a node of T
	edgeRows []attach.Row     // memory for rows
	earlier  earlier
}

// lookup finds the rows of M of every neighbour of the batch. It takes only their numbers if M is in memory and the
// batch needs nothing of them but r.
func (p *Pipeline) lookup(ctx context.Context, out *neighbours, version Version, in *decodedBatch) (err error) {
	if out.old, err = countOldEdges(ctx, in.unmatched, version); err != nil {
		return err
	}
	info := version.Info()
	if !p.Arrivals && p.Output.Explain == 0 && info.Slots.Plain() &&
		version.Numbers(nil, nil) != nil {
		out.stand(in.arrivals, p.Mode)
		out.number(version, in.arrivals)
		return nil
	}
	return p.lookupRows(ctx, out, version, in)
}

// number finds the numbers of rows. An id that several arrivals name is looked up for each of them: that is cheaper
// than finding out.
func (n *neighbours) number(version Version, arrivals []*slot) {
	n.begin(len(arrivals))
	n.ids, n.ends = n.ids[:0], n.ends[:0]
	for _, s := range arrivals {
		n.ids = append(n.ids, s.arrival.Edges...)
		n.ends = append(n.ends, int32(len(n.ids)))
	}
	n.numbers = sized(n.numbers, len(n.ids))
	n.m = version.Numbers(n.ids, n.numbers)
}

// shed drops the ids.
func (n *neighbours) shed() {
	clear(n.ids)
	clear(n.standing)
	clear(n.earlier.asked)
}

// begin forgets the batch before and makes room for so many arrivals.
func (n *neighbours) begin(arrivals int) {
	n.m, n.rows, n.unread = nil, n.rows[:0], false
	n.inT, n.arrived = zeroed(n.inT, arrivals), zeroed(n.arrived, arrivals)
}

// stand notes which arrival has an id in ã: of two arrivals with one id the later.
func (n *neighbours) stand(arrivals []*slot, mode *attach.Mode) {
	clear(n.standing)
	if mode.Repeatable() {
		return
	}
	if n.standing == nil {
		n.standing = make(map[string]int32)
	}
	for i, s := range arrivals {
		n.standing[s.arrival.ID] = int32(i)
	}
}

// sees reports whether arrival i's edges to the id at place k of ids are in ã.
func (n *neighbours) sees(mode *attach.Mode, i int, k int32) bool {
	return n.within[k] >= 0 && mode.Sees(i, int(n.within[k]))
}

// known reports whether the neighbour at place e of arrival i's edges is a node with a row, as the batch is attached.
func (n *neighbours) known(i, e int) bool {
	if n.m == nil {
		return n.rows[i][e].Known
	}
	if i > 0 {
		e += int(n.ends[i-1])
	}
	return n.numbers[e] != 0
}

// lookupRows asks for the rows of M of every neighbour of the batch, each distinct id once.
func (p *Pipeline) lookupRows(ctx context.Context, out *neighbours, version Version, in *decodedBatch) error {
	out.stand(in.arrivals, p.Mode)
	listed := out.gather(in.arrivals)
	out.within = sized(out.within, listed)
	for k, id := range out.ids {
		out.within[k] = -1
		if j, arrived := out.standing[id]; arrived {
			out.within[k] = j
		}
	}
	if p.Arrivals {
		out.addOwn(in.arrivals)
	}
	out.begin(len(in.arrivals))
	out.original = zeroed(out.original, len(out.ids))
	if len(out.ids) > 0 {
		if err := graph.Idle(func() error { return version.Rows(ctx, out.ids, out.original) }); err != nil {
			return err
		}
	}
	distinct := out.original
	if p.Arrivals && len(in.arrivals) > 0 {
		var err error
		if distinct, err = p.meet(ctx, out, version.Growth(), in.arrivals, out.ids[:listed]); err != nil {
			return err
		}
	}
	out.unread = anyUnread(distinct)
	out.spread(in.arrivals, distinct, p.Mode)
	return nil
}

// gather lists the distinct ids of all edges, and returns how many they are.
func (n *neighbours) gather(arrivals []*slot) int {
	edges := 0
	for _, s := range arrivals {
		edges += len(s.arrival.Edges)
	}
	n.place.Reset(edges + len(arrivals))
	n.ids, n.at = n.ids[:0], n.at[:0]
	for _, s := range arrivals {
		for _, id := range s.arrival.Edges {
			n.at = append(n.at, n.add(id))
		}
	}
	return len(n.ids)
}

// add returns the position of an id in ids, where it is put if it is not there.
func (n *neighbours) add(id string) int32 {
	k, there := n.place.Place(n.ids, id)
	if !there {
		n.ids = append(n.ids, id)
	}
	return int32(k)
}

// spread lays out the rows of the distinct ids arrival by arrival, and counts the rows of earlier arrivals. An arrival
// that sees a neighbour in the batch does not get that neighbour's earlier row.
func (n *neighbours) spread(arrivals []*slot, distinct []attach.Row, mode *attach.Mode) {
	n.edgeRows = sized(n.edgeRows, len(n.at))
	n.rows = sized(n.rows, len(arrivals))
	rest, at := n.edgeRows, n.at
	for i, s := range arrivals {
		edges := len(s.arrival.Edges)
		for e, k := range at[:edges] {
			if rest[e] = distinct[k]; rest[e].Arrived {
				if n.sees(mode, i, k) {
					rest[e] = n.original[k]
					continue
				}
				n.arrived[i]++
			}
		}
		n.rows[i], rest, at = rest[:edges:edges], rest[edges:], at[edges:]
	}
}
