package main

import (
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/test/expect"
)

// Arrivals without features are merged with those that are stored under their ids, as if they had brought them; those
// of which nothing is stored are refused. A Redis that refuses this client ends the refresh before it trains.
func TestRefreshLooksFeaturesUp(t *testing.T) {
	t.Parallel()
	half, arrivals, labels := halvedOf(t, 20)
	whole := files(t, half, arrivals, labels)
	store := miniredis.RunT(t)
	bare := append([]event.Arrival{}, arrivals...)
	for i := range bare {
		value, err := read.FeaturesJSON.Append(nil, &arrivals[i].Features)
		expect.OK(t, err)
		expect.OK(t, store.Set("features:"+arrivals[i].ID, string(value)))
		bare[i].Features = event.Features{Absent: true}
	}
	dir := files(t, half, bare, labels)
	const line = "--data {}/data --from {}/arrivals.jsonl --labels {}/labels.jsonl --out {}/out --data-out {}/grown " +
		"--nodes 20 --own never --costs=false"
	want, err := runRefresh(t, whole, line)
	expect.OK(t, err)
	lookup := " --features.from redis --features.format json --features.url redis://" + store.Addr()
	got, err := runRefresh(t, dir, line+lookup)
	if err != nil || got.Merged.Joined != len(arrivals) || got.Merged.Joined != want.Merged.Joined ||
		*got.Accuracy != *want.Accuracy ||
		got.Merged.Refused["features_absent"] != 1 {
		t.Fatalf("%v: %+v, want %+v", err, got, want)
	}
	if a, b := mustRead(t, dir+"/out").Manifest.Data.Fingerprint,
		mustRead(t, whole+"/out").Manifest.Data.Fingerprint; a != b {
		t.Errorf("another graph than that of arrivals with their features: %s, want %s", a, b)
	}
	store.Del("features:" + arrivals[0].ID)
	again := files(t, half, bare, labels)
	if got, err = runRefresh(t, again, line+lookup); err != nil || got.Merged.Joined != len(arrivals)-1 ||
		got.Merged.Refused["features_absent"] != 2 {
		t.Errorf("with one key less: %v, %+v", err, got.Merged)
	}
	store.SetError("NOPERM this user has no permissions to run the 'getrange' command")
	refused := files(t, half, bare, labels)
	if _, err := runRefresh(t, refused, line+lookup); err == nil {
		t.Error("no error without the right to read features")
	} else if _, gone := os.Stat(refused + "/out"); gone == nil {
		t.Errorf("an artifact was made after %v", err)
	}
}
