package serving

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/infer/target"
	"rivulet/serving/candidate"
	"rivulet/serving/script"
	"rivulet/test/expect"
)

// candidateWatcher returns a watcher that tries candidates.
func (s *server) candidateWatcher(t *testing.T, name string) (*Watcher, *lines) {
	t.Helper()
	w, log := s.watcher(t, name)
	w.o.Candidates = script.MostCandidates
	return w, log
}

// publishCandidate publishes a version beside CURRENT.
func (s *server) publishCandidate(t *testing.T, seed uint64, version string) {
	t.Helper()
	expect.OK(t, s.publisher(t).Publish(t.Context(), bundle(t, seed, version), PublishOptions{Candidate: true}))
}

// candidate returns the only candidate; the zero value: there is none.
func (s *server) candidate(t *testing.T) Candidate {
	t.Helper()
	c, err := s.publisher(t).Candidate(t.Context(), "")
	if err != nil && !errors.Is(err, ErrNoCandidate) {
		t.Fatal(err)
	}
	return c
}

// first returns the first candidate that a watcher has loaded, nil for none.
func first(w *Watcher) *Trial {
	for _, t := range w.Candidates() {
		return t
	}
	return nil
}

// The life of a candidate that is promoted: loaded beside CURRENT, spared by prunes, compared by two consumers, and
// taken over as it is loaded.
func TestACandidateIsPromoted(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		expect.Error(t, p.Publish(t.Context(), bundle(t, 1, "v1"), PublishOptions{Candidate: true}),
			"nothing serves", "a candidate beside nothing")
		s.publish(t, bundle(t, 1, "v1"))
		s.publishCandidate(t, 2, "v2")
		s.mustCurrent(t, "v1")
		c := s.candidate(t)
		if c.Version != "v2" || time.Since(c.Since).Abs() > time.Hour {
			t.Fatalf("the candidate is %+v", c)
		}
		s.publishCandidate(t, 2, "v2") // again: it stays, and keeps its figures
		if again := s.candidate(t); again != c {
			t.Errorf("published again, the candidate is %+v, was %+v", again, c)
		}
		if removed, err := p.Prune(t.Context(), 0); err != nil || len(removed) > 0 {
			t.Errorf("removed %q, %v", removed, err)
		}
		if err := p.Remove(t.Context(), "v2"); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "CANDIDATE") {
			t.Errorf("removing the candidate: %v", err)
		}
		infos, err := p.Versions(t.Context())
		if err != nil || len(infos) != 2 || !infos[0].Current || infos[0].Candidate || infos[1].Current ||
			!infos[1].Candidate {
			t.Errorf("versions %+v, %v", infos, err)
		}

		w, log := s.candidateWatcher(t, "a")
		plain, _ := s.watcher(t, "plain")
		mustServe(t, w, "v1")
		mustServe(t, plain, "v1")
		tried := first(w)
		if tried == nil || tried.ID() != "v2" || first(plain) != nil {
			t.Fatalf("candidates %v and %v", tried, first(plain))
		}
		mustAnswerLike(t, tried.Version, bundle(t, 2, "v2"))

		other, _ := s.candidateWatcher(t, "b")
		mustServe(t, other, "v1")
		for k, one := range []candidate.Comparison{
			{Arrivals: 10, Agreed: 6, Dead: 2, Labels: 5, Gain: 3, Loss: 1, P99: [2]float64{1, 3},
				Classes: map[string][2]int{"x": {8, 4}, "y": {0, 4}}},
			{Arrivals: 4, Agreed: 3, Labels: 1, Gain: 1, P99: [2]float64{2, 1}, Classes: map[string][2]int{"x": {4, 4}}},
			{Arrivals: 100, Agreed: 100}, // of an earlier candidate, and beside another version
			{Arrivals: 100, Agreed: 100},
		} {
			one.Current, one.Candidate, one.Consumers = "v1", tried.Candidate, 1
			by := []*Watcher{w, other, w, plain}[k]
			if k == 2 {
				one.Candidate = "v2 1"
			} else if k == 3 {
				one.Current = "v0"
			}
			expect.OK(t, by.Report(t.Context(), one))
		}
		sum, err := p.Compare(t.Context(), c)
		want := candidate.Comparison{Current: "v1", Candidate: tried.Candidate, Consumers: 2, Arrivals: 14, Agreed: 9,
			Dead:   2,
			Labels: 6, Gain: 4, Loss: 1, P99: [2]float64{2, 3}, Classes: map[string][2]int{"x": {12, 8}, "y": {0, 4}}}
		if diff := cmp.Diff(want, sum); err != nil || diff != "" {
			t.Errorf("%v, compared (-want +got):\n%s", err, diff)
		}
		if sum.Agreement() != 0.75 || sum.Shift() != 8./12/2 || sum.P() != 0.21875 { // 2·(1/32) + 5/32
			t.Errorf("agreement %v, shift %v, p %v", sum.Agreement(), sum.Shift(), sum.P())
		}

		log.take()
		if d, err := p.Promote(t.Context(), c, candidate.ByHand, "better"); err != nil || d.Version != "v2" ||
			d.Before != "v1" {
			t.Fatalf("%+v, %v", d, err)
		}
		s.mustCurrent(t, "v2")
		mustServe(t, w, "v2")
		if w.Current() != tried.Version || first(w) != nil {
			t.Error("the candidate was loaded again, or is still tried")
		}
		if got := log.take(); len(got) != 2 || !strings.Contains(got[0], `msg="serving version" version=v2 previous=v1`) ||
			!strings.Contains(got[1], `msg="the candidate is not tried any more" candidate=v2`) ||
			!strings.Contains(got[1], "better") {
			t.Errorf("logged %q", got)
		}
		for _, do := range []func() (candidate.Decision, error){
			func() (candidate.Decision, error) { return p.Abort(t.Context(), c, candidate.ByHand, "") },
			func() (candidate.Decision, error) { return p.Abort(t.Context(), s.candidate(t), candidate.ByHand, "") },
		} {
			if _, err := do(); err == nil {
				t.Error("decided again")
			}
		}
		history, err := p.History(t.Context())
		expect.OK(t, err)
		var told []string
		for _, d := range history {
			told = append(told, fmt.Sprint(d.Action, " ", d.Version, " ", d.Before, " ", d.By, " ", d.Reason))
		}
		if want := []string{"publish v1  hand ", "candidate v2  hand ", "promote v2 v1 hand better"}; !slices.Equal(told,
			want) {
			t.Errorf("the history is %q, want %q", told, want)
		}
		if last := history[2]; last.Comparison == nil || last.Comparison.Gain != 4 || last.Time.Before(history[1].Time) {
			t.Errorf("the promotion is %+v", last)
		}
	})
}

