package main

import (
	"os"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// A refresh whose labels or arrivals can none of them be used, such as labels with a class by its name under "class",
// ends with an error that names the first reason and what to write, and makes no artifact.
func TestRefreshOfRecordsThatCannotBeUsed(t *testing.T) {
	half, arrivals, labels := halvedOf(t, 40)
	dir := files(t, half, arrivals, labels)
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 18 --propagate=false")
	name := half.Classes[0]
	for file, tc := range map[string]struct{ text, flags, want string }{
		"class.jsonl": {`{"id":"` + arrivals[0].ID + `","class":"` + name + `"}` + "\n",
			"--from {}/arrivals.jsonl --labels {}/class.jsonl", "class_name"},
		"typo.jsonl": {`{"id":"` + arrivals[0].ID + `","class_name":"` + name + `?"}` + "\n",
			"--from {}/arrivals.jsonl --labels {}/typo.jsonl", "the data have no class"},
		"index.jsonl": {`{"id":"` + arrivals[0].ID + `","class":9999}` + "\n",
			"--from {}/arrivals.jsonl --labels {}/index.jsonl", "the data have no class 9999"},
		"noids.jsonl": {`{"node":"x","class_name":"` + name + `"}` + "\n",
			"--from {}/arrivals.jsonl --labels {}/noids.jsonl", "id: is missing"},
		"short.jsonl":    {`{"id":"x","features":[1]}` + "\n", "--from {}/short.jsonl", "none of the arrivals can be used"},
		"flat.jsonl":     {`{"id":"x","age":1}` + "\n", "--from {}/flat.jsonl", "features: is missing"},
		"changes2.jsonl": {`{"op":"c","after":{"id":"x"}}` + "\n", "--from {}/changes2.jsonl", "input.mapping"},
	} {
		expect.OK(t, os.WriteFile(dir+"/"+file, []byte(tc.text), 0o600))
		_, err := runRefresh(t, dir, tc.flags+" --data {}/data --current {}/first --out {}/second --propagate=false")
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want an error with %q", file, err, tc.want)
		}
		if _, err := os.Stat(dir + "/second"); err == nil {
			t.Errorf("%s: an artifact was made", file)
		}
	}
	// One that can be used beside others is used.
	text := `{"id":"` + arrivals[0].ID + `","class":"` + name + `"}` + "\n" + `{"id":"` + arrivals[0].ID +
		`","class_name":"` + name + `"}` + "\n"
	expect.OK(t, os.WriteFile(dir+"/mixed.jsonl", []byte(text), 0o600))
	o, err := runRefresh(t, dir, "--from {}/arrivals.jsonl --labels {}/mixed.jsonl --data {}/data --current {}/first "+
		"--out {}/third --propagate=false --max-drop 100")
	if err != nil || o.Merged.Labels != 1 || o.Merged.LabelRefused["unparsable"] != 1 {
		t.Errorf("%+v, %v", o.Merged, err)
	}
}
