package ledger

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Row is one line of the table: a fault, for Redis with one choice of redis.outage.
type Row struct {
	Name  string
	Times int
	By    map[string]Tally // delivery mode -> fates of its arrivals
	Lost  int64            // by Redis itself
}

// Fault is the fault of a window. Redis says that the choice of redis.outage matters.
type Fault struct {
	Name  string
	Redis bool
	Lost  int64 // writes that Redis acknowledged and lost
}

// Stream has the tallies of a stream's windows.
type Stream struct {
	Delivery, Outage string
	By               map[Window]Tally
}

// Rows sums up the windows of each fault, in an order of their names.
func Rows(windows []Fault, streams []Stream, order []string) []Row {
	var all []Row
	for w, f := range windows {
		outages := []string{""}
		if f.Redis {
			outages = []string{"wait", "degrade"}
		}
		for _, outage := range outages {
			name := f.Name
			if outage != "" {
				name += "; " + outage
			}
			at := slices.IndexFunc(all, func(r Row) bool { return r.Name == name })
			if at < 0 {
				at = len(all)
				all = append(all, Row{Name: name, By: map[string]Tally{}})
			}
			all[at].Times++
			all[at].Lost += f.Lost
			for _, s := range streams {
				if outage == "" || outage == s.Outage {
					t := all[at].By[s.Delivery]
					t.Add(s.By[Window(w)])
					all[at].By[s.Delivery] = t
				}
			}
		}
	}
	place := func(name string) int {
		return slices.IndexFunc(order, func(f string) bool {
			return name == f || name == f+"; wait" || name == f+"; degrade"
		})
	}
	slices.SortStableFunc(all, func(a, b Row) int { return place(a.Name) - place(b.Name) })
	return all
}

// Print writes a table in Markdown.
func Print(out io.Writer, all []Row) {
	fmt.Fprintln(out,
		"| fault | times | at_least_once: arrivals | lost | duplicated | out of order | different bits | longest stall "+
			"| exactly_once: arrivals | lost | duplicated | out of order | different bits | longest stall | lost by Redis "+
			"itself |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range all {
		fmt.Fprintf(out, "| %s | %d |", r.Name, r.Times)
		for _, delivery := range []string{"at_least_once", "exactly_once"} {
			t := r.By[delivery]
			fmt.Fprintf(out, " %d | %d | %d | %d | %d | %.1f s |", t.Arrivals, t.Lost, t.Duplicated, t.OutOfOrder,
				t.Different, t.Stall.Round(100*time.Millisecond).Seconds())
		}
		fmt.Fprintf(out, " %d |\n", r.Lost)
	}
}
