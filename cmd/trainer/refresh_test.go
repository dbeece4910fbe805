package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/internal/devstack"
	"rivulet/internal/refresh"
	"rivulet/internal/replay"
	"rivulet/run/connect"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
)

// halved returns a generated graph without half of its training nodes, and these as arrivals and labels.
func halved(t *testing.T) (half *dataset.Dataset, arrivals []event.Arrival, labels []event.Label) {
	t.Helper()
	return halvedOf(t, 100)
}

// halvedOf is halved for a graph of 15 times as many nodes, which some functions change.
func halvedOf(t *testing.T, nodes int, change ...func(*dataset.Dataset)) (half *dataset.Dataset,
	arrivals []event.Arrival, labels []event.Label) {
	t.Helper()
	g, _ := generate.Preset("small")
	g.Nodes, g.Edges, g.Train, g.Validation, g.Test = 15*nodes, 90*nodes, 7*nodes, 4*nodes, 4*nodes
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	for _, of := range change {
		of(d)
	}
	return halvedBy(d)
}

// halvedBy returns a data set without half of its training nodes, and these as arrivals and labels.
func halvedBy(d *dataset.Dataset) (half *dataset.Dataset, arrivals []event.Arrival, labels []event.Label) {
	var kept []int32
	out := map[int32]bool{}
	for k, i := range d.Train {
		if out[i] = k%2 == 1; out[i] {
			arrivals = append(arrivals, replay.Arrival(d, i, time.Unix(int64(k), 0).UTC()))
			labels = append(labels, event.Label{ID: d.IDs[i], Class: event.ByName, ClassName: d.Classes[d.Labels[i]]})
		}
	}
	index := make([]int32, d.Nodes())
	for i := range int32(d.Nodes()) {
		index[i] = -1
		if !out[i] {
			index[i] = int32(len(kept))
			kept = append(kept, i)
		}
	}
	half = &dataset.Dataset{Name: "half", Adj: d.Adj.Submatrix(kept, index, len(kept)), X: d.X.Take(kept),
		Classes: d.Classes, BagOfWords: d.BagOfWords}
	for _, i := range kept {
		half.IDs, half.Labels = append(half.IDs, d.IDs[i]), append(half.Labels, d.Labels[i])
	}
	place := func(nodes []int32) (placed []int32) {
		for _, i := range nodes {
			if index[i] >= 0 {
				placed = append(placed, index[i])
			}
		}
		return placed
	}
	half.Train, half.Validation, half.Test = place(d.Train), place(d.Validation), place(d.Test)
	return half, arrivals, labels
}

// files writes data, arrivals and labels below a directory.
func files(t *testing.T, half *dataset.Dataset, arrivals []event.Arrival, labels []event.Label) (dir string) {
	t.Helper()
	dir = t.TempDir()
	expect.OK(t, half.Save(filepath.Join(dir, "data")))
	var lines []byte
	var err error
	for k := range arrivals {
		if lines, err = (eventjson.Codec{}).AppendArrival(lines, &arrivals[k]); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, '\n')
	}
	writeFile(t, dir, "arrivals.jsonl", append(lines, "{\"id\": 1}\n\nnonsense\n"...))
	writeLabels(t, dir, "labels.jsonl", labels)
	return dir
}

func writeLabels(t *testing.T, dir, name string, labels []event.Label) {
	t.Helper()
	var lines []byte
	var err error
	for k := range labels {
		if lines, err = (eventjson.Codec{}).AppendLabel(lines, &labels[k]); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, '\n')
	}
	writeFile(t, dir, name, lines)
}

