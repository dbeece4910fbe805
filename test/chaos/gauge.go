package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// gauge is something that must stay the same at a steady rate.
type gauge struct {
	metric, name, unit string
	scale              float64
	// apart is the largest distance of a third's mean from the first third's, as a share of that
	apart float64
}

var gauges = []gauge{
	{"process_resident_memory_bytes", "resident memory", "MiB", 1 << 20, 0.05},
	{"go_memstats_heap_inuse_bytes", "heap in use", "MiB", 1 << 20, 0.05},
	{"go_goroutines", "goroutines", "", 1, 0.03},
}

// sample has the gauges' values at a time.
type sample struct {
	At     time.Time
	Values []float64
}

// compared returns the samples after the second refresh that are compared: the last three, six, … pauses between
// refreshes, so that each third has as many refreshes as the others.
func compared(samples []sample, refreshes []time.Time, every time.Duration) (values [][]float64, err error) {
	if len(refreshes) < 2 || len(samples) == 0 {
		return nil, fmt.Errorf("%d refreshes and %d samples, want 2 and 3 or more", len(refreshes), len(samples))
	}
	end := samples[len(samples)-1].At
	pauses := int(end.Sub(refreshes[1])/every) / 3 * 3
	from := refreshes[1]
	if pauses > 0 {
		from = end.Add(-time.Duration(pauses) * every)
	}
	for _, each := range samples {
		if each.At.After(from) {
			values = append(values, each.Values)
		}
	}
	return values, nil
}

// scrape reads the gauges of a program.
func scrape(ctx context.Context, url string) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	metrics := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok {
			metrics[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	values := make([]float64, len(gauges))
	for i, g := range gauges {
		if values[i] = metrics[g.metric]; values[i] == 0 {
			return nil, fmt.Errorf("%s has no %s", url, g.metric)
		}
	}
	return values, nil
}

// third is the mean and the maximum of a gauge in a part of the time.
type third struct{ mean, most float64 }

func thirds(samples [][]float64, of int) (all [3]third) {
	for i := range all {
		part := samples[i*len(samples)/3 : (i+1)*len(samples)/3]
		for _, s := range part {
			all[i].mean += s[of] / float64(len(part))
			all[i].most = max(all[i].most, s[of])
		}
	}
	return all
}

// moved returns how far the means of the later thirds are from the first third's at most, as a share of that.
func (g gauge) moved(all [3]third) float64 {
	return max(math.Abs(all[1].mean/all[0].mean-1), math.Abs(all[2].mean/all[0].mean-1))
}

// printThirds writes the means and maxima of three parts of the samples as a table, and returns an error if one has
// moved.
func printThirds(samples [][]float64) (err error) {
	if len(samples) < 3 {
		return fmt.Errorf("%d samples, want 3 or more", len(samples))
	}
	fmt.Fprintln(os.Stdout,
		"| after the second refresh | first third: mean, most | middle third | last third | furthest from the first |\n"+
			"|---|--:|--:|--:|--:|")
	for i, g := range gauges {
		all := thirds(samples, i)
		fmt.Fprintf(os.Stdout, "| %s, %d samples |", strings.TrimSuffix(g.name+" in "+g.unit, " in "), len(samples))
		for _, t := range all {
			fmt.Fprintf(os.Stdout, " %.1f, %.1f |", t.mean/g.scale, t.most/g.scale)
		}
		fmt.Fprintf(os.Stdout, " %.1f%% |\n", 100*g.moved(all))
		if g.moved(all) > g.apart {
			err = errors.Join(err, fmt.Errorf("%s moved by more than %.0f%%: %+v", g.name, 100*g.apart, all))
		}
	}
	return err
}
