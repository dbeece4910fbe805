package page

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"rivulet/artifact"
	"rivulet/serving"
)

// list reads the versions in Redis.
func (p *Page) list(ctx context.Context) error {
	all, err := p.o.Publications.Versions(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.versions, p.listed = all, true
	return nil
}

// Versions is the page's view of the versions.
type Versions struct {
	Pinned      string        `json:"pinned"` // the pinned artifact's version; "": CURRENT in Redis decides
	Current     string        `json:"current"`
	Listed      bool          `json:"listed"` // Redis has answered
	CanActivate bool          `json:"can_activate"`
	Versions    []VersionView `json:"versions"` // newest first
	Status      Status        `json:"status"`
}

// VersionView is one version.
type VersionView struct {
	Version       string    `json:"version"`
	State         string    `json:"state"`
	Current       bool      `json:"current"`
	Rows          int       `json:"rows"`
	Synthetic     int       `json:"synthetic"`
	FileBytes     int64     `json:"file_bytes"`
	Published     int64     `json:"published"` // ms since 1970; 0: not yet
	LastServed    int64     `json:"last_served"`
	LastPredicted int64     `json:"last_predicted"` // of the samples that the page saw; 0: none
	Holders       []string  `json:"holders"`
	Accuracy      *Accuracy `json:"accuracy"` // by labels; null: none came
	Trained       *float64  `json:"trained"`  // percent of the validation nodes; null: not known
}

// versionsView returns the versions in Redis, and the versions that predicted.
func (p *Page) versionsView() Versions {
	v := Versions{Versions: []VersionView{}, CanActivate: p.o.Activator != nil, Status: p.status()}
	current := p.o.Versions.Current()
	if p.o.Publications == nil {
		v.Listed = true
		if current != nil {
			m := current.Manifest()
			v.Pinned, v.Current = current.ID(), current.ID()
			v.Versions = append(v.Versions, VersionView{Version: m.Version, State: string(serving.Complete), Current: true,
				Rows: m.Mapping.Rows, Synthetic: m.SyntheticNodes, Holders: []string{}})
		}
	}
	p.mu.Lock()
	infos := slices.Clone(p.versions)
	v.Listed = v.Listed || p.listed
	p.mu.Unlock()
	for _, i := range slices.Backward(infos) {
		if i.Current {
			v.Current = i.Version
		}
		w := VersionView{Version: i.Version, State: string(i.State), Current: i.Current, Rows: i.Rows,
			Synthetic: i.Synthetic, FileBytes: i.FileBytes, Holders: append([]string{}, i.Holders...)}
		if !i.Published.IsZero() {
			w.Published = i.Published.UnixMilli()
		}
		if !i.LastServed.IsZero() {
			w.LastServed = i.LastServed.UnixMilli()
		}
		v.Versions = append(v.Versions, w)
	}
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	for k := range v.Versions {
		w := &v.Versions[k]
		w.LastPredicted = p.tally.served[w.Version]
		if at := slices.IndexFunc(p.tally.labels.versions, func(a Accuracy) bool { return a.Version == w.Version }); at >= 0 {
			a := p.tally.labels.versions[at]
			w.Accuracy = &a
		}
		if current != nil && current.ID() == w.Version {
			if of, ok := current.Manifest().Reference.Models[current.Model()]; ok {
				w.Trained = &of.Accuracy
			}
		}
	}
	return v
}

// activation is a request to point CURRENT at another version.
type activation struct {
	Version string `json:"version"`
	Expect  string `json:"expect"` // CURRENT, as the user has seen it
}

// activate answers an activation.
func (p *Page) activate(w http.ResponseWriter, r *http.Request) {
	var a activation
	if !readJSON(w, r, &a) {
		return
	}
	if err := artifact.ValidVersion(a.Version); err != nil {
		refuse(w, http.StatusBadRequest, "version", err.Error())
		return
	}
	err := p.o.Activator.Activate(r.Context(), a.Version, a.Expect)
	attrs := []any{"version", a.Version, "expected", a.Expect, "client", r.RemoteAddr}
	var conflict *serving.ConflictError
	switch {
	case err == nil:
		p.o.Log.Warn("CURRENT was moved on the page", attrs...)
		p.tally.mu.Lock()
		p.tally.mark(p.tally.now(), "CURRENT was moved here from "+a.Expect+" to "+a.Version)
		p.tally.mu.Unlock()
		_ = p.list(r.Context()) // the next look reports it, too
		writeJSON(w, http.StatusOK, a)
		return
	case errors.As(err, &conflict):
		refuse(w, http.StatusConflict, "conflict", "CURRENT names "+conflict.Found+" by now, not "+a.Expect+": look again")
	case errors.Is(err, serving.ErrIncomplete):
		refuse(w, http.StatusConflict, "incomplete", err.Error())
	case errors.As(err, new(*serving.OtherDataError)):
		refuse(w, http.StatusConflict, "other_data", err.Error()+": trainer activate --other-data moves CURRENT all the same")
	default:
		refuse(w, http.StatusBadGateway, "redis", err.Error())
	}
	p.o.Log.Warn("CURRENT was not moved on the page", append(attrs, "error", err)...)
}
