package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/harness"
)

// message is an arrival that can be predicted.
type message struct {
	id    string
	value []byte
}

// makeArrivals makes arrivals of the data set's test nodes, several of each where more are wanted: under new
// ids, so that a refresh may merge them, with edges to nodes of T, to other arrivals, and to those that are
// sent just before and after.
func (w *world) makeArrivals(ctx context.Context, wanted int) error {
	lines, err := w.Output(ctx, nil, "rivulet", "replay", "--data", w.Path("data"), "--out", "-")
	if err != nil {
		return err
	}
	var nodes []event.Arrival
	for line := range bytes.Lines(lines) {
		var a event.Arrival
		if err := (json.Codec{}).DecodeArrival(bytes.TrimSpace(line), &a); err != nil {
			return err
		}
		nodes = append(nodes, a)
	}
	test := map[string]bool{}
	for _, a := range nodes {
		test[a.ID] = true
	}
	copies := max(1, (wanted+len(nodes)-1)/len(nodes))
	name := func(id string, of int) string { return fmt.Sprintf("n%s-%d", id, of%copies) }
	for k := range copies * len(nodes) {
		a := nodes[k%len(nodes)]
		id := name(a.ID, k/len(nodes))
		edges := make([]string, 0, len(a.Edges)+4)
		for _, e := range a.Edges {
			if test[e] {
				e = name(e, int(hash(id+e)))
			}
			edges = append(edges, e)
		}
		for _, by := range []int{-40, -2, -1, 33} {
			other := (k + by + copies*len(nodes)) % (copies * len(nodes))
			edges = append(edges, name(nodes[other%len(nodes)].ID, other/len(nodes)))
		}
		slices.Sort(edges)
		a.ID, a.Edges = id, slices.Compact(edges)
		value, err := json.Codec{}.AppendArrival(nil, &a)
		if err != nil {
			return err
		}
		w.arrivals = append(w.arrivals, message{id, value})
		w.byID[id] = w.arrivals[k]
	}
	return nil
}

func hash(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// learn notes what an artifact says of the arrivals without any service.
func (w *world) learn(ctx context.Context, version, dir string) error {
	var lines bytes.Buffer
	for _, m := range w.arrivals {
		lines.Write(m.value)
		lines.WriteByte('\n')
	}
	says, err := w.predict(ctx, dir, "node", &lines)
	if err != nil {
		return err
	}
	if len(says) != len(w.arrivals) {
		return fmt.Errorf("artifact %s predicts %d of %d arrivals", version, len(says), len(w.arrivals))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said[version], w.dirs[version] = says, dir
	return nil
}

// predict returns what an artifact says of arrivals, by their ids.
func (w *world) predict(ctx context.Context, dir, mode string, lines *bytes.Buffer) (map[string]string, error) {
	out, err := w.Output(ctx, lines, "rivulet", "predict", "--artifact", dir, "--mode", mode, "--logits")
	if err != nil {
		return nil, err
	}
	says := map[string]string{}
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var p event.Prediction
		if err := (json.Codec{}).DecodePrediction(scan.Bytes(), &p); err != nil {
			return nil, err
		}
		says[strings.Clone(p.ID)] = harness.Says(&p)
	}
	return says, scan.Err()
}

// expected implements [expectation].
func (w *world) expected(version, id string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said, known := w.said[version][id]
	return said, known
}
