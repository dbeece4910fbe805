package consumer

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
)

// What is written is read by another implementation of the message, and the other way round.
func TestStableOffsetsOnTheWire(t *testing.T) {
	wire := (&stableOffsets{group: "g", partitions: map[string][]int{"a": {0, 7}, "b": {300}}}).encode()
	req := kmsg.NewOffsetFetchRequest()
	req.Version = stableVersion
	const header = 4 + 2 + 2 + 4 + 2 + 1
	if err := req.ReadFrom(wire[header:]); err != nil {
		t.Fatal(err)
	}
	if !req.RequireStable || req.Group != "g" || len(req.Topics) != 2 || !cmp.Equal(req.Topics[0].Partitions, []int32{0, 7}) ||
		req.Topics[1].Topic != "b" || !cmp.Equal(req.Topics[1].Partitions, []int32{300}) {
		t.Errorf("read %+v", req)
	}
	if again := req.AppendTo(nil); !bytes.Equal(again, wire[header:]) {
		t.Errorf("written %x, the other way %x", wire[header:], again)
	}

	got, err := decodeStable(stableWire())
	want := map[event.TopicPartition]stableOffset{{Topic: "a", Partition: 0}: {-1, 0}, {Topic: "a", Partition: 7}: {1 << 40, 0},
		{Topic: "b", Partition: 300}: {0, 88}}
	if err != nil || got.code != 15 || !cmp.Equal(got.partitions, want, cmp.AllowUnexported(stableOffset{})) {
		t.Errorf("read %+v, %v", got, err)
	}
}

// stableWire is an answer with what may be in it.
func stableWire() []byte {
	partition := func(id int32, offset int64, code int16, metadata *string) kmsg.OffsetFetchResponseTopicPartition {
		p := kmsg.NewOffsetFetchResponseTopicPartition()
		p.Partition, p.Offset, p.ErrorCode, p.Metadata = id, offset, code, metadata
		p.UnknownTags.Set(3, []byte("later"))
		return p
	}
	text := "by hand"
	res := kmsg.NewOffsetFetchResponse()
	res.Version, res.ErrorCode = stableVersion, 15
	res.Topics = []kmsg.OffsetFetchResponseTopic{
		{Topic: "a", Partitions: []kmsg.OffsetFetchResponseTopicPartition{partition(0, -1, 0, nil), partition(7, 1<<40, 0, &text)}},
		{Topic: "b", Partitions: []kmsg.OffsetFetchResponseTopicPartition{partition(300, 0, 88, nil)}},
	}
	return res.AppendTo([]byte{0, 0, 0, 9, 0}) // correlation id, no tags
}

func TestAnAnswerThatIsCutOffIsRefused(t *testing.T) {
	wire := stableWire()
	for n := range wire {
		if a, err := decodeStable(wire[:n]); err == nil {
			t.Errorf("%d of %d bytes give %+v", n, len(wire), a)
		}
	}
}

func FuzzStableOffsets(f *testing.F) {
	f.Add(stableWire())
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := decodeStable(data); err == nil && len(a.partitions) > len(data) {
			t.Errorf("%d partitions of %d bytes", len(a.partitions), len(data))
		}
	})
}
