package serving

import (
	"sync"
	"time"
)

// A version is on trial after it has taken the place of another one: if too many of the first arrivals become dead
// letters, which they did not before, the watcher goes back to the version before. The version that CURRENT names is
// then refused, as one that cannot be loaded is, until it is mended, or activated with --other-data.

const (
	trialLeast = 100              // arrivals before which nothing is decided
	trialMost  = 10_000           // arrivals after which the trial is over
	trialLasts = 10 * time.Minute // and about how long it lasts at most, because the version before is kept meanwhile
)

// trial counts the dead letters of the version that serves.
type trial struct {
	mu       sync.Mutex
	share    float64  // of dead letters, over the last thousand arrivals or so of any version
	expected float64  // share when the trial began
	before   *Version // to go back to; nil: there is no trial
	serving  string   // id of the marker of before
	tried    string   // the version on trial, as [Watcher.refused] names it
	version  string   // its name and the id of its marker
	polls    int      // since the trial began
	records  int
	dead     int

	failed string // tried, of the version that was given up last
	given  string // its name and the id of its marker
	back   bool   // it was given up since the last poll
	reason error
	count  uint64 // versions that were given up
}

// begin puts a version, by its name and the id of its marker, on trial, unless it has failed one before.
func (t *trial) begin(before *Version, serving, tried, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before, t.serving, t.tried = nil, serving, tried
	t.version = version
	t.polls, t.records, t.dead, t.expected = 0, 0, 0, t.share
	if version != t.given {
		t.before = before
	}
}

// Delivered tells the watcher how many records a version has answered, and how many of them are dead letters; too many
// of these, and the watcher goes back to the version before.
func (w *Watcher) Delivered(version string, records, dead int) {
	t, bound := &w.trial, w.o.Rollback
	v := w.Current()
	if bound <= 0 || records == 0 || v == nil || v.ID() != version {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.share += (float64(dead)/float64(records) - t.share) * min(1, float64(records)/1000)
	if t.before == nil {
		return
	}
	t.records, t.dead = t.records+records, t.dead+dead
	share := float64(t.dead) / float64(t.records)
	if t.records >= trialLeast && share >= bound && t.expected < bound/2 {
		t.reason = refuse("version %s: %.0f%% of its first %d arrivals became dead letters, and %.0f%% of those before it",
			version, 100*share, t.records, 100*t.expected)
		if w.current.CompareAndSwap(v, t.before) {
			w.o.Log.Error("a new version makes dead letters of the stream: the version before serves again",
				"version", version, "serving", t.before.ID(), "arrivals", t.records, "dead_letters", t.dead)
			t.failed, t.given, t.back, t.share = t.tried, t.version, true, t.expected
			t.count++
		}
		t.before = nil
	} else if t.records >= trialMost {
		t.before = nil
	}
}

// Rollbacks returns how many versions the watcher has gone back from.
func (w *Watcher) Rollbacks() uint64 {
	w.trial.mu.Lock()
	defer w.trial.mu.Unlock()
	return w.trial.count
}

// settleTrial is called by each poll: it refuses a version that was given up, and ends a trial that has lasted.
func (w *Watcher) settleTrial() {
	t := &w.trial
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.back {
		t.back = false
		if w.tried == t.failed { // no other version has been taken meanwhile
			w.refused, w.reason, w.serving = t.failed, t.reason, t.serving
		}
	}
	if t.polls++; time.Duration(t.polls)*w.o.Interval >= trialLasts {
		t.before = nil
	}
}
