package preflight

import (
	"fmt"

	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/replay"
)

// Limits looks for nodes that consumers with these limits would refuse. Nodes that no setting lets through are an
// error. Others are warnings, one for each kind, with a node and the setting to change: held-out nodes that have too
// many edges or too large a record, and nodes of any role whose id is too long, as arrivals name their neighbours.
func Limits(d *dataset.Dataset, l event.Limits) (warnings []string, err error) {
	arrives := make([]bool, d.Nodes())
	for _, nodes := range [][]int32{d.Validation, d.Test, d.Withheld()} {
		for _, i := range nodes {
			arrives[i] = true
		}
	}
	r := refusals{}
	for i, arrival := range arrives {
		a := event.Arrival{ID: d.IDs[i]}
		if d.Columns == nil { // columns are checked where they are read
			a.Features = replay.Positions(d.X, int32(i))
		}
		if fault := consumer.CheckMagnitudes(&a.Features); fault != nil {
			return nil, fmt.Errorf("node %.100q: a consumer refuses it: %w", a.ID, fault)
		}
		if arrival {
			a.Edges = d.Neighbours(int32(i))
		}
		if _, err := r.arrival(&a, l); err != nil {
			return nil, err
		}
		if !arrival || l.RecordBytes == 0 || mostBytes(d, int32(i), a.Edges) <= l.RecordBytes {
			continue
		}
		a.Features = replay.Features(d, int32(i))
		if _, err := r.record(&a, l); err != nil {
			return nil, err
		}
	}
	return r.warnings(), nil
}

// refusals count nodes that a setting refuses.
type refusals struct{ edges, ids, records refusal }

// refusal counts the nodes that one setting refuses, and has the one that is furthest beyond it.
type refusal struct {
	nodes, most int
	id          string
}

func (r *refusal) add(id string, is int) {
	r.nodes++
	if is > r.most {
		r.id, r.most = id, is
	}
}

// arrival counts an arrival by the setting that refuses it, if one does. An error is of one that no setting lets
// through.
func (r *refusals) arrival(a *event.Arrival, l event.Limits) (refused bool, err error) {
	fault := l.CheckArrival(a, len(a.ID))
	switch {
	case fault == nil:
	case fault.Reason == event.ReasonTooManyEdges:
		r.edges.add(a.ID, len(a.Edges))
	case l.IDBytes == 0 || (event.Limits{}).CheckArrival(a, len(a.ID)) != nil:
		return true, fmt.Errorf("node %.100q: a consumer refuses it: %w", a.ID, fault)
	case len(a.ID) > l.IDBytes: // else it is the id of a neighbour, which is counted itself
		r.ids.add(a.ID, len(a.ID))
	}
	return fault != nil, nil
}

// record counts an arrival if its record is too large.
func (r *refusals) record(a *event.Arrival, l event.Limits) (refused bool, err error) {
	value, err := json.Codec{}.AppendArrival(nil, a)
	if err != nil {
		return true, fmt.Errorf("node %.100q as a record: %w", a.ID, err)
	}
	bytes := len(a.ID) + len(value)
	if refused = l.CheckRecord(bytes) != nil; refused {
		r.records.add(a.ID, bytes)
	}
	return refused, nil
}

func (r *refusals) warnings() (out []string) {
	for _, of := range []struct {
		refusal
		what, unit, setting string
	}{
		{r.edges, "validation and test nodes have more edges than consumers take", "edges", "limits.edges"},
		{r.ids, "nodes have a longer id than consumers take", "bytes", "limits.id_bytes"},
		{r.records, "validation and test nodes make a larger record of JSON than consumers take", "bytes",
			"limits.record_bytes"},
	} {
		if of.nodes > 0 {
			out = append(out, fmt.Sprintf("%d %s, such as %.100q with %d %s: arrivals like it become dead letters, unless %s "+
				"of the consumers is set to %d or more",
				of.nodes, of.what, of.id, of.most, of.unit, of.setting, of.most))
		}
	}
	return out
}

// Most bytes of the parts of a record of JSON.
const (
	numberBytes = 26 // of a float64 or an index, with its comma
	byteBytes   = 6  // of a byte of text: a control character is written \u0001
	fieldBytes  = 32 // of a field's quotes and commas
)

// mostBytes returns a number of bytes that the record of a node does not exceed, without making it.
func mostBytes(d *dataset.Dataset, node int32, edges []string) int {
	n := 8*fieldBytes + (byteBytes+1)*len(d.IDs[node])
	for _, id := range edges {
		n += byteBytes*len(id) + 3
	}
	if d.Columns == nil {
		if d.X.Sparse == nil {
			return n + numberBytes*d.X.Dense.Cols
		}
		return n + 2*numberBytes*d.X.Sparse.RowLen(int(node))
	}
	for k := range d.Columns {
		v := d.Columns[k].At(int(node))
		n += byteBytes*(len(d.Columns[k].Name)+len(v.Text)) + fieldBytes + numberBytes*len(v.Vector)
	}
	return n
}
