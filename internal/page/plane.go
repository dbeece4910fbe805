package page

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"rivulet/infer/attach"
	"rivulet/kafka"
)

const (
	litKept    = 256              // arrivals that light up
	litEach    = 100              // per look
	litBacklog = 400              // records of a partition that may be ahead
	litFor     = 10 * time.Second // how long after the last request arrivals are still followed
)

// Plane is S in the plane.
type Plane struct {
	Version string    `json:"version"` // the serving one; "": none yet
	There   bool      `json:"there"`   // its artifact has a map
	Nodes   int       `json:"nodes"`
	XY      []float32 `json:"xy"` // pairs
	Mass    []float32 `json:"mass"`
	Class   []int     `json:"class"` // the most frequent one behind each node
	Classes []string  `json:"classes"`
	Status  Status    `json:"status"`
}

// plane answers with S in the plane.
func (p *Page) plane(w http.ResponseWriter, _ *http.Request) {
	out := Plane{Status: p.status()}
	v := p.o.Versions.Current()
	if v != nil {
		out.Version = v.ID()
	}
	if v == nil || v.Map() == nil {
		writeJSON(w, http.StatusOK, out)
		return
	}
	m := v.Map()
	out.There, out.Nodes, out.XY, out.Mass = true, len(m.Mass), m.XY.Data, m.Mass
	out.Class = make([]int, len(m.Mass))
	for i := range out.Class {
		row := m.Shares.Row(i)
		out.Class[i] = slices.Index(row, slices.Max(row))
	}
	for _, name := range v.Info().Classes {
		out.Classes = append(out.Classes, shown(name))
	}
	writeJSON(w, http.StatusOK, out)
}

// Node is one synthetic node.
type Node struct {
	Node     int      `json:"node"`
	Mass     float32  `json:"mass"`
	Shares   []Share  `json:"shares"` // the largest classes behind the node
	Rest     Share    `json:"rest"`
	Others   int      `json:"others"`
	Heaviest []Weight `json:"heaviest"` // nodes of T; null: the map has no ids
	Features []Weight `json:"features"`
}

// Weight is the weight of an original node, by its id, or of a feature, by its name.
type Weight struct {
	ID     string  `json:"id,omitempty"`
	Name   string  `json:"name,omitempty"`
	Weight float32 `json:"weight"`
}

// planeNode answers with one synthetic node.
func (p *Page) planeNode(w http.ResponseWriter, r *http.Request) {
	v := p.o.Versions.Current()
	if v == nil || v.Map() == nil {
		refuse(w, http.StatusNotFound, "map", "the artifact that serves has no map")
		return
	}
	m := v.Map()
	i, err := strconv.Atoi(r.FormValue("node"))
	if err != nil || i < 0 || i >= len(m.Mass) {
		refuse(w, http.StatusNotFound, "node", "want a node from 0 to "+strconv.Itoa(len(m.Mass)-1))
		return
	}
	n := Node{Node: i, Mass: m.Mass[i], Features: []Weight{}}
	n.Shares, n.Rest, n.Others = sharesOf(m.Shares.Row(i), v.Info().Classes)
	if m.Heaviest != nil {
		n.Heaviest = []Weight{}
		for _, h := range m.Heaviest[i] {
			n.Heaviest = append(n.Heaviest, Weight{ID: shown(h.ID), Weight: h.Weight})
		}
	}
	names := v.Info().Names
	for _, f := range m.Features[i] {
		name := strconv.Itoa(int(f.Feature))
		if names != nil {
			name = shown(names[f.Feature])
		}
		n.Features = append(n.Features, Weight{Name: name, Weight: f.Weight})
	}
	writeJSON(w, http.StatusOK, n)
}

// sharesOf returns the largest shares of a row, and the others together.
func sharesOf(row []float32, names []string) (largest []Share, rest Share, others int) {
	all := make([]Share, len(row))
	for c, x := range row {
		all[c] = Share{Class: c, Name: shown(names[c]), Share: float64(x)}
	}
	slices.SortStableFunc(all, descending)
	largest = all[:min(len(all), sharesShown)]
	for _, s := range all[len(largest):] {
		rest.Share += s.Share
		others++
	}
	rest.Class = -1
	return largest, rest, others
}

