package integration

import (
	"testing"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// arrivals is the number of test nodes of preset small.
const arrivals = 1500

// G9: A second publish begins to serve in mid-stream: every arrival is predicted once, by one version, and a batch by
// one too. The test nodes are sent again until both versions have answered, so that it does not matter how long a
// publish takes.
func TestTakeover(t *testing.T) {
	t.Parallel()
	w := newWorld(t, formatJSON)
	w.run("trainer", "publish", "--config", w.Path("publish-1.yaml"))
	consumer := w.consumer("consumer.yaml")
	replay := func() *harness.Process {
		return w.start("rivulet", "replay", "--config", w.Path("replay.yaml"), "--data", w.Path("data"), "--rate", "500")
	}
	first := replay()
	w.awaitPredictions(arrivals / 3)
	w.run("trainer", "publish", "--config", w.Path("publish-2.yaml"))
	w.must(first.Wait())
	versionsOf := func(all []event.Prediction) map[string]bool {
		versions := map[string]bool{}
		for _, p := range all {
			versions[p.Artifact] = true
		}
		return versions
	}
	sent := arrivals
	w.awaitPredictions(int64(sent))
	all := w.collected("predictions", arrivals)
	for rounds := 1; len(versionsOf(all)) < 2 && rounds < 5; rounds++ {
		w.must(replay().Wait())
		sent += arrivals
		w.awaitPredictions(int64(sent))
		all = w.collected("predictions", arrivals)
	}
	if len(all) != sent {
		t.Errorf("%d predictions of %d arrivals", len(all), sent)
	}
	versions, batches := map[string]int{}, map[string]string{}
	for _, p := range all {
		versions[p.Artifact]++
		if other, ok := batches[p.Batch]; ok && other != p.Artifact {
			t.Errorf("batch %s was served by %s and %s", p.Batch, other, p.Artifact)
		}
		batches[p.Batch] = p.Artifact
	}
	if len(versions) != 2 {
		t.Errorf("predictions by version: %v, want two versions", versions)
	}
	t.Logf("predictions by version: %v, in %d batches", versions, len(batches))
	w.drain(consumer)
	if lag := w.lag(); lag != 0 {
		t.Errorf("%d arrivals are not committed after the drain", lag)
	}
}

// G1, G3: Kill −9 in mid-stream and restart: nothing is lost, only arrivals in flight are predicted twice, and repeated
// predictions say the same. Arrivals and predictions are in Protobuf here, and in JSON in the other tests.
func TestKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, formatProtobuf)
	w.run("trainer", "publish", "--config", w.Path("publish-1.yaml"))
	first := w.consumer("consumer.yaml")
	replay := w.start("rivulet", "replay", "--config", w.Path("replay.yaml"), "--data", w.Path("data"), "--rate", "500",
		"--record-format", w.format)
	w.awaitPredictions(arrivals / 3)
	first.Kill()
	second := w.consumer("consumer.yaml")
	expect.OK(t, replay.Wait())
	all := w.collected("predictions", arrivals)
	said := map[string]event.Prediction{}
	for _, p := range all {
		if before, ok := said[p.ID]; ok && (before.Class != p.Class || before.Probability != p.Probability) {
			t.Errorf("arrival %s was predicted as %d (%v) and as %d (%v)", p.ID, before.Class, before.Probability, p.Class,
				p.Probability)
		}
		said[p.ID] = p
	}
	const inFlight = consumer.DefaultLanes * 32 // of batch.size
	if twice := len(all) - arrivals; twice > inFlight {
		t.Errorf("%d predictions came twice, at most %d were in flight", twice, inFlight)
	} else {
		t.Logf("%d predictions came twice", twice)
	}
	w.drain(second)
	if lag := w.lag(); lag != 0 {
		t.Errorf("%d arrivals are not committed after the drain", lag)
	}
}