func writeFile(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	expect.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

// allDecays are the usual candidates for the weight decay; fewDecays and strongDecay are in their place where a test
// does not need all. Fits with strongDecay end soon, and are inaccurate.
const (
	allDecays   = " --weight-decays 1e-1,1e-2,1e-3,1e-4,1e-5"
	fewDecays   = " --weight-decays 1e-2,1e-4"
	strongDecay = " --weight-decays 1e-1"
)

// quickly adds fewDecays to a line that has no candidates.
func quickly(line string) string {
	if strings.Contains(line, " --weight-decays ") {
		return line
	}
	return line + fewDecays
}

// runRefresh runs the command with {} for a directory.
func runRefresh(t *testing.T, dir, line string) (refresh.Report, error) {
	t.Helper()
	out, err := harness.Execute(root(), strings.Fields(strings.ReplaceAll("refresh --json "+quickly(line), "{}", dir))...)
	var o refresh.Report
	if out != "" {
		if err := json.Unmarshal([]byte(out), &o); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}
	return o, err
}

// mustRun runs a command with {} for a directory. A training run has no model of own features unless the line says so,
// and neither has a refresh of its artifact.
func mustRun(t *testing.T, dir, line string) {
	t.Helper()
	if strings.HasPrefix(line, "train ") {
		if line = quickly(line) + " --costs=false"; !strings.Contains(line, " --own ") {
			line += " --own never"
		}
	}
	if _, err := harness.Execute(root(), strings.Fields(strings.ReplaceAll(line, "{}", dir))...); err != nil {
		t.Fatal(err)
	}
}

// Half of the training nodes arrive: the next artifact knows them, has the options of the previous run except those
// that were given, is no worse, and the stored data set contains them; labels of other classes' nodes are refused.
func TestRefreshFromFiles(t *testing.T) {
	half, arrivals, labels := halved(t)
	dir := files(t, half, arrivals, labels)
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 40 --entries 3 --seed 5 --coverage 0.9 "+
		"")
	o, err := runRefresh(t, dir, "--from {}/arrivals.jsonl --labels {}/labels.jsonl --data {}/data --current {}/first "+
		"--out {}/second --data-out {}/later")
	expect.OK(t, err)
	if o.Merged.Joined != len(arrivals) || o.Merged.Labelled != len(arrivals) || o.Nodes != 700 ||
		o.Merged.Refused[event.ReasonUnparsable] != 2 || o.Published {
		t.Errorf("%+v", o)
	}
	if *o.Accuracy < *o.Was {
		t.Errorf("validation %.2f%% with all training nodes, %.2f%% with half", *o.Accuracy, *o.Was)
	}
	t.Logf("validation %.2f%%, before %.2f%%", *o.Accuracy, *o.Was)
	first, second := mustRead(t, dir+"/first").Manifest, mustRead(t, dir+"/second").Manifest
	if m := second; m.Method != first.Method || m.SyntheticNodes != 40 || m.Seed != 5 || m.Mapping.MaxPerRow > 3 ||
		m.Models[0].Calibration.Confidence.Coverage != 0.9 || !slices.Equal(m.Data.Classes, first.Data.Classes) {
		t.Errorf("the second artifact is not as the first: %+v", m)
	}
	if of := second.Reference.Models["sgc"]; of.Accuracy != *o.Accuracy {
		t.Errorf("the reference says %v, the comparison %v", of.Accuracy, *o.Accuracy)
	}
	later, err := dataset.Open(dir+"/later", dataset.OpenOptions{})
	if err != nil || later.Fingerprint() != second.Data.Fingerprint {
		t.Errorf("the data that were kept are not those of the artifact: %v", err)
	}

	again, err := runRefresh(t, dir,
		"--from {}/arrivals.jsonl --labels {}/labels.jsonl --data {}/later --current {}/second --out {}/third")
	if err != nil || again.Artifact != "" || again.Merged.InT != len(arrivals) {
		t.Errorf("nothing is new: %+v, %v", again, err)
	}
	wrapAsChanges(t, dir)
	again, err = runRefresh(t, dir,
		"--from {}/changes.jsonl --input.mapping.preset debezium --data {}/later --current {}/second --out {}/third")
	if err != nil || again.Artifact != "" || again.Merged.InT != len(arrivals) {
		t.Errorf("changes of the same arrivals: %+v, %v", again, err)
	}

	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(labels), func(i, j int) {
		labels[i].ClassName, labels[j].ClassName = labels[j].ClassName, labels[i].ClassName
	})
	writeLabels(t, dir, "shuffled.jsonl", labels)
	refused, err := runRefresh(t, dir, "--from {}/arrivals.jsonl --labels {}/shuffled.jsonl --data {}/data --current "+
		"{}/first --out {}/bad --data-out {}/worse --max-drop 2")
	if err == nil || !strings.Contains(err.Error(), "is refused: ") || refused.Data != "" ||
		*refused.Accuracy > *refused.Was-2 {
		t.Errorf("labels that are shuffled: %+v, %v", refused, err)
	}
	if _, err := os.Stat(dir + "/worse"); err == nil {
		t.Error("the data of a refused artifact were kept")
	}
}

// wrapAsChanges writes changes.jsonl: what Debezium makes of the rows of arrivals.jsonl that are JSON.
func wrapAsChanges(t *testing.T, dir string) {
	t.Helper()
	rows, err := os.ReadFile(dir + "/arrivals.jsonl")
	expect.OK(t, err)
	var changes strings.Builder
	for row := range strings.Lines(string(rows)) {
		if row = strings.TrimSpace(row); json.Valid([]byte(row)) {
			fmt.Fprintf(&changes, `{"op":"r","after":%s}`+"\n", row)
		}
	}
	changes.WriteString(`{"op":"d","before":{"id":"gone"},"after":null}` + "\n")
	expect.OK(t, os.WriteFile(dir+"/changes.jsonl", []byte(changes.String()), 0o600))
}

