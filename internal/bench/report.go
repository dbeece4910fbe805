package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Report holds the results of a run.
type Report struct {
	Machine Machine `json:"machine"`
	Seconds float64 `json:"seconds"` // measuring time of each figure
	Rows    []Row   `json:"rows"`
}

// Row is one thing measured: figures by their unit.
type Row struct {
	Section string             `json:"section"`
	Name    string             `json:"name"` // parts joined by slashes, such as reddit/sgc/batch=1000
	Runs    int                `json:"runs"`
	Figures map[string]float64 `json:"figures"`
}

func (r *Report) add(section, name string, runs int, figures map[string]float64) {
	r.Rows = append(r.Rows, Row{section, name, runs, figures})
}

// units are all units of figures in the order of columns. Units that are not here come last.
var units = []string{"nodes/s", "µs/batch", "p50-ms", "p99-ms", "p99.9-ms", "B/node", "CPU-s/Mnode", "share",
	"CPU share"}

// Print writes a line on the machine and a table for each section, as text.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintln(w, r.Machine)
	for _, section := range r.sections() {
		rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Section != section })
		columns := columnsOf(rows)
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "%s\t%s\t\n", section, strings.Join(columns, "\t"))
		for _, row := range rows {
			fmt.Fprint(t, row.Name, "\t")
			for _, unit := range columns {
				if v, ok := row.Figures[unit]; ok {
					fmt.Fprint(t, short(v))
				}
				fmt.Fprint(t, "\t")
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// sections lists the report's sections in order.
func (r *Report) sections() (out []string) {
	for _, row := range r.Rows {
		if !slices.Contains(out, row.Section) {
			out = append(out, row.Section)
		}
	}
	return out
}

// columnsOf returns the units that rows have, in the order of columns.
func columnsOf(rows []Row) (out []string) {
	for _, row := range rows {
		for unit := range row.Figures {
			if !slices.Contains(out, unit) {
				out = append(out, unit)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a, b))
	})
	return out
}

func place(unit string) int {
	if at := slices.Index(units, unit); at >= 0 {
		return at
	}
	return len(units)
}

// short writes a number with three significant digits, or with all digits before the point.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case v >= 100 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// WriteJSON writes one object.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchmarks writes the rows in the format of Go's benchmarks, which benchstat reads
// (golang.org/x/proposal/14313).
func (r *Report) WriteBenchmarks(w io.Writer) error {
	m := r.Machine
	_, err := fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: rivulet/internal/bench\ncpu: %s\ncommit: %s\n", m.OS,
		m.Arch, m.CPU, m.Commit)
	for _, row := range r.Rows {
		if err != nil {
			return err
		}
		var line strings.Builder
		fmt.Fprintf(&line, "Benchmark%s%s/%s-%d %d", strings.ToUpper(row.Section[:1]), row.Section[1:], row.Name,
			m.Cores, row.Runs)
		for _, unit := range columnsOf([]Row{row}) {
			fmt.Fprintf(&line, " %s %s", strconv.FormatFloat(row.Figures[unit], 'g', 6, 64), strings.ReplaceAll(unit, " ", "-"))
		}
		_, err = fmt.Fprintln(w, line.String())
	}
	return err
}
