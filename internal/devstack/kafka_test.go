package devstack

import (
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/test/expect"
)

// client returns a client whose connections end with the test, before the broker is closed.
func client(t *testing.T, k *Kafka) *kafka.Client {
	t.Helper()
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &kafka.Client{Addr: kafka.TCP(k.Addr()), Transport: transport}
}

func TestKafkaHasTheTopicsThatWereAskedFor(t *testing.T) {
	k, err := StartKafka(KafkaOptions{Brokers: 2, Topics: map[string]int{"one": 1, "four": 4}})
	expect.OK(t, err)
	defer k.Close()
	if len(k.Addrs()) != 2 || k.Addrs()[0] != k.Addr() {
		t.Errorf("addresses %v, first %s", k.Addrs(), k.Addr())
	}
	res, err := client(t, k).Metadata(t.Context(), &kafka.MetadataRequest{})
	expect.OK(t, err)
	got := make(map[string]int)
	for _, topic := range res.Topics {
		got[topic.Name] = len(topic.Partitions)
	}
	if got["one"] != 1 || got["four"] != 4 || len(res.Brokers) != 2 {
		t.Errorf("topics %v, %d brokers", got, len(res.Brokers))
	}
}

func TestKafkaKeepsRecordsInItsDataDir(t *testing.T) {
	o := KafkaOptions{Topics: map[string]int{"one": 1}, DataDir: t.TempDir()}
	k, err := StartKafka(o)
	expect.OK(t, err)
	_, err = client(t, k).Produce(t.Context(), &kafka.ProduceRequest{Topic: "one", RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte("kept"))})})
	expect.OK(t, err)
	addr := k.Addr()
	k.Close()

	o.Addr = addr
	if k, err = StartKafka(o); err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if k.Addr() != addr {
		t.Errorf("address %s, asked for %s", k.Addr(), addr)
	}
	res, err := client(t, k).Fetch(t.Context(), &kafka.FetchRequest{Topic: "one", MinBytes: 1, MaxBytes: 1 << 20,
		MaxWait: time.Second})
	expect.OK(t, err)
	r, err := res.Records.ReadRecord()
	expect.OK(t, err)
	if value, err := kafka.ReadAll(r.Value); err != nil || string(value) != "kept" {
		t.Errorf("read %q, %v", value, err)
	}
}

func TestKafkaOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]KafkaOptions{
		`"nowhere"`:        {Addr: "nowhere"},
		`"many"`:           {Addr: "127.0.0.1:many"},
		`"99999"`:          {Addr: "127.0.0.1:99999"},
		"one has 0":        {Topics: map[string]int{"one": 0}},
		"embedded Kafka: ": {Addr: "203.0.113.1:0"}, // an address of nobody's
	} {
		k, err := StartKafka(o)
		if err == nil {
			k.Close()
		}
		expect.Error(t, err, want, "%+v", o)
	}
}
