package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/test/expect"
)

// A refresh leaves out the nodes whose ids the stream or --forget asks to forget: nodes of T, held-out ones, arrivals.
// Neither the artifact nor the graph has their ids afterwards.
func TestRefreshForgets(t *testing.T) {
	half, arrivals, labels := halvedOf(t, 40)
	names := map[string]string{half.IDs[half.Train[0]]: "forget-train", half.IDs[half.Validation[1]]: "forget-held-out",
		arrivals[0].ID: "forget-arrival", half.IDs[half.Train[2]]: "forget-listed"}
	rename := func(id *string) {
		if name, is := names[*id]; is {
			*id = name
		}
	}
	for i := range half.IDs {
		rename(&half.IDs[i])
	}
	for k := range arrivals {
		rename(&arrivals[k].ID)
		for e := range arrivals[k].Edges {
			rename(&arrivals[k].Edges[e])
		}
		rename(&labels[k].ID)
	}
	arrivals[5].Edges = append(arrivals[5].Edges, "forget-train", "forget-never-came")
	dir := files(t, half, arrivals, labels)
	text, err := os.ReadFile(dir + "/arrivals.jsonl")
	expect.OK(t, err)
	for _, id := range []string{"train", "arrival", "never-came"} {
		text = append(text, `{"id": "forget-`+id+`", "forget": true}`+"\n"...)
	}
	writeFile(t, dir, "arrivals.jsonl", text)
	writeFile(t, dir, "ids.txt", []byte("forget-listed\r\nforget-held-out\nforget-nobody\n"))
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 40 --entries 3 --seed 5")
	const line = "--from {}/arrivals.jsonl --labels {}/labels.jsonl --current {}/first --max-drop 20 "
	o, err := runRefresh(t, dir, line+"--data {}/data --out {}/off --data-out {}/off-data")
	if err != nil || o.Merged.Forgets > 0 || o.Merged.Refused[event.ReasonUnparsable] != 2 ||
		finds(t, dir+"/off-data") == 0 {
		t.Errorf("where forgetting is off: %+v (%v)", o, err)
	}
	o, err = runRefresh(t, dir, line+"--data {}/data --input.forget on --forget {}/ids.txt --out {}/second "+
		"--data-out {}/second-data")
	expect.OK(t, err)
	if m := o.Merged; m.Forgets != 6 || m.Forgotten != 4 || m.Removed != 3 || m.Joined != len(arrivals)-1 ||
		m.RemovedEdges == 0 || o.Nodes != 280-3 || m.LabelUnknown != 1 {
		t.Errorf("%+v", o)
	}
	for _, of := range []string{"/second", "/second-data"} {
		if n := finds(t, dir+of); n > 0 {
			t.Errorf("%d files below %s have a forgotten id", n, of)
		}
	}
	// Ids alone are a change, too.
	writeFile(t, dir, "none.jsonl", nil)
	writeFile(t, dir, "more.txt", []byte(half.IDs[half.Train[4]]))
	o, err = runRefresh(t, dir, "--from {}/none.jsonl --forget {}/more.txt --data {}/second-data --current {}/second "+
		"--out {}/less --max-drop 20")
	if err != nil || o.Merged.Removed != 1 || o.Nodes != 280-4 {
		t.Errorf("of ids alone: %+v (%v)", o, err)
	}
}

// finds returns how many files below a directory have the id of something that is to be forgotten.
func finds(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "forget-") {
			n++
		}
		return err
	})
	expect.OK(t, err)
	return n
}
