package consumer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/producer"
)

func (s *stack) fetcher(offset int64, level kafka.IsolationLevel) *fetcher {
	return &fetcher{addr: kafka.TCP(s.kafka.Addrs()...), transport: s.transport, wait: time.Millisecond, maxBytes: 1 << 20,
		at: event.TopicPartition{Topic: arrivalsTopic}, next: offset, isolation: level}
}

// values are what a fetcher reads until it has reached an offset.
func values(t *testing.T, f *fetcher, end int64) (out []string) {
	t.Helper()
	for range 100 {
		if f.next >= end {
			return out
		}
		records, _, err := f.fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			out = append(out, string(r.Value))
		}
	}
	t.Fatalf("after 100 fetches at offset %d, want %d; read %v", f.next, end, out)
	return nil
}

// transact publishes values in one transaction and ends it.
func (s *stack) transact(end kgo.TransactionEndTry, values ...string) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.TransactionalID(fmt.Sprint("tx-", values[0])), kgo.DefaultProduceTopic(arrivalsTopic))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		s.t.Fatal(err)
	}
	for _, v := range values {
		if err := client.ProduceSync(s.t.Context(), kgo.StringRecord(v)).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := client.EndTransaction(s.t.Context(), end); err != nil {
		s.t.Fatal(err)
	}
}

func TestFetchPassesOverAbortedTransactionsAndControlRecords(t *testing.T) {
	s := newStack(t, 1)
	s.transact(kgo.TryCommit, "a", "b")
	s.transact(kgo.TryAbort, "lost", "lost too")
	s.transact(kgo.TryCommit, "c")
	s.transact(kgo.TryAbort, "lost again")
	end := s.kafka.Cluster.PartitionInfo(arrivalsTopic, 0).HighWatermark
	if end != 10 { // six records, four control records
		t.Fatalf("the log ends at %d, want 10", end)
	}
	// From every offset: an answer may hold the end of a transaction and not its beginning.
	committed := []string{"a", "b", "", "", "", "", "c", "", "", ""}
	all := []string{"a", "b", "", "lost", "lost too", "", "c", "", "lost again", ""}
	for from := range end {
		for level, log := range map[kafka.IsolationLevel][]string{kafka.ReadCommitted: committed, kafka.ReadUncommitted: all} {
			want := slices.DeleteFunc(slices.Clone(log[from:]), func(v string) bool { return v == "" })
			if got := values(t, s.fetcher(from, level), end); !slices.Equal(got, want) {
				t.Errorf("isolation %d from offset %d: %q, want %q", level, from, got, want)
			}
		}
	}
}

// A producer whose aborted transaction ends before the answer begins writes another, which is committed.
func TestAnAbortedTransactionDoesNotHideTheNextOne(t *testing.T) {
	list := []fetchapi.ResponseTransaction{{ProducerID: 7, FirstOffset: 3}}
	a := newAborted(list, kafka.ReadCommitted)
	batch := func(offset int64) *protocol.RecordBatch {
		return &protocol.RecordBatch{BaseOffset: offset, ProducerID: 7, Attributes: protocol.Transactional}
	}
	if !a.skip(&protocol.ControlBatch{BaseOffset: 5, ProducerID: 7}) {
		t.Error("a control batch is not passed over")
	}
	if a.skip(batch(6)) {
		t.Error("a committed transaction is passed over")
	}
	if a = newAborted(list, kafka.ReadCommitted); !a.skip(batch(3)) {
		t.Error("an aborted transaction is read")
	}
	if a = newAborted(list, kafka.ReadUncommitted); a.skip(batch(3)) {
		t.Error("an aborted transaction is passed over though everything was asked for")
	}
}

func TestFetchSkipsWhatACompressedBatchHasBeforeTheOffset(t *testing.T) {
	s := newStack(t, 1)
	p, err := producer.New(producer.Options{Addr: kafka.TCP(s.kafka.Addrs()...), Transport: s.transport, Compression: kafka.Zstd})
	if err != nil {
		t.Fatal(err)
	}
	var batch []producer.Record
	for i := range 10 {
		batch = append(batch, producer.Record{Value: fmt.Append(nil, i)})
	}
	if err := p.Send(t.Context(), arrivalsTopic, batch); err != nil {
		t.Fatal(err)
	}
	if got, want := values(t, s.fetcher(7, kafka.ReadCommitted), 10), []string{"7", "8", "9"}; !slices.Equal(got, want) {
		t.Errorf("from offset 7: %v, want %v", got, want)
	}
}

func TestFetchKeepsKeysHeadersAndTimes(t *testing.T) {
	s := newStack(t, 1)
	at := time.UnixMilli(1_700_000_000_123)
	sent := []producer.Record{
		{Key: []byte("k"), Value: []byte("v"), Headers: []event.Header{{Key: "h", Value: []byte("1")}}, Time: at},
		{Value: make([]byte, 200_000), Time: at}, // larger than a piece of the arena
		{Key: []byte{}, Time: at},
	}
	if err := s.sender.Send(t.Context(), arrivalsTopic, sent); err != nil {
		t.Fatal(err)
	}
	f := s.fetcher(0, kafka.ReadCommitted)
	got, lag, err := f.fetch(t.Context())
	if err != nil || lag != 0 {
		t.Fatalf("fetch: %v, lag %d", err, lag)
	}
	for i, r := range got {
		if string(r.Value) != string(sent[i].Value) || (r.Key == nil) != (sent[i].Key == nil) || (r.Value == nil) != (sent[i].Value == nil) ||
			!r.Time.Equal(at) || r.Source != (event.Source{Topic: arrivalsTopic, Offset: int64(i)}) {
			t.Errorf("record %d: key %q, %d bytes, %v, %+v", i, r.Key, len(r.Value), r.Time, r.Source)
		}
	}
	if len(got) != 3 || len(got[0].Headers) != 1 || got[0].Headers[0].Key != "h" || string(got[0].Headers[0].Value) != "1" {
		t.Errorf("%d records, headers %+v", len(got), got[0].Headers)
	}
}