// Lit is an arrival that attached to S just now.
type Lit struct {
	Seq   uint64  `json:"seq"` // ascending
	X     float32 `json:"x"`   // the mean place of the nodes that it attached to, by their weights
	Y     float32 `json:"y"`
	Class int     `json:"class"` // predicted; -1: not seen yet
}

// LitArrivals are the arrivals that attached after those that the page has, oldest first.
type LitArrivals struct {
	Version string `json:"version"`
	Lit     []Lit  `json:"lit"`
	Status  Status `json:"status"`
}

// planeArrivals answers with arrivals that lit up. They are followed only while somebody asks.
func (p *Page) planeArrivals(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(cmp.Or(r.FormValue("after"), "0"), 10, 64)
	if err != nil {
		refuse(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	out := LitArrivals{Lit: []Lit{}, Status: p.status()}
	if v := p.o.Versions.Current(); v != nil {
		out.Version = v.ID()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lit.asked = p.o.Now()
	p.lit.ring.each(func(l *Lit) bool {
		if l.Seq > after {
			out.Lit = append(out.Lit, *l)
		}
		return l.Seq > after
	})
	slices.Reverse(out.Lit)
	writeJSON(w, http.StatusOK, out)
}

// lit holds the arrivals that light up; the page's mu guards it.
type lit struct {
	asked time.Time // when somebody asked last
	ring  ring[Lit]
	seq   uint64
}

// pendingArrival is an arrival with its place in the plane, that waits for its prediction.
type pendingArrival struct {
	Lit
	place Place
}

// light follows arrivals while somebody looks at the map.
func (p *Page) light(ctx context.Context) {
	tail := p.o.Arrivals.Tail(kafka.TailOptions{Since: p.since, Backlog: litBacklog})
	decoder := p.o.LitDecoder
	var waiting []pendingArrival
	p.poll(ctx, "kafka: arrivals for the map", every, func(ctx context.Context) error {
		p.mu.Lock()
		watched := p.o.Now().Sub(p.lit.asked) < litFor
		p.mu.Unlock()
		v := p.o.Versions.Current()
		if !watched || v == nil || v.Map() == nil {
			waiting = nil
			return nil
		}
		p.shine(waiting)
		waiting = waiting[:0]
		if _, err := tail.Look(ctx); err != nil {
			return err
		}
		records, err := tail.Read(ctx)
		if err != nil {
			return err
		}
		p.tally.mu.Lock()
		chance := p.tally.chance
		p.tally.mu.Unlock()
		for k := range records {
			at := Place{records[k].Position.Partition, records[k].Position.Offset}
			if len(waiting) == litEach {
				break
			}
			if !chance.takes(at.Partition, at.Offset) {
				continue
			}
			decoder.Reads(v.Info().Schema, v.Info().Slots)
			a, _, err := decoder.Arrival(ctx, &records[k], v.Info().Features)
			if err != nil {
				continue // a dead letter, or no arrival
			}
			rows := make([]attach.Row, len(a.Edges))
			if err := v.Rows(ctx, a.Edges, rows); err != nil {
				return err
			}
			if x, y, ok := middle(rows, v.Map().XY.Data); ok {
				waiting = append(waiting, pendingArrival{Lit{X: x, Y: y, Class: -1}, at})
			}
		}
		return nil
	})
}

// shine gives arrivals the classes of their predictions, and lights them up.
func (p *Page) shine(waiting []pendingArrival) {
	if len(waiting) == 0 {
		return
	}
	classes := map[Place]int{}
	p.tally.mu.Lock()
	p.tally.feed.each(func(s *Sample) bool {
		classes[Place{s.Partition, s.Offset}] = s.Class
		return true
	})
	p.tally.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range waiting {
		if class, ok := classes[a.place]; ok {
			a.Class = class
		}
		p.lit.seq++
		a.Seq = p.lit.seq
		p.lit.ring.put(a.Lit, litKept)
	}
}

// middle returns the mean place of the synthetic nodes of rows of M, by their weights; false where they name none.
func middle(rows []attach.Row, xy []float32) (x, y float32, ok bool) {
	var sum, sx, sy float64
	for _, row := range rows {
		for k, j := range row.Cols {
			w := float64(row.Vals[k])
			sum += w
			sx += w * float64(xy[2*j])
			sy += w * float64(xy[2*j+1])
		}
	}
	if sum <= 0 {
		return 0, 0, false
	}
	return float32(sx / sum), float32(sy / sum), true
}
