package kafka

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What is written is read by another implementation of the message, and the other way round.
func TestStableOffsetsOnTheWire(t *testing.T) {
	var wire bytes.Buffer
	if err := protocol.WriteRequest(&wire, 7, 9, "me", &stableFetch{GroupID: "g", RequireStable: true,
		Topics: []fetchedTopic{{Name: "a", Partitions: []int32{0, 7}}, {Name: "b", Partitions: []int32{300}}}}); err != nil {
		t.Fatal(err)
	}
	const header = 4 + 2 + 2 + 4 + 2 + len("me") + 1
	req := kmsg.NewOffsetFetchRequest()
	req.Version = 7
	if err := req.ReadFrom(wire.Bytes()[header:]); err != nil {
		t.Fatal(err)
	}
	if !req.RequireStable || req.Group != "g" || len(req.Topics) != 2 || !cmp.Equal(req.Topics[0].Partitions, []int32{0, 7}) ||
		req.Topics[1].Topic != "b" || !cmp.Equal(req.Topics[1].Partitions, []int32{300}) {
		t.Errorf("read %+v", req)
	}

	answer := stableWire()
	id, got, err := protocol.ReadResponse(bytes.NewReader(answer), protocol.OffsetFetch, 7)
	want := &stableOffsets{ErrorCode: 15, Topics: []stableTopic{
		{Name: "a", Partitions: []stableOffset{{Partition: 0, Offset: -1, LeaderEpoch: -1}, {Partition: 7, Offset: 1 << 40, LeaderEpoch: -1, Metadata: "by hand"}}},
		{Name: "b", Partitions: []stableOffset{{Partition: 300, LeaderEpoch: -1, ErrorCode: 88}}}}}
	if diff := cmp.Diff(protocol.Message(want), got, cmpopts.IgnoreUnexported(stableOffsets{}, stableTopic{}, stableOffset{})); diff != "" || err != nil || id != 9 {
		t.Errorf("answer %d: %v (-want +got):\n%s", id, err, diff)
	}
	for n := range answer {
		if _, a, err := protocol.ReadResponse(bytes.NewReader(answer[:n]), protocol.OffsetFetch, 7); err == nil {
			t.Errorf("%d of %d bytes give %+v", n, len(answer), a)
		}
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
	res.Version, res.ErrorCode = 7, 15
	res.Topics = []kmsg.OffsetFetchResponseTopic{
		{Topic: "a", Partitions: []kmsg.OffsetFetchResponseTopicPartition{partition(0, -1, 0, nil), partition(7, 1<<40, 0, &text)}},
		{Topic: "b", Partitions: []kmsg.OffsetFetchResponseTopicPartition{partition(300, 0, 88, nil)}},
	}
	body := res.AppendTo([]byte{0, 0, 0, 9, 0}) // correlation id, no tags
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