// Several candidates are tried at once: each has figures of its own, is decided by its name, and stays while another is
// given up or promoted.
func TestSeveralCandidates(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		for k := range script.MostCandidates {
			s.publishCandidate(t, uint64(k), fmt.Sprintf("c%d", k))
		}
		expect.Error(t, p.Publish(t.Context(), bundle(t, 9, "c9"), PublishOptions{Candidate: true}),
			"there are 4 candidates", "one too many")
		if _, err := p.Candidate(t.Context(), ""); err == nil || !strings.Contains(err.Error(),
			"name one of c0, c1, c2, c3") {
			t.Errorf("which of them: %v", err)
		}
		w, _ := s.candidateWatcher(t, "a")
		canary, _ := s.candidateWatcher(t, "b")
		canary.o.Candidates = 1
		mustServe(t, w, "v1")
		mustServe(t, canary, "v1")
		tried := func(of *Watcher) (names []string) {
			for _, trial := range of.Candidates() {
				names = append(names, trial.ID())
			}
			return names
		}
		if got, one := tried(w), tried(canary); !slices.Equal(got, []string{"c0", "c1", "c2", "c3"}) ||
			!slices.Equal(one, []string{"c0"}) {
			t.Errorf("tried are %q, by a canary %q", got, one)
		}
		for k, trial := range w.Candidates() {
			if err := w.Report(t.Context(), candidate.Comparison{Current: "v1", Candidate: trial.Candidate, Consumers: 1,
				Arrivals: 100 * k, Labels: 200, Gain: 100 * k, Loss: 50}); err != nil {
				t.Fatal(err)
			}
		}
		if removed, err := p.Prune(t.Context(), 0); err != nil || len(removed) > 0 {
			t.Errorf("removed %q, %v", removed, err)
		}
		one, err := p.Candidate(t.Context(), "c1")
		expect.OK(t, err)
		if _, err := p.Abort(t.Context(), one, candidate.ByHand, "slow"); err != nil {
			t.Fatal(err)
		}
		rule := candidate.Rule{Labels: 200, P: 0.05}
		d, err := p.Decide(t.Context(), "c2", rule)
		if err != nil || d.Action != candidate.ActionPromote || d.Comparison.Gain != 200 {
			t.Errorf("%+v, %v", d, err)
		}
		mustServe(t, w, "c2")
		if got := tried(w); !slices.Equal(got, []string{"c0", "c3"}) {
			t.Errorf("c1 is given up, c2 serves, and tried are %q", got)
		}
		// Beside the new version everything is compared anew.
		if d, err := p.Decide(t.Context(), "c3", rule); err != nil || d.Action != "" {
			t.Errorf("%+v, %v", d, err)
		}
		if _, err := p.Decide(t.Context(), "c1", rule); !errors.Is(err, ErrNoCandidate) {
			t.Errorf("a candidate that was given up: %v", err)
		}
	})
}

