// Command load sends arrivals to a server in open loop: each request has a time at which it is due, whether or not
// earlier ones have been answered, and its latency counts from then. tools/peer/answering.py runs it.
//
//	go run ./tools/peer/load -url http://127.0.0.1:8080/predict -arrivals arrivals.jsonl -batch 64 -rate 100 -for 5s
//
// It prints one JSON object. Arrivals a second counts arrivals answered within the time; with a rate beyond the
// server's that is its throughput, and latencies only show the length of the queue.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

type options struct {
	url, arrivals      string
	batch, connections int
	rate               float64
	length             time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "where to POST")
	flag.StringVar(&o.arrivals, "arrivals", "", "file of arrivals as JSON lines")
	flag.IntVar(&o.batch, "batch", 1, "arrivals of a request")
	flag.IntVar(&o.connections, "connections", 16, "requests under way at most; others that are due wait")
	flag.Float64Var(&o.rate, "rate", 100, "requests a second")
	flag.DurationVar(&o.length, "for", 5*time.Second, "how long requests become due")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// result is the printed JSON object.
type result struct {
	Requests int     `json:"requests"`
	Errors   int     `json:"errors"`
	Rate     float64 `json:"arrivals_per_second"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

// sent is one request that was answered.
type sent struct {
	latency time.Duration
	inTime  bool // before the end
	failed  bool
}

func run(ctx context.Context, o options) error {
	bodies, err := bodiesOf(o.arrivals, o.batch)
	if err != nil {
		return err
	}
	if o.rate <= 0 || o.connections < 1 {
		return fmt.Errorf("rate is %v and connections are %d, want more than 0", o.rate, o.connections)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.connections}}
	due, all := make(chan int), make([][]sent, o.connections)
	begun := time.Now()
	end := begun.Add(o.length)
	at := func(k int) time.Time { return begun.Add(time.Duration(float64(k) / o.rate * float64(time.Second))) }
	var workers sync.WaitGroup
	for c := range o.connections {
		workers.Go(func() {
			for k := range due {
				failed := post(ctx, client, o.url, bodies[k%len(bodies)]) != nil
				now := time.Now()
				all[c] = append(all[c], sent{now.Sub(at(k)), !now.After(end), failed})
			}
		})
	}
	for k := 0; at(k).Before(end) && time.Now().Before(end); k++ {
		time.Sleep(time.Until(at(k)))
		due <- k
	}
	close(due)
	workers.Wait()
	return json.NewEncoder(os.Stdout).Encode(summed(slices.Concat(all...), o))
}

func summed(all []sent, o options) result {
	out := result{Requests: len(all)}
	var latencies []float64
	answered := 0
	for _, s := range all {
		if s.failed {
			out.Errors++
			continue
		}
		latencies = append(latencies, s.latency.Seconds()*1000)
		if s.inTime {
			answered += o.batch
		}
	}
	slices.Sort(latencies)
	if n := len(latencies); n > 0 {
		out.P50, out.P99 = latencies[n/2], latencies[min(n-1, n*99/100)]
	}
	out.Rate = float64(answered) / o.length.Seconds()
	return out
}

// bodiesOf returns arrays of arrivals, all of the same length.
func bodiesOf(path string, batch int) (bodies [][]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for portion := range slices.Chunk(lines, max(1, batch)) {
		if len(portion) == batch {
			bodies = append(bodies, append(append([]byte{'['}, bytes.Join(portion, []byte(","))...), ']'))
		}
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("%s has %d arrivals, want at least the %d of a request", path, len(lines), batch)
	}
	return bodies, nil
}

// post asks, and returns an error unless the answer is whole and 200.
func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
