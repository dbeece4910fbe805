package serving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rivulet/mapping"
	"rivulet/serving/candidate"
	"rivulet/serving/keyspace"
)

// Candidate is the version that consumers may try beside the one that serves.
type Candidate struct {
	Version string    // "": there is none
	Since   time.Time // by Redis' clock

	value string // of the key
}

// ErrNoCandidate means that CANDIDATE names no version, or another one by now.
var ErrNoCandidate = errors.New("there is no candidate")

// Candidate returns the version that CANDIDATE names.
func (p *Publisher) Candidate(ctx context.Context) (Candidate, error) {
	return readCandidate(ctx, p.client, p.keys)
}

func readCandidate(ctx context.Context, client mapping.Client, k keyspace.Keys) (c Candidate, err error) {
	value, err := client.Get(ctx, k.Candidate).Result()
	if mapping.Failed(err) {
		return c, fmt.Errorf("reading %s: %w", k.Candidate, err)
	}
	version, since, _ := strings.Cut(value, " ")
	return Candidate{Version: version, Since: millis(since), value: value}, nil
}

// setCandidate makes a complete version CANDIDATE.
func (p *Publisher) setCandidate(ctx context.Context, version string) error {
	k := p.keys
	d := candidate.Decision{Action: candidate.ActionCandidate, Version: version, By: candidate.ByHand}
	answer, err := setCandidate.Run(ctx, p.client, []string{k.Candidate, k.Complete(version), k.Current,
		k.Comparison, k.History}, version, d.Text()).Text()
	switch {
	case err != nil:
		return fmt.Errorf("setting %s: %w", k.Candidate, err)
	case answer == "incomplete":
		return fmt.Errorf("setting CANDIDATE to %q: %w", version, ErrIncomplete)
	case answer == "current":
		return fmt.Errorf("setting CANDIDATE to %q: it is CURRENT", version)
	case answer == "none":
		return fmt.Errorf("setting CANDIDATE to %q: nothing serves, so publish it as CURRENT", version)
	}
	return nil
}

// Promote makes CANDIDATE CURRENT, if it still is the one that c names. It passes the gate of [Publisher.SetCurrent],
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
	return d, p.move(ctx, c.Version, d.Before, c.value, d)
}

// Abort ends the trial of CANDIDATE, if it still is the one that c names; the version stays in Redis until it is
// pruned. It returns [ErrNoCandidate] otherwise.
func (p *Publisher) Abort(ctx context.Context, c Candidate, by, reason string) (candidate.Decision, error) {
	d, err := p.decision(ctx, c, candidate.ActionAbort, by, reason)
	if err != nil {
		return d, err
	}
	k := p.keys
	done, err := abortCandidate.Run(ctx, p.client, []string{k.Candidate, k.Complete(c.Version), k.History}, c.value,
		d.Text()).Bool()
	switch {
	case err != nil:
		return d, fmt.Errorf("setting %s: %w", k.Candidate, err)
	case !done:
		return d, fmt.Errorf("aborting %q: %w of this name any more", c.Version, ErrNoCandidate)
	}
	return d, nil
}

