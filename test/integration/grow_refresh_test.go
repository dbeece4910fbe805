package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/internal/replay"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// In mid-stream the trainer reads the arrivals and labels that came so far, trains on the graph with them and
// publishes. Two running consumers take the new version over: every arrival is answered once, every batch by one
// version, arrivals that have become nodes of T are known to later ones, and the rows of the others stay with the
// version that gave them.
func TestRefreshTakesOver(t *testing.T) {
	t.Parallel()
	s, d := newGrowing(newServices(t, nil), 2), smallGraph(t)
	expect.OK(t, d.Save(s.Path("data")))
	s.run("trainer", "train", "--costs=false", "--data", s.Path("data"), "--out", s.Path("artifact"), "--nodes", "40")
	s.publish("artifact")
	next := twins(d, 3)
	s.sendLabels(d, next, 3000)
	members := []*harness.Process{s.member(s.kafka.Addr, "at_least_once"), s.member(s.kafka.Addr, "at_least_once")}
	s.awaitMembers(len(members))
	stop := s.load(10, next)
	s.await("predictions come", func() bool { return len(s.committed) > 400 })
	joined, published := s.refresh()
	s.await("both consumers serve the new version", func() bool {
		by := make([]int, s.partitions)
		for _, all := range s.committed {
			if p := all[0]; p.Artifact == published {
				by[p.Source.Partition]++
			}
		}
		return slices.Min(by) > 200
	})
	stop()
	s.await("all arrivals are predicted", func() bool { return len(s.committed) == len(s.sent) })
	for _, m := range members {
		s.drain(m)
	}
	time.Sleep(500 * time.Millisecond) // for what should not be there
	offsets := s.groupOffsets()
	for partition, sent := range s.at {
		if next := offsets[partition]; next != int64(len(sent)) {
			t.Errorf("partition %d: %d of %d arrivals are committed after the drain", partition, next, len(sent))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkTakeover(joined, published)
}

func smallGraph(t *testing.T) *dataset.Dataset {
	t.Helper()
	g, ok := generate.Preset("small")
	if !ok {
		t.Fatal("there is no preset small")
	}
	g.Nodes, g.Edges, g.Train, g.Validation, g.Test = 1500, 9000, 700, 400, 400
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	return d
}

// far is the distance between two arrivals of one partition at which the later one must find the row of the earlier:
// two batches in hand and one more, in each of two partitions.
const far = 2 * 3 * 32

// twin returns the node of the data that arrival n resembles.
func twin(d *dataset.Dataset, n int) int32 { return d.Train[n*31%len(d.Train)] }

// twins makes arrivals that resemble nodes of T: the same features, some of the same neighbours, and earlier arrivals.
func twins(d *dataset.Dataset, seed uint64) func(n int) event.Arrival {
	return func(n int) event.Arrival {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		a := replay.Arrival(d, twin(d, n), time.Time{})
		a.ID, a.Edges = "x"+strconv.Itoa(n), a.Edges[:min(4, len(a.Edges))]
		earlier := []int{n - 1, n - 7, n - far, n - far - 1}
		if n > 0 {
			earlier = append(earlier, rng.IntN(n), rng.IntN(n))
		}
		slices.Sort(earlier)
		for _, m := range slices.Compact(earlier) {
			if m >= 0 {
				a.Edges = append(a.Edges, "x"+strconv.Itoa(m))
			}
		}
		return a
	}
}

// sendLabels sends the classes of two in three of the first arrivals.
func (s *growing) sendLabels(d *dataset.Dataset, next func(n int) event.Arrival, arrivals int) {
	s.t.Helper()
	var records []*kgo.Record
	for n := range arrivals {
		if n%3 == 0 {
			continue
		}
		l := event.Label{ID: next(n).ID, Class: event.ByName, ClassName: d.Classes[d.Labels[twin(d, n)]]}
		value, err := eventjson.Codec{}.AppendLabel(nil, &l)
		if err != nil {
			s.t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: s.topic("labels"), Key: []byte(l.ID), Value: value})
	}
	if err := s.sender.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// refresh runs the trainer on the stream's topics and returns how many arrivals joined T, and the version that is
// CURRENT now.
func (s *growing) refresh() (joined int, version string) {
	s.t.Helper()
	s.write("refresh.yaml", fmt.Sprintf("kafka: {brokers: [%q]}\nredis: {url: %q, prefix: %q}\n", s.kafka.Addr, s.redis,
		s.prefix))
	out, err := s.Output(s.t.Context(), nil, "trainer", "refresh", "--config", s.Path("refresh.yaml"), "--json", "--from",
		"kafka:"+s.topic("arrivals"),
		"--labels", "kafka:"+s.topic("labels"), "--data", s.Path("data"), "--data-out", s.Path("data-later"), "--out",
		s.Path("refreshed"),
		"--publish", "--max-drop", "100") // accuracy depends on how many arrivals have come, and is not this test's subject
	s.must(err)
	var said struct {
		Merged    struct{ Joined, Labelled int }
		Version   string `json:"artifact_version"`
		Published bool
	}
	if err := json.Unmarshal(out, &said); err != nil {
		s.t.Fatalf("trainer refresh: %v\n%s", err, out)
	}
	s.t.Logf("refresh: %s", out)
	if !said.Published || said.Merged.Joined < 400 || said.Merged.Labelled < said.Merged.Joined/2 {
		s.t.Fatalf("refresh has not published what arrived:\n%s", out)
	}
	if _, err := os.Stat(s.Path("data-later")); err != nil {
		s.t.Error(err)
	}
	return said.Merged.Joined, said.Version
}

// side is one of the two versions.
type side struct {
	nodes    map[string]bool   // T
	rows     map[string]string // of arrivals
	answered map[string]bool
}

func (s *growing) side(dir string) (version string, v *side) {
	s.t.Helper()
	b, err := artifact.Read(s.Path(dir))
	if err != nil {
		s.t.Fatal(err)
	}
	v = &side{nodes: map[string]bool{}, rows: s.storedRows(b.Manifest.Version),
		answered: map[string]bool{}}
	for _, id := range b.Mapping.IDs {
		v.nodes[id] = true
	}
	return b.Manifest.Version, v
}

// takeover counts edges of arrivals that the new version answered.
type takeover struct{ joined, attached, stayed int }

func (s *growing) checkTakeover(joined int, published string) {
	s.t.Helper()
	first, before := s.side("artifact")
	second, after := s.side("refreshed")
	if second != published {
		s.t.Fatalf("refresh published %s, the artifact is %s", published, second)
	}
	for id := range before.nodes {
		if !after.nodes[id] {
			s.t.Errorf("%s is no node of T any more", id)
		}
	}
	if more := len(after.nodes) - len(before.nodes); more != joined {
		s.t.Errorf("T has %d nodes more, %d arrivals joined", more, joined)
	}
	sides, batches := map[string]*side{first: before, second: after}, map[string]string{}
	for id := range s.sent {
		if all := s.published[id]; len(all) != 1 {
			s.t.Fatalf("%s is predicted %d times", id, len(all))
		}
		p := s.published[id][0]
		if sides[p.Artifact] == nil {
			s.t.Fatalf("%s is predicted by %s", id, p.Artifact)
		}
		if other, there := batches[p.Batch]; there && other != p.Artifact {
			s.t.Errorf("batch %s was served by %s and %s", p.Batch, other, p.Artifact)
		}
		batches[p.Batch] = p.Artifact
		sides[p.Artifact].answered[id] = true
	}
	var counts takeover
	for id, a := range s.sent {
		p := s.published[id][0]
		s.checkNeighbours(&a, &p, sides[p.Artifact], p.Artifact == second, before, &counts)
	}
	for version, v := range sides {
		for id := range v.rows {
			if !v.answered[id] {
				s.t.Errorf("version %s has a row of %s, which it has not predicted", version, id)
			}
		}
	}
	if s.letters > 0 {
		s.t.Errorf("%d dead letters", s.letters)
	}
	if counts.joined == 0 || counts.attached == 0 || counts.stayed == 0 {
		s.t.Error("an edge of some kind never came")
	}
	s.t.Logf("%d arrivals in %d batches: %d by the first version, %d by the second, of whose edges to arrivals %d are "+
		"to nodes of T by now, %d to arrivals with rows, %d to arrivals that stayed with the first",
		len(s.sent), len(batches), len(before.answered), len(after.answered), counts.joined, counts.attached, counts.stayed)
}

// checkNeighbours compares a prediction's counts of neighbours with T and the rows of its version.
func (s *growing) checkNeighbours(a *event.Arrival, p *event.Prediction, v *side, isSecond bool, before *side,
	counts *takeover) {
	s.t.Helper()
	if v.nodes[a.ID] { // it joined T before it was predicted, and is no arrival to others
		if v.rows[a.ID] != "" {
			s.t.Errorf("%s is a node of T and has a row as an arrival", a.ID)
		}
		return
	}
	if v.rows[a.ID] == "" {
		s.t.Errorf("%s, predicted by %s, has no row", a.ID, p.Artifact)
		return
	}
	known, least, most := 0, 0, 0
	for _, id := range a.Edges {
		switch {
		case v.nodes[id]:
			known++
			if isSecond && before.answered[id] {
				counts.joined++
			}
		case v.rows[id] != "":
			most++
			if s.mustFind(p, id) {
				least++
				if isSecond {
					counts.attached++
				}
			}
		case isSecond && before.answered[id]:
			counts.stayed++
		}
	}
	if p.Known != known || p.Arrivals < least || p.Arrivals > most || p.InBatch != 0 ||
		p.Unknown != len(a.Edges)-known-p.Arrivals {
		s.t.Errorf("%s: %d known, %d arrivals, %d in its batch, %d unknown of %d; want %d known, %d to %d arrivals", a.ID,
			p.Known, p.Arrivals, p.InBatch, p.Unknown, len(a.Edges), known, least, most)
	}
}

// mustFind reports whether an arrival lies so far behind in the same partition that its row was written before p was
// looked up.
func (s *growing) mustFind(p *event.Prediction, id string) bool {
	at := s.published[id][0].Source
	return at.Partition == p.Source.Partition && p.Source.Offset-at.Offset >= far/2
}
