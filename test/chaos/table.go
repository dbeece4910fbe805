package main

import (
	"slices"

	"rivulet/test/chaos/ledger"
)

// tableRows sums up the windows of each fault. judged are the tallies of each stream.
func tableRows(dealt []dealt, kinds []kind, judged []map[ledger.Window]ledger.Tally) []ledger.Row {
	var all []ledger.Row
	for w, d := range dealt {
		outages := []string{""}
		if d.fault.redis {
			outages = []string{"wait", "degrade"}
		}
		for _, outage := range outages {
			name := d.fault.name
			if outage != "" {
				name += "; " + outage
			}
			at := slices.IndexFunc(all, func(r ledger.Row) bool { return r.Name == name })
			if at < 0 {
				at = len(all)
				all = append(all, ledger.Row{Name: name, By: map[string]ledger.Tally{}})
			}
			all[at].Times++
			all[at].Lost += d.lost
			for i, k := range kinds {
				if outage == "" || outage == k.outage {
					t := all[at].By[k.delivery]
					t.Add(judged[i][ledger.Window(w)])
					all[at].By[k.delivery] = t
				}
			}
		}
	}
	order := func(name string) int {
		return slices.IndexFunc(append([]fault{dealt[0].fault}, append(faults, several)...), func(f fault) bool {
			return name == f.name || name == f.name+"; wait" || name == f.name+"; degrade"
		})
	}
	slices.SortStableFunc(all, func(a, b ledger.Row) int { return order(a.Name) - order(b.Name) })
	return all
}
