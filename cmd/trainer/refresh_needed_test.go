package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/internal/replay"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer/prequential"
)

// drifting returns the first share of preset drift by time, with every eighth node for validation, and the later nodes
// as arrivals and labels in the order of their times.
func drifting(t *testing.T, nodes int, share float64) (start *dataset.Dataset, arrivals []event.Arrival,
	labels []event.Label) {
	t.Helper()
	g, err := generate.Scaled("drift", nodes)
	expect.OK(t, err)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	order, index := make([]int32, nodes), make([]int32, nodes)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(d.Times[i], d.Times[j]) })
	first := int(share * float64(nodes))
	start = &dataset.Dataset{Name: "start", Classes: d.Classes, BagOfWords: true, X: d.X.Take(order[:first])}
	for k, i := range order {
		if index[i] = -1; k >= first {
			arrivals = append(arrivals, replay.Arrival(d, i, time.Unix(int64(k), 0).UTC()))
			labels = append(labels, event.Label{ID: d.IDs[i], Class: event.ByName, ClassName: d.Classes[d.Labels[i]]})
			continue
		}
		index[i] = int32(k)
		start.IDs, start.Labels = append(start.IDs, d.IDs[i]), append(start.Labels, d.Labels[i])
		if k%8 == 0 {
			start.Validation = append(start.Validation, int32(k))
		} else {
			start.Train = append(start.Train, int32(k))
		}
	}
	start.Adj = d.Adj.Submatrix(order[:first], index, first)
	start.Test = start.Validation[:1]
	start.Validation = start.Validation[1:]
	return start, arrivals, labels
}

// With --if-needed arrivals like those before change nothing and wait for the next refresh; once the classes look
// otherwise, an alarm says why another artifact is made.
func TestRefreshIfNeeded(t *testing.T) {
	start, arrivals, labels := drifting(t, 2400, 0.4)
	const few = 100
	calm := files(t, start, arrivals[:few], labels[:few])
	mustRun(t, calm, "train --data {}/data --out {}/first --nodes 60 --propagate=false")
	const judged = " --labels {}/labels.jsonl --data {}/data --if-needed --alarm-agreement 70 --attach-arrivals "
	o, err := runRefresh(t, calm, "--from {}/arrivals.jsonl --current {}/first --out {}/second --data-out {}/later"+judged)
	expect.OK(t, err)
	if o.Judged == nil || o.Judged.Arrivals != few || o.Judged.Labelled != 64 || len(o.Judged.Alarms) > 0 ||
		o.Artifact != "" ||
		o.Data != "" || o.Merged.Joined != few {
		t.Errorf("arrivals like those before: %+v, judged %+v", o, o.Judged)
	}
	for _, dir := range []string{"/second", "/later"} {
		if _, err := os.Stat(calm + dir); err == nil {
			t.Errorf("%s was written without an alarm", dir)
		}
	}
	text, err := harness.Execute(root(), strings.Fields(strings.ReplaceAll(
		"refresh --from {}/arrivals.jsonl --current {}/first --out {}/second"+judged, "{}", calm))...)
	if err != nil || !strings.Contains(text,
		"no alarm: no artifact was made, and the next refresh reads these arrivals again") {
		t.Errorf("%v:\n%s", err, text)
	}

	drifted := files(t, start, arrivals, labels)
	o, err = runRefresh(t, drifted, "--from {}/arrivals.jsonl --current "+calm+"/first --out {}/second "+
		"--data-out {}/later --max-drop 100"+judged)
	expect.OK(t, err)
	if !slices.Contains(o.Judged.Alarms, prequential.Retrain) || o.Judged.Arrivals != len(arrivals) || o.Artifact == "" ||
		o.Data == "" {
		t.Errorf("classes that look otherwise: %+v, judged %+v", o, o.Judged)
	}
	// the artifact knows these arrivals: there is nothing to judge it by, and nothing new
	again, err := runRefresh(t, drifted, "--from {}/arrivals.jsonl --out {}/third --data-out {}/later"+
		" --labels {}/labels.jsonl --data {}/data --if-needed")
	if err != nil || again.Artifact != "" {
		t.Errorf("again: %+v, %v", again, err)
	}
	for line, want := range map[string]string{
		"--out {}/x": "which artifact is to be judged",
		"--out {}/x --current {}/first --engine disk":            "on the graph in memory",
		"--out {}/x --current {}/first --alarm-sample 0":         "sample is 0",
		"--out {}/x --current {}/first --alarm-most-growth 0.01": "growth is 0.14 and at most 0.01",
	} {
		expect.Error(t, expect.ErrorOf(runRefresh(t, calm, "--from {}/arrivals.jsonl --data {}/data --if-needed "+line)),
			want, "%s", line)
	}
}
