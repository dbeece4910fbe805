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

// What is written is read by another implementation of the message, and the other way round, in each version.
func TestFetchOnTheWire(t *testing.T) {
	for version := int16(11); version <= 13; version++ {
		var wire bytes.Buffer
		if err := protocol.WriteRequest(&wire, version, 9, "me", &fetchRequest{ReplicaID: -1, MaxWaitTime: 500, MinBytes: 1, MaxBytes: 1 << 20, IsolationLevel: 1,
			SessionEpoch: -1, Topics: []fetchTopic{{Topic: "a", IDHigh: 0x0102030405060708, IDLow: 0x090a0b0c0d0e0f10, Partitions: []fetchPartition{{Partition: 300, CurrentLeaderEpoch: 7, FetchOffset: 1 << 40,
				LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: 1 << 19}}}}}); err != nil {
			t.Fatal(err)
		}
		header := 4 + 2 + 2 + 4 + 2 + len("me")
		if version >= 12 {
			header++ // no tags
		}
		req := kmsg.NewFetchRequest()
		req.Version = version
		if err := req.ReadFrom(wire.Bytes()[header:]); err != nil {
			t.Fatal(err)
		}
		want := kmsg.NewFetchRequestTopicPartition()
		want.Partition, want.CurrentLeaderEpoch, want.FetchOffset, want.PartitionMaxBytes = 300, 7, 1<<40, 1<<19
		if len(req.Topics) != 1 || req.MaxWaitMillis != 500 || req.MaxBytes != 1<<20 || req.IsolationLevel != 1 || req.SessionEpoch != -1 ||
			!named(version, req.Topics[0].Topic, req.Topics[0].TopicID) || len(req.ForgottenTopics) != 0 {
			t.Errorf("version %d: read %+v", version, req)
		} else if diff := cmp.Diff([]kmsg.FetchRequestTopicPartition{want}, req.Topics[0].Partitions, cmpopts.IgnoreUnexported(kmsg.Tags{})); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}

		answer := fetchWire(version)
		id, got, err := protocol.ReadResponse(bytes.NewReader(answer), protocol.Fetch, version)
		if err != nil || id != 9 {
			t.Fatalf("version %d: answer %d, %v", version, id, err)
		}
		p := fetchedPartition{Partition: 300, HighWatermark: 9, LastStableOffset: 8, LogStartOffset: 7, PreferredReadReplica: -1,
			Aborted: []abortedTransaction{{ProducerID: 5, FirstOffset: 6}}, Batches: []byte("batches")}
		topic := answeredTopic{Topic: "a", Partitions: []fetchedPartition{p}}
		if version >= fetchByID {
			topic.Topic, topic.IDHigh, topic.IDLow = "", 0x0102030405060708, 0x090a0b0c0d0e0f10
		}
		if diff := cmp.Diff(&fetched{SessionID: 3, Topics: []answeredTopic{topic}}, got,
			cmpopts.IgnoreUnexported(fetched{}, answeredTopic{}, fetchedPartition{}, abortedTransaction{})); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
		for n := range answer {
			if _, a, err := protocol.ReadResponse(bytes.NewReader(answer[:n]), protocol.Fetch, version); err == nil {
				t.Errorf("version %d: %d of %d bytes give %+v", version, n, len(answer), a)
			}
		}
	}
}

var someID = topicID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// named reports whether a topic is named as the version does it.
func named(version int16, name string, id topicID) bool {
	if version >= fetchByID {
		return id == someID
	}
	return name == "a"
}

// fetchWire is an answer with what may be in it.
func fetchWire(version int16) []byte {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.RecordBatches = 300, 9, 8, 7, []byte("batches")
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 5, FirstOffset: 6}}
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = 1, 2 // a tag that is passed over
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "a", someID, []kmsg.FetchResponseTopicPartition{p}
	res := kmsg.NewFetchResponse()
	res.Version, res.SessionID, res.Topics = version, 3, []kmsg.FetchResponseTopic{topic}
	head := []byte{0, 0, 0, 9}
	if version >= 12 {
		head = append(head, 0) // no tags
	}
	body := res.AppendTo(head)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
