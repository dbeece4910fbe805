package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// eval --json has each run of a method that learns S, with what a report draws; other methods have none.
func TestEvalWritesLearnedRuns(t *testing.T) {
	t.Parallel()
	out, err := harness.Execute(root(), strings.Fields("eval --preset small --preset-nodes 200 --nodes 8 --costs=false "+
		"--methods solved,learned,gcond --ablations --seeds 3 --rounds 1 --calibrations none --json")...)
	expect.OK(t, err)
	var got measurements
	expect.OK(t, json.Unmarshal([]byte(out), &got))
	var names []string
	for _, run := range got.Learned {
		names = append(names, run.Method)
		withM := run.Method != "gcond"
		if run.Seed != 3 || run.SyntheticNodes != 8 || run.Rounds != 1 || len(run.Losses["gra"]) == 0 ||
			(len(run.Losses["tra"]) > 0) != withM || (len(run.MapAfter) == len(got.Classes)) != withM ||
			len(run.MapAfter) != len(run.MapBefore) || len(run.Thresholds) == 0 {
			t.Errorf("%s: %+v", run.Method, run)
		}
		for _, row := range run.MapAfter {
			if len(row) != len(got.Classes) {
				t.Errorf("%s: a row of M by classes has %d values", run.Method, len(row))
			}
		}
	}
	expect.Same(t, []string{"learned", "learned plain", "learned without L_str", "learned without L_ind",
		"learned random M", "gcond"}, names, "learned runs")
}

// A loss that is not finite is null, as JSON has no number for it.
func TestLossesInJSON(t *testing.T) {
	text, err := json.Marshal(losses{1.5, math.NaN(), math.Inf(1), 1e-9, 1.0 / 3})
	expect.OK(t, err)
	expect.Same(t, "[1.5,null,null,1e-09,0.333333]", string(text), "losses")
	if empty, err := json.Marshal(losses(nil)); err != nil || !slices.Equal(empty, []byte("[]")) {
		t.Errorf("no losses: %s, %v", empty, err)
	}
}
