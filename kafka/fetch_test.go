package kafka

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

func (b *bench) cursor(offset int64) *Cursor {
	return b.way.cursor(TopicPartition{Topic: "predictions"}, offset, 1<<20, 0, time.Millisecond, retry.Patience{})
}

// values are the records that a cursor reads until it has reached an offset.
func values(t *testing.T, c *Cursor, end int64) (out []string) {
	t.Helper()
	for range 100 {
		if c.next >= end {
			return out
		}
		records, _, err := c.fetch(t.Context())
		expect.OK(t, err)
		for _, r := range records {
			out = append(out, string(r.Value))
		}
	}
	t.Fatalf("after 100 fetches at offset %d, want %d; read %v", c.next, end, out)
	return nil
}

// transact publishes values in one transaction and ends it.
func (b *bench) transact(end kgo.TransactionEndTry, values ...string) {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...), kgo.TransactionalID(fmt.Sprint("tx-", values[0])),
		kgo.DefaultProduceTopic("predictions"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range values {
		if err := client.ProduceSync(b.t.Context(), kgo.StringRecord(v)).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := client.EndTransaction(b.t.Context(), end); err != nil {
		b.t.Fatal(err)
	}
}

func TestFetchPassesOverAbortedTransactionsAndControlRecords(t *testing.T) {
	b := newBench(t, 1)
	b.transact(kgo.TryCommit, "a", "b")
	b.transact(kgo.TryAbort, "lost", "lost too")
	b.transact(kgo.TryCommit, "c")
	b.transact(kgo.TryAbort, "lost again")
	end := b.kafka.Cluster.PartitionInfo("predictions", 0).HighWatermark
	if end != 10 { // six records, four control records
		t.Fatalf("the log ends at %d, want 10", end)
	}
	// From every offset: an answer may hold the end of a transaction and not its beginning.
	committed := []string{"a", "b", "", "", "", "", "c", "", "", ""}
	for from := range end {
		want := slices.DeleteFunc(slices.Clone(committed[from:]), func(v string) bool { return v == "" })
		if got := values(t, b.cursor(from), end); !slices.Equal(got, want) {
			t.Errorf("from offset %d: %q, want %q", from, got, want)
		}
	}
}

func TestFetchSkipsWhatACompressedBatchHasBeforeTheOffset(t *testing.T) {
	b := newBench(t, 1)
	b.compression = "zstd"
	var batch []Record
	for i := range 10 {
		batch = append(batch, Record{Value: fmt.Append(nil, i)})
	}
	expect.OK(t, b.sink().Send(t.Context(), "predictions", batch))
	if got, want := values(t, b.cursor(7), 10), []string{"7", "8", "9"}; !slices.Equal(got, want) {
		t.Errorf("from offset 7: %v, want %v", got, want)
	}
}

func TestFetchKeepsKeysHeadersAndTimes(t *testing.T) {
	b := newBench(t, 1)
	at := time.UnixMilli(1_700_000_000_123)
	sent := []Record{
		{Key: []byte("k"), Value: []byte("v"), Headers: []Header{{Key: "h", Value: []byte("1")}}, Time: at},
		{Value: make([]byte, 200_000), Time: at}, // larger than a piece of the arena
		{Key: []byte{}, Time: at},
	}
	expect.OK(t, b.sink().Send(t.Context(), "predictions", sent))
	c := b.cursor(0)
	got, lag, err := c.fetch(t.Context())
	if err != nil || lag != 0 {
		t.Fatalf("fetch: %v, lag %d", err, lag)
	}
	for i, r := range got {
		if string(r.Value) != string(sent[i].Value) || (r.Key == nil) != (sent[i].Key == nil) ||
			(r.Value == nil) != (sent[i].Value == nil) ||
			!r.Time.Equal(at) || r.Position != (Position{Topic: "predictions", Offset: int64(i)}) {
			t.Errorf("record %d: key %q, %d bytes, %v, %+v", i, r.Key, len(r.Value), r.Time, r.Position)
		}
	}
	if len(got) != 3 || len(got[0].Headers) != 1 || got[0].Headers[0].Key != "h" ||
		string(got[0].Headers[0].Value) != "1" {
		t.Errorf("%d records, headers %+v", len(got), got[0].Headers)
	}
}
