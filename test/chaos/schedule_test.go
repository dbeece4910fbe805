package main

import (
	"slices"
	"testing"

	"rivulet/test/chaos/client"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/services"
	"rivulet/test/harness"
)

func TestPossible(t *testing.T) {
	has := func(w *world, only, name string) bool {
		return slices.ContainsFunc(possible(w, only), func(f fault) bool { return f.name == name })
	}
	alone := &world{Services: services.Services{Brokers: make(harness.Brokers, 1), Redis: new(harness.Redis)}}
	three := &world{Services: services.Services{Brokers: make(harness.Brokers, 3), Watched: new(harness.Watched)},
		oldBin: "bin"}
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
	few := &world{Services: alone.Services, options: options{streams: "least_once, degrade"}}
	if has(few, "", "topic of arrivals deleted and made anew") || !has(few, "", "refresh killed, then run to its end") {
		t.Error("the stream that refreshes read is made anew, or is not refreshed")
	}
}

// A record counts for the window that it names, also if that is over when it is sent.
func TestRecordsCountForTheirWindow(t *testing.T) {
	s := &stream{name: "stream", ledger: ledger.New(false, false, nil)}
	s.window.Store(1)
	r := s.record([]byte("key"), "id", record.Value{})
	s.window.Store(2)
	s.settled.Store(true)
	s.gave(r)
	s.noteArrival(0, r)
	if s.ledger.Answered(1, false) || !s.ledger.Answered(0, true) {
		t.Error("the record does not count for window 1, before its fault was over")
	}
	s.ledger.Answer(ledger.Place{}, ledger.Answer{Key: "key", ID: "id", Reason: "unparsable"})
	if !s.ledger.Answered(1, true) {
		t.Error("the record's answer does not count for window 1")
	}
}

// The page must say what the version says of an arrival, and never a degraded answer.
func TestCheckPage(t *testing.T) {
	w := &world{said: map[string]map[string]string{"v": {"n": "class 1 cats, probability 3f000000, probabilities"}}}
	for body, right := range map[string]bool{
		`{"id":"n","artifact":"v","class":1,"class_name":"cats","probability":0.5}`:                 true,
		`{"id":"n","artifact":"v","class":1,"class_name":"cats","probability":0.50001}`:             false,
		`{"id":"n","artifact":"v","class":2,"class_name":"dogs","probability":0.5}`:                 false,
		`{"id":"n","artifact":"w","class":1,"class_name":"cats","probability":0.5}`:                 false,
		`{"id":"m","artifact":"v","class":1,"class_name":"cats","probability":0.5}`:                 false,
		`{"id":"n","artifact":"v","class":1,"class_name":"cats","probability":0.5,"degraded":true}`: false,
		`<html>`: false,
	} {
		if got := w.checkPage(client.Answer{ID: "n", Body: []byte(body)}); (len(got) == 0) != right {
			t.Errorf("%s: %q", body, got)
		}
	}
}