// A candidate that is given up goes from the consumers, and is pruned before the version to which one would roll back.
func TestACandidateIsAborted(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		for k := range 2 {
			s.publish(t, bundle(t, uint64(k), fmt.Sprintf("v%d", k)))
		}
		s.publishCandidate(t, 2, "v2")
		w, _ := s.candidateWatcher(t, "a")
		mustServe(t, w, "v1")
		stale := s.candidate(t)
		stale.line += "0"
		if _, err := p.Abort(t.Context(), stale, candidate.ByRule, ""); !errors.Is(err, ErrNoCandidate) {
			t.Errorf("a decision about an earlier trial: %v", err)
		}
		if _, err := p.Promote(t.Context(), stale, candidate.ByRule, ""); !errors.Is(err, ErrNoCandidate) {
			t.Errorf("a decision about an earlier trial: %v", err)
		}
		if d, err := p.Abort(t.Context(), s.candidate(t), candidate.ByRule, "worse"); err != nil || d.Before != "v1" {
			t.Fatalf("%+v, %v", d, err)
		}
		mustServe(t, w, "v1")
		if first(w) != nil || s.candidate(t).Version != "" {
			t.Error("it is still tried")
		}
		if err := w.Report(t.Context(), candidate.Comparison{Candidate: stale.line, Current: "v1"}); err != nil {
			t.Error(err)
		}
		w.leave(t.Context())
		if removed, err := p.Prune(t.Context(), 1); err != nil || !slices.Equal(removed, []string{"v2"}) {
			t.Errorf("removed %q (%v), want v2: v0 is there to roll back to", removed, err)
		}
	})
}

// A candidate of other data is refused by publishers and consumers, unless that is meant; one that cannot be loaded is
// logged once, and CURRENT goes on serving and changing.
func TestACandidateThatCannotBeTried(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		other := bundle(t, 2, "v2")
		other.Manifest.Data.Classes[0] += "'"
		expect.OK(t, other.Seal())
		var otherData *OtherDataError
		if err := p.Publish(t.Context(), other, PublishOptions{Candidate: true}); !errors.As(err, &otherData) {
			t.Errorf("a candidate of other data: %v", err)
		}
		expect.OK(t, p.Publish(t.Context(), other, PublishOptions{Candidate: true, OtherData: true}))
		w, log := s.candidateWatcher(t, "a")
		mustServe(t, w, "v1")
		if first(w) == nil {
			t.Fatal("a candidate that was allowed is not tried")
		}
		if _, err := p.Abort(t.Context(), s.candidate(t), candidate.ByHand, ""); err != nil {
			t.Fatal(err)
		}
		s.publishCandidate(t, 3, "v3")
		for _, key := range s.data(t, "v3:") {
			s.client.Del(t.Context(), key)
		}
		log.take()
		for range 3 {
			mustServe(t, w, "v1")
		}
		if got := log.take(); len(got) != 2 || !strings.Contains(got[0], "the candidate cannot be tried") ||
			!strings.Contains(got[1], `is not tried any more" candidate=v2`) || first(w) != nil {
			t.Errorf("logged %q, want once that v3 cannot be tried, and that v2 is not", got)
		}
		s.publish(t, bundle(t, 4, "v4"))
		mustServe(t, w, "v4")
	})
}

// An artifact of another task is one of other data. It is served where that is meant, with its intervals, and is not
// tried as a candidate, which is compared by its classes.
func TestNumbersAreOtherDataAndNoCandidate(t *testing.T) {
	for task, of := range map[target.Task]func(*artifact.Bundle) *artifact.Bundle{
		target.Number: artifacttest.Numbers, target.Labels: artifacttest.Labels, target.Links: artifacttest.Links} {
		t.Run(task.String(), func(t *testing.T) { otherTask(t, task, of) })
	}
}

func otherTask(t *testing.T, task target.Task, of func(*artifact.Bundle) *artifact.Bundle) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		other := sealed(t, of(bundle(t, 2, "v2")), "v2")
		var refused *OtherDataError
		if err := p.Publish(t.Context(), other, PublishOptions{}); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "the task is "+task.String()+" in place of classes") {
			t.Errorf("another task: %v", err)
		}
		notTried := "the task is " + task.String() + ", and the trial of a candidate is for classes only"
		err := p.Publish(t.Context(), other, PublishOptions{Candidate: true, OtherData: true})
		if err == nil || !strings.Contains(err.Error(), notTried) || s.candidate(t).Version != "" {
			t.Errorf("a candidate of another task: %v", err)
		}
		w, log := s.candidateWatcher(t, "a")
		mustServe(t, w, "v1")
		expect.OK(t, p.Publish(t.Context(), other, PublishOptions{OtherData: true}))
		mustServe(t, w, "v2")
		if v := w.Current(); v.Task() != task || (v.Candidates() != nil) != (task == target.Links) ||
			v.Candidates() == nil && len(v.Radius()) != 4 && len(v.Calibration().Temperatures) != 4 {
			t.Errorf("v2 serves task %s with radii %v and candidates %v", v.Task(), v.Radius(), v.Candidates())
		}
		expect.OK(t, p.Publish(t.Context(), bundle(t, 3, "v3"), PublishOptions{Candidate: true, OtherData: true}))
		log.take()
		mustServe(t, w, "v2")
		if got := strings.Join(log.take(), "\n"); first(w) != nil || !strings.Contains(got, notTried) {
			t.Errorf("a candidate of classes beside another task: %s", got)
		}
	})
}
