package serving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rivulet/mapping"
	"rivulet/serving/candidate"
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// Candidate is a version that consumers may try beside the one that serves.
type Candidate struct {
	Version string
	Since   time.Time // by Redis' clock

	line string // of the key's value
}

// ErrNoCandidate means that CANDIDATE names no version, or not this one any more.
var ErrNoCandidate = errors.New("there is no candidate")

// Candidates returns the versions that CANDIDATE names, first the one that was published first.
func (p *Publisher) Candidates(ctx context.Context) ([]Candidate, error) {
	return readCandidates(ctx, p.client, p.keys)
}

func readCandidates(ctx context.Context, client mapping.Client, k keyspace.Keys) (all []Candidate, err error) {
	value, err := client.Get(ctx, k.Candidate).Result()
	if mapping.Failed(err) {
		return nil, fmt.Errorf("reading %s: %w", k.Candidate, err)
	}
	for _, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' }) {
		version, since, _ := strings.Cut(line, " ")
		all = append(all, Candidate{Version: version, Since: millis(since), line: line})
	}
	return all, nil
}

// Candidate returns the candidate of a version, or of "" the only one. It returns [ErrNoCandidate] if there is none.
func (p *Publisher) Candidate(ctx context.Context, version string) (Candidate, error) {
	all, err := p.Candidates(ctx)
	if err != nil {
		return Candidate{}, err
	}
	if version == "" && len(all) > 1 {
		var names []string
		for _, c := range all {
			names = append(names, c.Version)
		}
		return Candidate{}, fmt.Errorf("there are several candidates: name one of %s", strings.Join(names, ", "))
	}
	for _, c := range all {
		if version == "" || c.Version == version {
			return c, nil
		}
	}
	if version != "" {
		return Candidate{}, fmt.Errorf("version %s: %w of this name", version, ErrNoCandidate)
	}
	return Candidate{}, ErrNoCandidate
}

// setCandidate makes a complete version a candidate.
func (p *Publisher) setCandidate(ctx context.Context, version string) error {
	k := p.keys
	d := candidate.Decision{Action: candidate.ActionCandidate, Version: version, By: candidate.ByHand}
	answer, err := script.SetCandidate.Run(ctx, p.client, []string{k.Candidate, k.Complete(version), k.Current,
		k.Comparison, k.History}, version, d.Text(), script.MostCandidates).Text()
	switch {
	case err != nil:
		return fmt.Errorf("setting %s: %w", k.Candidate, err)
	case answer == "incomplete":
		return fmt.Errorf("setting CANDIDATE to %q: %w", version, ErrIncomplete)
	case answer == "current":
		return fmt.Errorf("setting CANDIDATE to %q: it is CURRENT", version)
	case answer == "none":
		return fmt.Errorf("setting CANDIDATE to %q: nothing serves, so publish it as CURRENT", version)
	case answer == "full":
		return fmt.Errorf("setting CANDIDATE to %q: there are %d candidates, and more may not be: promote or abort one",
			version, script.MostCandidates)
	}
	return nil
}

// Promote makes a candidate CURRENT, if it still is one. It passes the gate of [Publisher.SetCurrent],
// unless it was published for other data, and returns the errors of it, and [ErrNoCandidate].
func (p *Publisher) Promote(ctx context.Context, c Candidate, by, reason string) (candidate.Decision, error) {
	d, err := p.decision(ctx, c, candidate.ActionPromote, by, reason)
	if err != nil {
		return d, err
	}
	other, err := p.client.HGet(ctx, p.keys.Complete(c.Version), fieldOtherData).Result()
	if mapping.Failed(err) {
		return d, fmt.Errorf("reading %s: %w", p.keys.Complete(c.Version), err)
	}
	if other == "" {
		if err := p.admitStored(ctx, c.Version, d.Before); err != nil {
			return d, err
		}
	}
	return d, p.move(ctx, c.Version, d.Before, c.line, d)
}

// Abort ends the trial of a candidate; the version stays in Redis until it is pruned. It returns [ErrNoCandidate] if it
// is none any more.
func (p *Publisher) Abort(ctx context.Context, c Candidate, by, reason string) (candidate.Decision, error) {
	d, err := p.decision(ctx, c, candidate.ActionAbort, by, reason)
	if err != nil {
		return d, err
	}
	k := p.keys
	done, err := script.AbortCandidate.Run(ctx, p.client, []string{k.Candidate, k.Complete(c.Version), k.History},
		c.Version, c.line, d.Text()).Bool()
	switch {
	case err != nil:
		return d, fmt.Errorf("setting %s: %w", k.Candidate, err)
	case !done:
		return d, fmt.Errorf("aborting %q: %w of this name any more", c.Version, ErrNoCandidate)
	}
	return d, nil
}

