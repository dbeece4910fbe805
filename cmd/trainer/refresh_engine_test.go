package main

import (
	"os"
	"testing"

	"rivulet/test/expect"
)

// A refresh by stages makes the artifact that train makes of the graph with its arrivals, and leaves no tables; what
// stages do not have is said before anything is read.
func TestRefreshByStages(t *testing.T) {
	half, arrivals, labels := halved(t)
	dir := files(t, half, arrivals, labels)
	mustRun(t, dir, "train --sums fixed --data {}/data --out {}/first --nodes 40 --entries 3 --seed 5")
	const line = "--from {}/arrivals.jsonl --labels {}/labels.jsonl --data {}/data --current {}/first "
	o, err := runRefresh(t, dir, line+"--out {}/second --data-out {}/later --engine disk --memory 256MiB")
	expect.OK(t, err)
	if o.Merged.Joined != len(arrivals) || o.Nodes != 700 || *o.Accuracy < *o.Was {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(dir + "/second.work"); err == nil {
		t.Error("tables are left")
	}
	mustRun(t, dir, "train --sums fixed --data {}/later --out {}/trained --nodes 40 --entries 3 --seed 5")
	sameParts(t, dir+"/trained", dir+"/second")
	if a, b := mustRead(t, dir+"/trained").Manifest,
		mustRead(t, dir+"/second").Manifest; a.Data.Fingerprint != b.Data.Fingerprint {
		t.Errorf("the graph is %s, trained on %s", b.Data.Fingerprint, a.Data.Fingerprint)
	}
	for more, want := range map[string]string{
		"--engine disk --means": "means is set, a run of stages",
		"--engine spark":        "--engine spark: want --work",
		"--memory 1GiB":         "--memory and --work are for --engine disk",
	} {
		expect.Error(t, expect.ErrorOf(runRefresh(t, dir, line+"--out {}/third "+more)), want, "%s", more)
	}
}