func mustRead(t *testing.T, dir string) *artifact.Bundle {
	t.Helper()
	b, err := artifact.Read(dir)
	expect.OK(t, err)
	return b
}

// Arrivals and labels come from topics, the group's offsets decide which are new, and the artifact becomes CURRENT.
func TestRefreshFromKafka(t *testing.T) {
	half, arrivals, labels := halved(t)
	dir := files(t, half, nil, nil)
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 3, "labels": 2}})
	expect.OK(t, err)
	defer broker.Close()
	server := miniredis.RunT(t)
	at := "redis://" + server.Addr()
	key := signingKey(t)
	produce(t, broker.Addr(), arrivals[:200], labels)
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 40")
	mustRun(t, dir, "publish --artifact {}/first --redis "+at)
	line := "--from kafka:arrivals --labels kafka:labels --group refresh --kafka.brokers " + broker.Addr() +
		" --publish --redis " + at + " --sign " + key
	o, err := runRefresh(t, dir, line+" --data {}/data --out {}/second --data-out {}/later")
	expect.OK(t, err)
	if o.Merged.Arrivals != 200 || o.Merged.Labelled != 200 || !o.Published ||
		o.Before != mustRead(t, dir+"/first").Manifest.Version {
		t.Errorf("%+v", o)
	}
	if got := server.HGet("{rivulet}:"+o.Version+":complete", "signature"); len(got) != ed25519.SignatureSize {
		t.Errorf("the signature in Redis is %q", got)
	}
	if out, err := harness.Execute(root(), "versions", "--redis.url", at); err != nil ||
		!strings.Contains(out, o.Version+"  complete  yes") {
		t.Errorf("%s is not CURRENT (%v):\n%s", o.Version, err, out)
	}
	if o, err = runRefresh(t, dir, line+" --data {}/later --out {}/none"); err == nil ||
		!strings.Contains(err.Error(), "without --data-out") {
		t.Errorf("a group without --data-out: %v", err)
	}
	if o, err = runRefresh(t, dir, line+" --data {}/later --out {}/none --data-out {}/nothing"); err != nil ||
		o.Merged.Arrivals != 0 || o.Artifact != "" {
		t.Errorf("the group has read all: %+v, %v", o, err)
	}
	produce(t, broker.Addr(), arrivals[200:], nil)
	if o, err = runRefresh(t, dir, line+" --data {}/later --out {}/third --data-out {}/latest"); err != nil ||
		o.Merged.Arrivals != len(arrivals)-200 || o.Merged.Labelled != len(arrivals)-200 {
		t.Errorf("the rest: %+v, %v", o, err)
	}
}

func produce(t *testing.T, broker string, arrivals []event.Arrival, labels []event.Label) {
	t.Helper()
	expect.OK(t, sink(t, broker, "arrivals").Send(t.Context(), arrivals))
	inProtobuf := sink(t, broker, "labels")
	inProtobuf.In(protobuf.Codec{})
	expect.OK(t, inProtobuf.SendLabels(t.Context(), labels))
}

// sink returns a sender to a topic.
func sink(t *testing.T, broker, name string) *replay.Topic {
	t.Helper()
	brokers := config.Default[config.Refresh]().Kafka.Brokers
	brokers.Brokers = []string{broker}
	client, err := connect.Kafka(brokers)
	expect.OK(t, err)
	t.Cleanup(client.Close)
	topic, err := replay.NewTopic(client, name, "gzip", nil)
	expect.OK(t, err)
	return topic
}

// ticks is a clock whose timers fire at once; the stop comes after a number of them.
type ticks struct {
	waits []time.Duration
	stop  context.CancelFunc
	after int
}

func (c *ticks) Now() time.Time { return time.Unix(0, 0) }

func (c *ticks) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	fired := make(chan time.Time, 1)
	if c.waits = append(c.waits, d); len(c.waits) == c.after {
		c.stop()
	} else {
		fired <- time.Time{}
	}
	return fired, func() {}
}

