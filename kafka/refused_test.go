package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
	"rivulet/test/expect"
)

// set gives a topic a setting.
func (b *bench) set(topic, name, value string) {
	b.t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...))
	if err != nil {
		b.t.Fatal(err)
	}
	defer admin.Close()
	req := kmsg.NewIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	resource.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: name, Value: &value}}
	req.Resources = append(req.Resources, resource)
	res, err := req.RequestWith(b.t.Context(), admin)
	if err != nil || res.Resources[0].ErrorCode != 0 {
		b.t.Fatalf("%s=%s: %v, %+v", name, value, err, res)
	}
}

// judged has the brokers answer Produce requests of one batch as a function says; code 0 lets a batch pass.
func (b *bench) judged(answer func(batch *kmsg.RecordBatch, partition *kmsg.ProduceResponseTopicPartition)) {
	b.kafka.Cluster.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		req := kreq.(*kmsg.ProduceRequest)
		if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 {
			b.t.Errorf("a request of several batches: %+v", req)
			return nil, nil, false
		}
		var batch kmsg.RecordBatch
		if err := batch.ReadFrom(req.Topics[0].Partitions[0].Records); err != nil {
			b.t.Error(err)
		}
		partition := kmsg.NewProduceResponseTopicPartition()
		partition.Partition = req.Topics[0].Partitions[0].Partition
		if answer(&batch, &partition); partition.ErrorCode == 0 {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.ProduceResponse)
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.Partitions = req.Topics[0].Topic, []kmsg.ProduceResponseTopicPartition{partition}
		res.Topics = append(res.Topics, topic)
		return res, nil, true
	})
}

// refusedBy publishes a parcel, commits it, and returns the places of what was refused.
func refusedBy(t *testing.T, to publisher, p parcel) (places []int) {
	t.Helper()
	refused, err := publish(t.Context(), to, p)
	expect.OK(t, err)
	for _, r := range refused {
		if retry.Judge(r.Err) != retry.Content {
			t.Errorf("record %d is refused by %v", r.Place, r.Err)
		}
		places = append(places, r.Place)
	}
	expect.OK(t, commitTo(t.Context(), to, p))
	return places
}

// both runs a test with a sink, and with its transactions.
func both(t *testing.T, test func(t *testing.T, b *bench, to publisher, by Committer)) {
	for _, exact := range []bool{false, true} {
		t.Run(fmt.Sprintf("exactly once %t", exact), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 1)
			if exact {
				test(t, b, b.transactions(anybody, zero), anybody)
			} else {
				test(t, b, b.sink(), &commits{})
			}
		})
	}
}

// holds fails unless n predictions are published, each once and in order for each key; in a transaction offset is the
// group's.
func (b *bench) holds(to publisher, n int, offset int64) {
	b.t.Helper()
	if _, exact := to.(*Transactions); exact {
		b.want(n, offset)
	} else {
		b.check(n)
	}
}

func sinkOf(to publisher) *Sink {
	if tx, is := to.(*Transactions); is {
		return tx.sink
	}
	return to.(*Sink)
}

// large is a record that no topic of small batches takes.
func large(n int) Record {
	return Record{Key: []byte("key-0"), Value: append(fmt.Appendf(nil, "n%d ", n), bytes.Repeat([]byte("x"), 3000)...)}
}

// G7: Batches that are too large are split until the topic takes them, and the next ones are filled less. Records that
// are too large by themselves are left out; what follows them keeps its order, and in a transaction its sequences.
func TestBatchesThatAreTooLargeAreSplit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench, to publisher, by Committer) {
		b.set("predictions", "max.message.bytes", "1500")
		sinkOf(to).batchBytes = 20000 // several batches
		p := parcel{records: numbered(0, 1000), by: by, next: Offsets{zero: 1000}}
		p.records = slices.Insert(p.records, 10, large(10))
		p.records = slices.Insert(p.records, 700, large(700), large(701))
		if got := refusedBy(t, to, p); !slices.Equal(got, []int{10, 700, 701}) {
			t.Errorf("refused are the records %v", got)
		}
		b.holds(to, 1000, 1000)
		learned := sinkOf(to).limit("predictions")
		if learned < 750 || learned > 1500 || sinkOf(to).limit("letters") != 20000 {
			t.Errorf("batches are filled to %d, and for another topic to %d", learned, sinkOf(to).limit("letters"))
		}
		var refused atomic.Int32
		b.judged(func(batch *kmsg.RecordBatch, _ *kmsg.ProduceResponseTopicPartition) {
			if batch.Length+12 > 1500 {
				refused.Add(1)
			}
		})
		next := parcel{records: numbered(1000, 1100), by: by, next: Offsets{zero: 1100}}
		if got := refusedBy(t, to, next); got != nil || refused.Load() > 0 {
			t.Errorf("the next shipment: refused %v, %d batches too large", got, refused.Load())
		}
		b.holds(to, 1100, 1100)
	})
}

// Compressed batches are split by their size before compression.
func TestCompressedBatchesAreSplit(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	b.compression = "zstd"
	b.set("predictions", "max.message.bytes", "300")
	if got := refusedBy(t, b.sink(), parcel{records: numbered(0, 500)}); got != nil {
		t.Errorf("refused are the records %v", got)
	}
	b.check(500)
}

