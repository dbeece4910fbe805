package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/harness"
)

// writer writes arrivals to partitions in turn, in transactions of its own or in none.
type writer struct {
	t      *testing.T
	client *kgo.Client
	topic  string
	n      int
}

func (k *realKafka) writer(name string, transactional bool) *writer {
	k.t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(k.kafka.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(-1)}
	if transactional {
		opts = append(opts, kgo.TransactionalID(k.name(name)))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(client.Close)
	return &writer{t: k.t, client: client, topic: k.name("arrivals")}
}

// write writes a few arrivals and waits until they are stored, each in a batch of its own.
func (w *writer) write(name string, n int) (ids []string) {
	w.t.Helper()
	for range n {
		a := event.Arrival{ID: fmt.Sprintf("%s-%d", name, w.n), Features: event.Features{Sparse: true, Indices: []int32{0},
			Values: []float32{1}}}
		value, err := json.Codec{}.AppendArrival(nil, &a)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.client.ProduceSync(w.t.Context(), &kgo.Record{Topic: w.topic, Partition: int32(w.n % 3),
			Value: value}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, a.ID)
		w.n++
	}
	return ids
}

func (w *writer) begin() {
	w.t.Helper()
	if err := w.client.BeginTransaction(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) end(how kgo.TransactionEndTry) {
	w.t.Helper()
	if err := w.client.EndTransaction(w.t.Context(), how); err != nil {
		w.t.Fatal(err)
	}
}

// Four transactional producers and one without transactions write to the same partitions, interleaved record by record.
// Each transaction is committed or aborted at random. The consumer predicts each committed arrival once, and none
// of the aborted ones; behind a transaction that is open it waits.
func TestCommittedTransactionsOfARealBroker(t *testing.T) {
	k := onRealKafka(t, needBroker(t), newWorld(t, formatJSON))
	k.topics()
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	var writers []*writer
	for i := range 4 {
		writers = append(writers, k.writer(fmt.Sprint("writer-", i), true))
	}
	free := k.writer("", false)
	var want []string
	aborted := 0
	for round := range 12 {
		pending := make([][]string, len(writers))
		for _, wr := range writers {
			wr.begin()
		}
		for range 6 {
			for _, i := range rng.Perm(len(writers)) {
				pending[i] = append(pending[i], writers[i].write(fmt.Sprintf("t%d-%d", i, round), 1+rng.IntN(3))...)
			}
			want = append(want, free.write("free", 1)...)
		}
		for _, i := range rng.Perm(len(writers)) {
			if rng.IntN(2) == 0 {
				writers[i].end(kgo.TryAbort)
				aborted += len(pending[i])
			} else {
				writers[i].end(kgo.TryCommit)
				want = append(want, pending[i]...)
			}
		}
	}
	t.Logf("seed %d: %d records to predict, %d aborted", seed, len(want), aborted)
	open := writers[0]
	open.begin()
	late := open.write("open", 3)              // one in each partition
	late = append(late, free.write("x", 3)...) // behind it

	k.write("committed.yaml", k.config(k.Path("artifact-1"), harness.Plaintext, ""))
	consumer := k.consumer("committed.yaml")
	k.compare("with an open transaction", want)
	time.Sleep(time.Second) // in which nothing of it may come
	k.compare("a second later", want)
	open.end(kgo.TryCommit)
	want = append(want, late...)
	k.compare("after its end", want)
	k.drain(consumer)
}

// compare compares the ids of the predictions that can be read now with the ids of the arrivals that should be
// predicted.
func (k *realKafka) compare(when string, want []string) {
	k.t.Helper()
	var got []string
	for _, p := range k.collected(k.name("predictions"), len(want)) {
		got = append(got, p.ID)
	}
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Fatalf("%s: ids of predictions (-want +got):\n%s", when, diff)
	}
}
