package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"rivulet/artifact/artifacttest"
	"rivulet/serving"
	"rivulet/test/expect"
)

// Requests of 64 arrivals with 200 features that are not 0 and 10 edges, of the sizes of Amazon Photo, over HTTP.
func BenchmarkPredict64(b *testing.B) {
	a := start(b, func(o *Options) { o.Batching.Size, o.Limits.QueueArrivals = 256, 4096 })
	large := artifacttest.Bundle(1, artifacttest.Size{Nodes: 3825, Synthetic: 80, Features: 745, Classes: 8})
	expect.OK(b, large.Seal())
	a.version.now.Store(versionOf(b, large, serving.Options{}))
	var all []string
	for i := range 64 {
		var indices, edges []string
		for k := range 200 {
			indices = append(indices, fmt.Sprint((i+3*k)%745))
		}
		for k := range 10 {
			edges = append(edges, fmt.Sprintf("%q", large.Mapping.IDs[(i*37+k)%3825]))
		}
		all = append(all, fmt.Sprintf(`{"id":"%d","features":{"indices":[%s]},"edges":[%s]}`, i, strings.Join(indices, ","),
			strings.Join(edges, ",")))
	}
	body := []byte("[" + strings.Join(all, ",") + "]")
	b.SetBytes(int64(len(body)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := http.Post(a.url+predictPath, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				b.Error(resp.StatusCode)
			}
		}
	})
	b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
}
