package world

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// A version counts as complete from its first publication: two publishers may bring one artifact, and consumers serve
// it before the second one is done.
func TestTheFirstOfTwoPublishersMakesAVersionComplete(t *testing.T) {
	store := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = store.Close() })
	w := &World{Versions: newVersions(), Services: Services{Store: store}}
	bundle := artifacttest.Bundle(1, artifacttest.Size{})
	dir := t.TempDir() + "/artifact"
	expect.OK(t, artifact.Write(dir, bundle)) // which seals it
	bundle, err := artifact.Read(dir)
	expect.OK(t, err)
	version := bundle.Manifest.Version
	publisher, err := serving.NewPublisher(store, Prefix)
	expect.OK(t, err)
	publish := func() {
		t.Helper()
		expect.OK(t, publisher.Publish(t.Context(), bundle, serving.PublishOptions{Keep: -1}))
	}

	begun := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.watchMarkers(ctx) }()
	defer func() { stop(); <-ended }()
	publish()
	expect.OK(t, harness.Await(ctx, time.Minute, "the version is seen", func() bool { return len(w.Complete()) == 1 }))
	done := time.Now()
	expect.OK(t, harness.Sleep(ctx, 5*poll))
	publish() // its marker has a new time
	second, err := store.HGet(ctx, "{"+Prefix+"}:"+version+":complete", "published_ms").Int64()
	expect.OK(t, err)
	if !time.UnixMilli(second).After(done) {
		t.Fatalf("the marker was not written again: it says %v", time.UnixMilli(second))
	}
	expect.OK(t, harness.Sleep(ctx, 5*poll))
	if at := w.Complete()[version]; at.Before(begun) || at.After(done) {
		t.Errorf("complete at %v, want a time between %v and %v", at, begun, done)
	}
	expect.OK(t, w.EraseVersion(ctx, version))
	publish()
	expect.OK(t, harness.Sleep(ctx, 5*poll))
	if at := w.Complete()[version]; at.After(done) {
		t.Errorf("erased and published again, it is complete since %v", at)
	}
}
