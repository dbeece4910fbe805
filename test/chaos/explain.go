package main

import (
	"slices"

	"rivulet/event"
	"rivulet/test/chaos/oracle"
)

// explain has the oracle judge the predictions whose neighbours were arrivals or could not be read.
func (r *run) explain() (oracle.Report, []string, error) {
	w := r.world
	o := oracle.Oracle{TTL: w.rowsLive, OfStream: map[string][]oracle.Outage{},
		Model: func(version string) (oracle.Model, error) {
			if dir := w.dirs[version]; dir != "" {
				return oracle.ReadVersion(dir)
			}
			return nil, nil // the ledger tells of versions that nobody published
		},
		Arrival: func(id string) *event.Arrival { return w.byID[id].Decoded }}
	for _, d := range r.dealt {
		if d.fault.redis || d.fault.rows {
			o.Outages = append(o.Outages, oracle.Outage{From: d.from, To: d.to})
		}
	}
	said, wrong := r.asked()
	for _, a := range r.askers {
		outages, err := oracle.OutagesOf(a.Log())
		if err != nil {
			return oracle.Report{}, nil, err
		}
		o.OfStream[a.Name] = outages
	}
	for _, s := range r.streams {
		said = append(said, s.said...)
		for _, m := range s.members {
			outages, err := oracle.OutagesOf(m.Log)
			if err != nil {
				return oracle.Report{}, nil, err
			}
			o.OfStream[s.kind.String()] = slices.Concat(o.OfStream[s.kind.String()], outages)
		}
	}
	report, violations := o.Judge(said)
	return report, append(wrong, violations...), nil
}
