package consumer

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// heap returns the memory in use after all garbage is gone, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep is gone after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// The memory of large records is given back when their batch is done, without waiting for others: for records of the
// largest size with half a million edges, which are dead letters, and for arrivals with the most edges allowed.
func TestMemoryOfLargeRecordsIsGivenBack(t *testing.T) {
	head, tail := `{"id":"a","features":[1,2,3,4],"edges":[`, `1]}`
	poison := []byte(head + strings.Repeat("1,", (1<<20-len(head)-len(tail)-8)/2) + tail)
	large := arrival("a")
	for k := range 10_000 {
		large.Edges = append(large.Edges, fmt.Sprintf("u%07d", k))
	}
	value, err := json.Codec{}.AppendArrival(nil, &large)
	expect.OK(t, err)
	for name, c := range map[string]struct {
		n     int
		value func(i int) []byte
	}{
		"dead letters": {8, func(int) []byte { return poison }},
		"arrivals": {32, func(i int) []byte {
			return []byte(strings.ReplaceAll(string(value), `"u`, fmt.Sprintf(`"%c`, 'A'+i)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newTestVersion("v1")
			p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: discard{}, Mode: attach.Node,
				Limits: event.Limits{Edges: 10_000, RecordBytes: 1 << 20}})
			before := heap()
			in := make([]kafka.Record, c.n)
			for i := range in {
				in[i] = kafka.Record{Value: c.value(i), Position: kafka.Position{Topic: arrivalsTopic, Offset: int64(i)}}
			}
			expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: in}))
			clear(in)
			v.asked, v.batches = nil, nil
			if stays := heap() - before; stays > maxKept+8<<20 {
				t.Errorf("%d MiB stay, want at most %d", stays>>20, maxKept>>20+8)
			}
			runtime.KeepAlive(p)
		})
	}
}

// A batch keeps no record at its end, nor an id that is a part of one: each keeps alive all bytes that were fetched
// with it.
func TestABatchLetsGoOfItsRecords(t *testing.T) {
	for name, version := range map[string]Version{"rows": newTestVersion("v1"), "numbers": numbering(),
		"growing": newGrowingVersion()} {
		for _, mode := range []*attach.Mode{attach.Graph, attach.Node} {
			t.Run(name+", "+mode.Name, func(t *testing.T) {
				p := pipeline(t, PipelineOptions{Versions: serve(version), Deliverer: discard{}, Mode: mode, Arrivals: version.Growth() != nil,
					Forms: read.Reader{InPlace: true}})
				before := heap()
				func() {
					large := records(t, arrival("p", "t0", "q", "nobody"), arrival("q", "t1", "p", "p"), arrival("r"))
					for i := range large {
						fetched := make([]byte, 64<<20)
						if i == 2 { // which is no JSON then. Large batches let go of everything, so it is not all of the 64 MiB
							large[i].Value = fetched[:16]
							continue
						}
						key := copy(fetched, large[i].Key)
						n := copy(fetched[key:], large[i].Value)
						large[i].Key, large[i].Value = fetched[:key], fetched[key:key+n]
					}
					expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: large}))
				}()
				switch v := version.(type) { // what it notes for other tests
				case *testVersion:
					v.asked, v.batches = nil, nil
				case numberingVersion:
					v.batches = nil
				case *growingVersion:
					v.testVersion.asked, v.batches = nil, nil
					clear(v.store)
				}
				if stays := heap() - before; stays > 8<<20 {
					t.Errorf("%d MiB stay", stays>>20)
				}
				runtime.KeepAlive(p)
			})
		}
	}
}
