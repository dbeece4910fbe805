package main

import (
	"slices"
	"testing"

	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

func TestPossible(t *testing.T) {
	has := func(w *world.World, only, name string) bool {
		return slices.ContainsFunc(possible(w, only), func(f fault) bool { return f.name == name })
	}
	alone := &world.World{Services: world.Services{Brokers: make(harness.Brokers, 1), Redis: new(harness.Redis)}}
	three := &world.World{Services: world.Services{Brokers: make(harness.Brokers, 3), Watched: new(harness.Watched)},
		OldBin: "bin"}
	for name, in := range map[string][2]bool{ // alone, three
		"leader of arrivals killed and started": {false, true}, "Redis master killed, its replica promoted": {false, true},
		"Redis hung (SIGSTOP)": {true, false}, "old and new programs in one group": {false, true}, several.name: {true, true},
	} {
		if got := [2]bool{has(alone, "", name), has(three, "", name)}; got != in {
			t.Errorf("%s: %v, want %v", name, got, in)
		}
	}
	if got := possible(alone, "poison|Redis hung"); len(got) != 3 {
		t.Errorf("%d faults of two words, want 3: %v", len(got), got)
	}
	few := &world.World{Services: alone.Services, Options: world.Options{Streams: "least_once, degrade"}}
	if has(few, "", "topic of arrivals deleted and made anew") || !has(few, "", "refresh killed, then run to its end") {
		t.Error("the stream that refreshes read is made anew, or is not refreshed")
	}
}

// The page must say what the version says of an arrival, and never a degraded answer.
func TestCheckPage(t *testing.T) {
	says := func(version, id string) (string, bool) {
		return "class 1 cats, probability 3f000000, probabilities", version == "v" && id == "n"
	}
	for body, right := range map[string]bool{
		`{"id":"n","artifact":"v","class":1,"class_name":"cats","probability":0.5}`:                 true,
		`{"id":"n","artifact":"v","class":1,"class_name":"cats","probability":0.50001}`:             false,
		`{"id":"n","artifact":"v","class":2,"class_name":"dogs","probability":0.5}`:                 false,
		`{"id":"n","artifact":"w","class":1,"class_name":"cats","probability":0.5}`:                 false,
		`{"id":"m","artifact":"v","class":1,"class_name":"cats","probability":0.5}`:                 false,
		`{"id":"n","artifact":"v","class":1,"class_name":"cats","probability":0.5,"degraded":true}`: false,
		`<html>`: false,
	} {
		if got := checkPage(says, "n", []byte(body)); (got == "") != right {
			t.Errorf("%s: %q", body, got)
		}
	}
}