// Decide promotes a candidate or gives it up as a rule says; version may be "" as for Candidate. The decision's Action
// is empty where it is too early to decide, and its Reason says why. Each look at the labels is taken once, whichever
// process asks. It returns [ErrNoCandidate], and the errors of [Publisher.Promote].
func (p *Publisher) Decide(ctx context.Context, version string, r candidate.Rule) (d candidate.Decision, err error) {
	c, err := p.Candidate(ctx, version)
	if err != nil {
		return d, err
	}
	sum, err := p.Compare(ctx, c)
	if err != nil {
		return d, err
	}
	action, reason := r.Judge(sum)
	if k := r.Look(sum.Labels); action == "" && sum.Arrivals >= r.Arrivals && k >= 0 {
		first, err := script.Look.Run(ctx, p.client, []string{p.keys.Comparison},
			fmt.Sprint("look ", k, " at ", sum.Current, " and ", c.line)).Bool()
		if err != nil {
			return d, fmt.Errorf("looking at the labels: %w", err)
		}
		if first {
			action, reason = r.Test(sum, k)
		}
	}
	switch action {
	case candidate.ActionPromote:
		return p.Promote(ctx, c, candidate.ByRule, reason)
	case candidate.ActionAbort:
		return p.Abort(ctx, c, candidate.ByRule, reason)
	}
	return candidate.Decision{Version: c.Version, Before: sum.Current, By: candidate.ByRule, Reason: reason}, nil
}

// decision returns a decision about a candidate, with the figures of the comparison.
func (p *Publisher) decision(ctx context.Context, c Candidate, action, by, reason string) (candidate.Decision, error) {
	if c.Version == "" {
		return candidate.Decision{}, ErrNoCandidate
	}
	sum, err := p.Compare(ctx, c)
	if err != nil {
		return candidate.Decision{}, err
	}
	sum.Classes = nil // the history has a thousand decisions, and a graph may have as many classes
	return candidate.Decision{Action: action, Version: c.Version, Before: sum.Current, By: by, Reason: reason,
		Comparison: &sum}, nil
}

// historyKept is how many decisions stay in Redis when versions are pruned.
const historyKept = 1000

// History returns the decisions about CURRENT and CANDIDATE, oldest first.
func (p *Publisher) History(ctx context.Context) ([]candidate.Decision, error) {
	all, fields, err := p.history(ctx)
	if err != nil {
		return nil, err
	}
	decisions := make([]candidate.Decision, len(fields))
	for k, field := range fields {
		if err := json.Unmarshal([]byte(all[field]), &decisions[k]); err != nil {
			return nil, fmt.Errorf("reading %s: field %q: %w", p.keys.History, field, err)
		}
		ms, _, _ := strings.Cut(field, " ")
		decisions[k].Time = millis(ms)
	}
	return decisions, nil
}

// history returns the stored decisions by their fields, and the fields, oldest first.
func (p *Publisher) history(ctx context.Context) (all map[string]string, fields []string, err error) {
	if all, err = p.client.HGetAll(ctx, p.keys.History).Result(); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.keys.History, err)
	}
	for field := range all {
		if field != script.LastDecision {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields) // ms have 13 digits until 2286
	return all, fields, nil
}

// trimHistory removes the oldest decisions.
func (p *Publisher) trimHistory(ctx context.Context) error {
	_, fields, err := p.history(ctx)
	if err != nil || len(fields) <= historyKept {
		return err
	}
	if err := p.client.HDel(ctx, p.keys.History, fields[:len(fields)-historyKept]...).Err(); err != nil {
		return fmt.Errorf("removing old decisions: %w", err)
	}
	return nil
}

// Trial is a candidate that a watcher has loaded beside the version that serves.
type Trial struct {
	*Version
	Candidate string // for [candidate.Comparison]

	id string // of its marker
}

// Candidates returns the candidates that are loaded. Do not hold them longer than a batch lasts.
func (w *Watcher) Candidates() []*Trial {
	if all := w.candidates.Load(); all != nil {
		return *all
	}
	return nil
}

// candidateState is the watcher's memory of a candidate from poll to poll.
type candidateState struct {
	refused string // the candidate that was refused, beside which version
	reason  error
	trouble string // the problem that was logged last
}

// followCandidates reads CANDIDATE and loads the versions that it names beside the one that serves. What fails is
// logged once, and concerns nobody else.
func (w *Watcher) followCandidates(ctx context.Context) {
	all, err := readCandidates(ctx, w.loader.client, w.loader.keys)
	if err != nil {
		w.tell(ctx, "", err)
		return
	}
	if len(all) > w.o.Candidates {
		all = all[:w.o.Candidates]
	}
	var next []*Trial
	names := map[string]bool{"": true}
	for _, c := range all {
		now := w.trialOf(c.Version)
		if serves := w.Current(); serves != nil && serves.ID() != c.Version {
			now, err = w.tryCandidate(ctx, c, serves, now)
			w.tell(ctx, c.Version, err)
			names[c.Version] = true
		} else {
			now = nil
		}
		if now != nil {
			next = append(next, now)
		}
	}
	w.tell(ctx, "", nil)
	for _, now := range w.Candidates() {
		if !names[now.ID()] {
			decision, _ := w.loader.client.HGet(ctx, w.loader.keys.History, script.LastDecision).Result()
			w.o.Log.Info("the candidate is not tried any more", "candidate", now.ID(), "decision", decision)
		}
	}
	maps.DeleteFunc(w.candidateStates, func(name string, _ *candidateState) bool { return !names[name] })
	w.candidates.Store(&next)
}

