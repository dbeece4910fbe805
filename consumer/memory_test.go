package consumer

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/internal/kafka"
)

// heap returns the memory in use after all garbage is gone, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep is gone after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// What large records take is given back when their batch is done, without waiting for others: of records of the
// largest size with half a million edges, which are dead letters, and of arrivals with as many edges as there may be.
func TestMemoryOfLargeRecordsIsGivenBack(t *testing.T) {
	head, tail := `{"id":"a","features":[1,2,3,4],"edges":[`, `1]}`
	poison := []byte(head + strings.Repeat("1,", (1<<20-len(head)-len(tail)-8)/2) + tail)
	large := arrival("a")
	for k := range 10_000 {
		large.Edges = append(large.Edges, fmt.Sprintf("u%07d", k))
	}
	value, err := event.JSON{}.AppendArrival(nil, &large)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		n     int
		value func(i int) []byte
	}{
		"dead letters": {8, func(int) []byte { return poison }},
		"arrivals":     {32, func(i int) []byte { return []byte(strings.ReplaceAll(string(value), `"u`, fmt.Sprintf(`"%c`, 'A'+i))) }},
	} {
		t.Run(name, func(t *testing.T) {
			v := newTestVersion("v1")
			p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: discard{}, Mode: Node, Limits: Limits{Edges: 10_000, RecordBytes: 1 << 20}})
			before := heap()
			in := make([]kafka.Record, c.n)
			for i := range in {
				in[i] = kafka.Record{Value: c.value(i), Position: kafka.Position{Topic: arrivalsTopic, Offset: int64(i)}}
			}
			if err := p.Process(t.Context(), Intake{Name: "b", Records: in}); err != nil {
				t.Fatal(err)
			}
			clear(in)
			v.asked, v.batches = nil, nil
			if stays := heap() - before; stays > maxKept+8<<20 {
				t.Errorf("%d MiB stay, want at most %d", stays>>20, maxKept>>20+8)
			}
			runtime.KeepAlive(p)
		})
	}
}

// A batch keeps no record that it has dealt with: each keeps all that was fetched with it.
func TestABatchLetsGoOfItsRecords(t *testing.T) {
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: discard{}, Mode: Node})
	before := heap()
	func() {
		large := records(t, arrival("p", "t0"), arrival("q", "t1"))
		fetched := make([]byte, 64<<20)
		large[0].Key, large[1].Value = append(fetched[:0], "p"...), fetched // the second is no JSON
		if err := p.Process(t.Context(), Intake{Name: "b", Records: large}); err != nil {
			t.Fatal(err)
		}
	}()
	if stays := heap() - before; stays > 8<<20 {
		t.Errorf("%d MiB stay", stays>>20)
	}
	runtime.KeepAlive(p)
}