// A broker that names records has these left out; one that names none has the batch halved until one is left.
func TestRecordsThatAreRefusedAreFound(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{false, true} {
		both(t, func(t *testing.T, b *bench, to publisher, by Committer) {
			b.judged(func(batch *kmsg.RecordBatch, p *kmsg.ProduceResponseTopicPartition) {
				for k, content := range contentsOf(batch) {
					if !strings.Contains(content, "bad") {
						continue
					}
					if p.ErrorCode = kerr.InvalidRecord.Code; named {
						p.ErrorRecords = append(p.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{RelativeOffset: int32(k)})
					}
				}
			})
			p := parcel{records: numbered(0, 50), by: by, next: Offsets{zero: 50}}
			for _, k := range []int{0, 7, 8, 49} {
				p.records[k].Value = append(p.records[k].Value, "bad"...)
			}
			if got := refusedBy(t, to, p); !slices.Equal(got, []int{0, 7, 8, 49}) {
				t.Errorf("refused are the records %v", got)
			}
			b.holds(to, 46, 50)
			if got := refusedBy(t, to, parcel{records: numbered(50, 60), by: by, next: Offsets{zero: 60}}); got != nil {
				t.Errorf("refused are the records %v", got)
			}
			b.holds(to, 56, 60)
		})
	}
}

// contentsOf are the keys and values of a batch.
func contentsOf(batch *kmsg.RecordBatch) (contents []string) {
	records, _, err := wire.NewReader(zero, &kmsg.FetchResponseTopicPartition{RecordBatches: batch.AppendTo(nil)},
		wire.Largest, map[string]string{}).Read(0)
	if err != nil {
		panic(err)
	}
	for _, r := range records {
		contents = append(contents, string(r.Key)+" "+string(r.Value))
	}
	return contents
}

// More may be added to a delivery before it is committed: in a transaction all of it is seen, or nothing.
func TestMoreIsAddedToADelivery(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench, to publisher, by Committer) {
		add := func(sh *Shipment, next Offsets) {
			expect.OK(t, expect.ErrorOf(publishTo(t.Context(), to, sh, next)))
		}
		add(shipmentOf(t, to, "predictions", numbered(0, 10)), Offsets{zero: 10})
		add(shipmentOf(t, to, "letters", []Record{{Value: []byte("instead")}}), nil)
		add(shipmentOf(t, to, "predictions", numbered(10, 20)), nil)
		if _, exact := to.(*Transactions); exact {
			b.want(0, -1)
		}
		expect.OK(t, commitTo(t.Context(), to, parcel{by: by, next: Offsets{zero: 10}}))
		if letters := b.committed("letters"); len(letters) != 1 || len(b.committed("predictions")) != 20 {
			t.Errorf("%d letters and %d predictions", len(letters), len(b.committed("predictions")))
		}
		b.holds(to, 20, 10)
	})
}

func shipmentOf(t *testing.T, to publisher, topic string, records []Record) *Shipment {
	t.Helper()
	sh := sinkOf(to).Shipment()
	for i := range records {
		expect.OK(t, sh.Add(t.Context(), topic, &records[i]))
	}
	return sh
}

// A transaction that lacks a shipment is not committed.
func TestATransactionThatLacksAShipment(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	tx := b.transactions(anybody, zero)
	b.publish(tx, batch(anybody, zero, 0, 10))
	b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "letters", Err: kerr.InvalidProducerEpoch})
	letter := shipmentOf(t, tx, "letters", []Record{{Value: []byte("instead")}})
	if _, err := tx.Publish(t.Context(), letter, nil); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("Publish returned %v", err)
	}
	if err := tx.Commit(t.Context()); !errors.Is(err, retry.ErrGeneration) {
		t.Errorf("Commit returned %v", err)
	}
	b.begin(tx)
	b.wantEnded()
	b.want(0, -1)
}

// A batch is refused whose first attempt had no answer: it may be in the log. In a transaction nobody could tell the
// sequences apart, so that is given up; without one it is split, and may be there twice.
func TestARefusalAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		b := newBench(t, 1)
		wire := b.cutAfter(int16(kmsg.Produce), 1)
		attempts := 0
		b.judged(func(_ *kmsg.RecordBatch, p *kmsg.ProduceResponseTopicPartition) {
			if attempts++; attempts == 2 {
				p.ErrorCode = kerr.MessageTooLarge.Code
			}
		})
		if !exact {
			err := deliver(t.Context(), b.sink(), parcel{records: numbered(0, 50)})
			if err != nil || wire.left.Load() > 0 || len(b.read("predictions", 0)) != 100 {
				t.Errorf("at least once: %v, %d cuts are left, %d records", err, wire.left.Load(), len(b.read("predictions", 0)))
			}
			continue
		}
		tx := b.transactions(anybody, zero)
		err := deliver(t.Context(), tx, batch(anybody, zero, 0, 50))
		if !errors.Is(err, retry.ErrGeneration) || !errors.Is(err, kafkago.MessageSizeTooLarge) || wire.left.Load() > 0 {
			t.Errorf("exactly once: %v, %d cuts are left", err, wire.left.Load())
		}
		b.wantEnded()
		b.want(0, -1)
		b.begin(tx)
		if got := refusedBy(t, tx, batch(anybody, zero, 0, 50)); got != nil {
			t.Errorf("refused are the records %v", got)
		}
		b.want(50, 50)
	}
}

func TestSendSaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.set("predictions", "max.message.bytes", "1500")
	err := b.sink().Send(t.Context(), "predictions", append(numbered(0, 3), large(3)))
	if retry.Judge(err) != retry.Content ||
		!strings.Contains(err.Error(), "1 of 4 records are refused, the first of them is record 3: "+
			"publishing to predictions") {
		t.Errorf("Send returned %v", err)
	}
	b.check(3)
}