// trialOf returns the candidate of a version that is loaded; nil: there is none.
func (w *Watcher) trialOf(version string) *Trial {
	for _, t := range w.Candidates() {
		if t.ID() == version {
			return t
		}
	}
	return nil
}

// stateOf returns the state of a candidate.
func (w *Watcher) stateOf(version string) *candidateState {
	if w.candidateStates[version] == nil {
		w.candidateStates[version] = &candidateState{}
	}
	return w.candidateStates[version]
}

// tell logs why a candidate cannot be tried, once; of "" why none can.
func (w *Watcher) tell(ctx context.Context, version string, err error) {
	reason := ""
	switch {
	case errors.As(err, new(refusal)):
		reason = err.Error()
	case err != nil:
		reason = "unreachable" // the error texts of one outage differ in ports and times
	}
	state := w.stateOf(version)
	if reason != "" && reason != state.trouble && ctx.Err() == nil {
		w.o.Log.Warn("the candidate cannot be tried", "error", err)
	}
	state.trouble = reason
}

// tryCandidate returns the trial of a candidate: now, if it is that, or one that it loads. It returns now also with an
// error that may pass.
func (w *Watcher) tryCandidate(ctx context.Context, c Candidate, serves *Version, now *Trial) (*Trial, error) {
	id, err := w.held.beat(ctx, c.Version)
	if err != nil && !mapping.TakesNoWrites(err) {
		return now, err
	}
	if now != nil && now.Candidate == c.line && now.id == id {
		return now, nil
	}
	state, tried := w.stateOf(c.Version), c.line+" "+id+" "+serves.ID()
	if state.refused == tried {
		return nil, state.reason
	}
	v, warnings, err := w.loadCandidate(ctx, c.Version, id, serves)
	if errors.As(err, new(refusal)) {
		state.refused, state.reason = tried, err
		return nil, err
	}
	if err != nil {
		return now, err
	}
	w.held.add(v)
	w.warnOf(v, warnings)
	w.o.Log.Info("trying a candidate", "candidate", v.ID(), "serving", serves.ID(), "model", v.Model(), "attachment",
		v.Attachment(), "calibration", v.Calibration().Kind, "rows", v.manifest.Mapping.Rows, "since", c.Since)
	return &Trial{Version: v, Candidate: c.line, id: id}, nil
}

// loadCandidate loads a version, which must pass the gate of a version that is served.
func (w *Watcher) loadCandidate(ctx context.Context, version, id string, serves *Version) (*Version, []string, error) {
	if id == "" {
		return nil, nil, refuse("candidate %s: %w: it is incomplete, or has been removed", version, ErrIncomplete)
	}
	v, sample, warnings, err := w.loader.load(ctx, version, id, func() error {
		_, err := w.held.beat(ctx, version)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("loading candidate %s: %w", version, err)
	}
	if err := cmp.Or(v.Task(), serves.Task()).Require("the trial of a candidate"); err != nil {
		return nil, nil, refuse("candidate %s: %w", version, err)
	}
	other, err := w.loader.client.HGet(ctx, w.loader.keys.Complete(version), fieldOtherData).Result()
	if mapping.Failed(err) {
		return nil, nil, fmt.Errorf("reading %s: %w", w.loader.keys.Complete(version), err)
	}
	if other == "" {
		if err := compare(ctx, v, serves, sample); errors.As(err, new(*OtherDataError)) {
			return nil, nil, refusal{err}
		} else if err != nil {
			return nil, nil, err
		}
	}
	return v, warnings, nil
}

// Compare returns the sum of all consumers' counts for a candidate beside CURRENT, as that is now.
func (p *Publisher) Compare(ctx context.Context, c Candidate) (sum candidate.Comparison, err error) {
	current, err := p.Current(ctx)
	if err != nil {
		return sum, err
	}
	all, err := p.client.HGetAll(ctx, p.keys.Comparison).Result()
	if err != nil {
		return sum, fmt.Errorf("reading %s: %w", p.keys.Comparison, err)
	}
	sum = candidate.Comparison{Current: current, Candidate: c.line}
	for field, text := range all {
		if text == "" {
			continue // a look
		}
		var one candidate.Comparison
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return sum, fmt.Errorf("reading %s: field %q: %w", p.keys.Comparison, field, err)
		}
		if one.Candidate == c.line && one.Current == current {
			sum.Add(one)
		}
	}
	return sum, nil
}

// Report writes this consumer's counts of a candidate, if that still is one.
func (w *Watcher) Report(ctx context.Context, c candidate.Comparison) error {
	text, err := json.Marshal(c)
	if err == nil {
		k := w.loader.keys
		err = script.Report.Run(ctx, w.loader.client, []string{k.Candidate, k.Comparison}, c.Candidate,
			w.held.by+" "+c.Version(), text).Err()
	}
	if err != nil {
		return fmt.Errorf("reporting how a candidate compares: %w", err)
	}
	return nil
}
