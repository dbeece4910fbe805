package ledger

import (
	"fmt"
	"io"
	"time"
)

// Row is one line of the table: a fault, for Redis with one choice of redis.outage.
type Row struct {
	Name  string
	Times int
	By    map[string]Tally // delivery mode -> fates of its arrivals
	Lost  int64            // by Redis itself
}

// Print writes a table in Markdown.
func Print(out io.Writer, all []Row) {
	fmt.Fprintln(out,
		"| fault | times | at_least_once: arrivals | lost | duplicated | out of order | different bits | longest stall "+
			"| exactly_once: arrivals | lost | duplicated | out of order | different bits | longest stall | lost by Redis itself |")
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
