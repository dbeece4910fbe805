package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"rivulet/test/chaos/ledger"
)

// row is one line of the table: a fault, for Redis with one choice of redis.outage.
type row struct {
	name   string
	times  int
	by     map[string]ledger.Tally // delivery mode -> what became of its arrivals
	outage string                  // empty: both
	lost   int64                   // by Redis itself
}

// rows sums up the windows of each fault. judged are the tallies of each stream.
func rows(dealt []dealt, kinds []kind, judged []map[ledger.Window]ledger.Tally) []row {
	var all []row
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
			at := slices.IndexFunc(all, func(r row) bool { return r.name == name })
			if at < 0 {
				at = len(all)
				all = append(all, row{name: name, by: map[string]ledger.Tally{}, outage: outage})
			}
			all[at].times++
			all[at].lost += d.lost
			for i, k := range kinds {
				if outage == "" || outage == k.outage {
					t := all[at].by[k.delivery]
					t.Add(judged[i][ledger.Window(w)])
					all[at].by[k.delivery] = t
				}
			}
		}
	}
	order := func(name string) int {
		return slices.IndexFunc(append([]fault{dealt[0].fault}, append(faults, several)...), func(f fault) bool {
			return name == f.name || name == f.name+"; wait" || name == f.name+"; degrade"
		})
	}
	slices.SortStableFunc(all, func(a, b row) int { return order(a.name) - order(b.name) })
	return all
}

// printTable writes Markdown.
func printTable(out io.Writer, all []row) {
	fmt.Fprintln(out,
		"| fault | times | at_least_once: arrivals | lost | duplicated | out of order | different bits | longest stall "+
			"| exactly_once: arrivals | lost | duplicated | out of order | different bits | longest stall | lost by Redis itself |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range all {
		fmt.Fprintf(out, "| %s | %d |", r.name, r.times)
		for _, delivery := range []string{"at_least_once", "exactly_once"} {
			t := r.by[delivery]
			fmt.Fprintf(out, " %d | %d | %d | %d | %d | %.1f s |", t.Arrivals, t.Lost, t.Duplicated, t.OutOfOrder,
				t.Different, t.Stall.Round(100*time.Millisecond).Seconds())
		}
		fmt.Fprintf(out, " %d |\n", r.lost)
	}
}