// With --every a refresh follows the other until the command is stopped; each has a directory of its own, a failed one
// does not end it, and merged arrivals are not merged again.
func TestRefreshRepeats(t *testing.T) {
	half, arrivals, labels := halved(t)
	dir := files(t, half, arrivals[:100], labels)
	d, err := dataset.Open(dir+"/data", dataset.OpenOptions{})
	expect.OK(t, err)
	cmd := refreshCommand()
	f := &refreshFlags{from: dir + "/arrivals.jsonl", labels: dir + "/labels.jsonl", out: dir + "/out",
		dataOut: dir + "/grown", every: time.Hour,
		maxDrop: 5, keep: 1, keepCopies: 2, flags: cmd.Flags(), run: trainer.Defaults(),
		withMap: &mapFlags{flags: cmd.Flags()}}
	f.run.Nodes, f.run.Own, f.run.Costs = 40, trainer.OwnNever, false
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	clock := &ticks{stop: stop, after: 4}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	graph, err := refresh.NewGraph(dir+"/data", d)
	expect.OK(t, err)
	r, err := f.refresher(graph, config.Default[config.Refresh](), trainer.Silent{},
		slog.New(slog.NewTextHandler(&log, nil)))
	expect.OK(t, err)
	r.Now = func() time.Time { return start.Add(time.Duration(len(clock.waits)) * time.Hour) }
	var joined []int
	err = f.repeat(ctx, r, clock, func(o *refresh.Report) error {
		if o == nil {
			joined = append(joined, -1)
		} else {
			joined = append(joined, o.Merged.Joined)
		}
		switch len(joined) {
		case 1: // the file has gone
			return os.Rename(f.from, f.from+".away")
		case 2: // it is back, with more
			more := files(t, half, arrivals[:150], labels)
			return os.Rename(more+"/arrivals.jsonl", f.from)
		}
		return nil
	})
	expect.OK(t, err)
	if want := []int{100, -1, 50, 0}; !slices.Equal(joined, want) {
		t.Errorf("joined %v, want %v", joined, want)
	}
	if fmt.Sprint(clock.waits) != "[1h0m0s 1h0m0s 1h0m0s 1h0m0s]" || strings.Count(log.String(), "refresh failed") != 1 {
		t.Errorf("waited %v; log:\n%s", clock.waits, log.String())
	}
	for _, sub := range []string{"out/20260301T120000.000Z", "out/20260301T140000.000Z", "grown/20260301T140000.000Z"} {
		if _, err := os.Stat(filepath.Join(dir, sub)); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir + "/out"); err != nil || len(entries) != 2 {
		t.Errorf("%d artifacts, want 2 (%v)", len(entries), err)
	}
}

// With --rounds 1 each start is one refresh, as of a scheduler: it goes on from the graph of the start before, and what
// fails ends with its error.
func TestRefreshRounds(t *testing.T) {
	half, arrivals, labels := halved(t)
	dir := files(t, half, arrivals[:100], labels)
	line := "--from {}/arrivals.jsonl --labels {}/labels.jsonl --data {}/data --out {}/out --data-out {}/grown " +
		"--nodes 40 --own never --max-drop 5 --rounds 1"
	for round, joined := range []int{100, 50} {
		if o, err := runRefresh(t, dir, line); err != nil || o.Merged.Joined != joined {
			t.Fatalf("start %d: %d nodes joined, want %d (%v)", round+1, o.Merged.Joined, joined, err)
		}
		more := files(t, half, arrivals[:150], labels)
		expect.OK(t, os.Rename(more+"/arrivals.jsonl", dir+"/arrivals.jsonl"))
	}
	expect.OK(t, os.Rename(dir+"/labels.jsonl", dir+"/labels.away"))
	expect.Error(t, expect.ErrorOf(runRefresh(t, dir, line)), "labels.jsonl", "without the file of labels")
	if entries, err := os.ReadDir(dir + "/out"); err != nil || len(entries) != 2 {
		t.Errorf("%d artifacts, want 2 (%v)", len(entries), err)
	}
}

func TestRefreshFlags(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "arrivals.jsonl", nil)
	for want, line := range map[string]string{
		"--max-drop is NaN":                      "--from {}/arrivals.jsonl --max-drop NaN",
		"--max-drop is -1":                       "--from {}/arrivals.jsonl --max-drop -1",
		"--every is -1s":                         "--from {}/arrivals.jsonl --every -1s",
		"--rounds is -1":                         "--from {}/arrivals.jsonl --rounds -1",
		"--keep is 0":                            "--from {}/arrivals.jsonl --keep 0",
		"no topic after kafka:":                  "--from kafka:",
		"no such file":                           "--from {}/none",
		`--labels is "` + dir + `": a directory`: "--from {}/arrivals.jsonl --labels {}",
		"--group is g, but --from":               "--from {}/arrivals.jsonl --group g",
	} {
		expect.Error(t, expect.ErrorOf(runRefresh(t, dir, "--data {}/data --out {}/out "+line)), want, "%s", line)
	}
}