// Decide promotes the candidate or gives it up as a rule says. The decision's Action is empty if nothing is to be
// decided yet, and its Reason says what is known. Each look at the labels is taken once, whoever asks. It returns
// [ErrNoCandidate], and the errors of [Publisher.Promote].
func (p *Publisher) Decide(ctx context.Context, r candidate.Rule) (d candidate.Decision, err error) {
	c, err := p.Candidate(ctx)
	if err != nil {
		return d, err
	}
	if c.Version == "" {
		return d, ErrNoCandidate
	}
	sum, err := p.Compare(ctx)
	if err != nil {
		return d, err
	}
	action, reason := r.Judge(sum)
	if k := r.Look(sum.Labels); action == "" && sum.Arrivals >= r.Arrivals && k >= 0 {
		first, err := look.Run(ctx, p.client, []string{p.keys.Comparison},
			fmt.Sprint("look ", k, " at ", sum.Current)).Bool()
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

// decision describes what is decided of a candidate, with the figures of the comparison.
func (p *Publisher) decision(ctx context.Context, c Candidate, action, by, reason string) (candidate.Decision, error) {
	if c.Version == "" {
		return candidate.Decision{}, ErrNoCandidate
	}
	sum, err := p.Compare(ctx)
	if err != nil {
		return candidate.Decision{}, err
	}
	sum.Classes = nil // the history has a thousand decisions, and a graph may have as many classes
	return candidate.Decision{Action: action, Version: c.Version, Before: sum.Current, By: by, Reason: reason,
		Comparison: &sum}, nil
}

// historyKept is how many decisions stay in Redis when versions are pruned.
const historyKept = 1000

// History returns what was decided of CURRENT and CANDIDATE, oldest first.
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
		if field != lastDecision {
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

// Candidate returns the candidate that is loaded, nil if there is none. Do not hold it longer than a batch lasts.
func (w *Watcher) Candidate() *Trial { return w.candidate.Load() }

// followCandidate reads CANDIDATE and loads the version that it names beside the one that serves. What fails is logged
// once, and concerns nobody else.
func (w *Watcher) followCandidate(ctx context.Context) {
	err := w.tryCandidate(ctx)
	reason := ""
	switch {
	case errors.As(err, new(refusal)):
		reason = err.Error()
	case err != nil:
		reason = "unreachable" // the error texts of one outage differ in ports and times
	}
	if reason != "" && reason != w.candidateTrouble && ctx.Err() == nil {
		w.o.Log.Warn("the candidate cannot be tried", "error", err)
	}
	w.candidateTrouble = reason
}

func (w *Watcher) tryCandidate(ctx context.Context) error {
	c, err := readCandidate(ctx, w.loader.client, w.loader.keys)
	if err != nil {
		return err
	}
	now, serves := w.candidate.Load(), w.Current()
	if c.Version == "" || serves == nil || serves.ID() == c.Version {
		w.candidateRefused = ""
		if now != nil {
			w.candidate.Store(nil)
			decision, _ := w.loader.client.HGet(ctx, w.loader.keys.History, lastDecision).Result()
			w.o.Log.Info("the candidate is not tried any more", "candidate", now.ID(), "decision", decision)
		}
		return nil
	}
	id, err := w.held.beat(ctx, c.Version)
	if err != nil && !mapping.TakesNoWrites(err) {
		return err
	}
	if now != nil && now.Candidate == c.value && now.id == id {
		return nil
	}
	tried := c.value + " " + id + " " + serves.ID()
	if w.candidateRefused == tried {
		return w.candidateReason
	}
	v, warnings, err := w.loadCandidate(ctx, c.Version, id, serves)
	if errors.As(err, new(refusal)) {
		w.candidate.Store(nil)
		w.candidateRefused, w.candidateReason = tried, err
	}
	if err != nil {
		return err
	}
	w.held.add(v)
	w.candidate.Store(&Trial{Version: v, Candidate: c.value, id: id})
	w.warnOf(v, warnings)
	w.o.Log.Info("trying a candidate", "candidate", v.ID(), "serving", serves.ID(), "model", v.Model(), "attachment",
		v.Attachment(), "calibration", v.Calibration().Kind, "rows", v.manifest.Mapping.Rows, "since", c.Since)
	return nil
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

// Compare returns the sum of all consumers' counts for CANDIDATE beside CURRENT, as both are now.
func (p *Publisher) Compare(ctx context.Context) (sum candidate.Comparison, err error) {
	current, err := p.Current(ctx)
	if err != nil {
		return sum, err
	}
	tried, err := p.Candidate(ctx)
	if err != nil {
		return sum, err
	}
	all, err := p.client.HGetAll(ctx, p.keys.Comparison).Result()
	if err != nil {
		return sum, fmt.Errorf("reading %s: %w", p.keys.Comparison, err)
	}
	sum = candidate.Comparison{Current: current, Candidate: tried.value}
	for field, text := range all {
		if text == "" {
			continue // a look
		}
		var one candidate.Comparison
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return sum, fmt.Errorf("reading %s: field %q: %w", p.keys.Comparison, field, err)
		}
		if tried.Version != "" && one.Candidate == tried.value && one.Current == current {
			sum.Add(one)
		}
	}
	return sum, nil
}

// Report writes this consumer's counts, if CANDIDATE is still the one that they are of.
func (w *Watcher) Report(ctx context.Context, c candidate.Comparison) error {
	text, err := json.Marshal(c)
	if err == nil {
		k := w.loader.keys
		err = report.Run(ctx, w.loader.client, []string{k.Candidate, k.Comparison}, c.Candidate, w.held.by, text).Err()
	}
	if err != nil {
		return fmt.Errorf("reporting how CANDIDATE compares: %w", err)
	}
	return nil
}
