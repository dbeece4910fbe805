package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// makeArrivals makes arrivals of the data set's test nodes, and stores the features of those that may come without.
func (w *world) makeArrivals(ctx context.Context, wanted int) error {
	lines, err := w.Output(ctx, nil, "rivulet", "replay", "--data", w.Path("data"), "--out", "-")
	if err != nil {
		return err
	}
	made, err := record.Make(lines, wanted)
	if err != nil {
		return err
	}
	client := w.Stored.Client()
	defer func() { _ = client.Close() }()
	store := client.Pipeline()
	for _, a := range made {
		w.arrivals = append(w.arrivals, a)
		w.byID[a.ID] = a
		store.Set(ctx, "features:"+a.ID, a.Stored(w.features), 0)
	}
	_, err = store.Exec(ctx)
	return err
}

// learn notes an artifact's answers to the arrivals, computed without any service.
func (w *world) learn(ctx context.Context, version, dir string) error {
	var lines bytes.Buffer
	for _, m := range w.arrivals {
		lines.Write(m.Value[record.JSON])
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

// predict returns an artifact's answers to arrivals, by their ids.
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
