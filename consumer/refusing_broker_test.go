package consumer

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/internal/devstack"
)

// teach has an embedded broker refuse what Kafka refuses for its content, in Kafka's words: records without a key in a
// topic that is compacted, and timestamps that are more than message.timestamp.after.max.ms ahead. Sizes it knows by
// itself. What stands beside a refused batch in its request is sent away, to come again.
func teach(k *devstack.Kafka) {
	k.Cluster.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.Cluster.KeepControl()
		req := kreq.(*kmsg.ProduceRequest)
		res := req.ResponseKind().(*kmsg.ProduceResponse)
		refused := false
		for _, t := range req.Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic = t.Topic
			settings := k.Cluster.TopicInfo(t.Topic).Configs
			for _, p := range t.Partitions {
				answer := refusal(settings, p.Records)
				refused = refused || answer.ErrorCode != 0
				if answer.ErrorCode == 0 {
					answer.ErrorCode = kerr.NotEnoughReplicas.Code
				}
				answer.Partition = p.Partition
				topic.Partitions = append(topic.Partitions, answer)
			}
			res.Topics = append(res.Topics, topic)
		}
		return res, nil, refused
	})
}

// refusal is the answer for one record batch; its code is 0 where nothing is wrong.
func refusal(settings map[string]*string, wire []byte) kmsg.ProduceResponseTopicPartition {
	answer := kmsg.NewProduceResponseTopicPartition()
	is := func(key, value string) bool { return settings[key] != nil && *settings[key] == value }
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(wire); err != nil {
		panic(err)
	}
	refuse := func(k int, code int16, text string) {
		answer.ErrorCode = code
		answer.ErrorRecords = append(answer.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{
			RelativeOffset: int32(k), ErrorMessage: &text})
	}
	now := time.Now().UnixMilli()
	raw := batch.Records
	for k := range int(batch.NumRecords) {
		length, n := binary.Varint(raw)
		var r kmsg.Record
		if err := r.ReadFrom(raw[:n+int(length)]); err != nil {
			panic(err)
		}
		raw = raw[n+int(length):]
		stamp := batch.FirstTimestamp + r.TimestampDelta64
		switch {
		case is("cleanup.policy", "compact") && r.Key == nil:
			refuse(k, kerr.InvalidRecord.Code, "Compacted topic cannot accept message without key in topic partition.")
		case is("message.timestamp.after.max.ms", "3600000") && stamp > now+3600000:
			refuse(k, kerr.InvalidTimestamp.Code, fmt.Sprintf("Timestamp %d of message with offset %d is out of range. "+
				"The timestamp should be within [%d, %d]", stamp, k, now-(1<<63-1), now+3600000))
		case is("message.timestamp.before.max.ms", "3600000") && stamp < now-3600000:
			refuse(k, kerr.InvalidTimestamp.Code, fmt.Sprintf("Timestamp %d of message with offset %d is out of range. "+
				"The timestamp should be within [%d, %d]", stamp, k, now-3600000, now+3600000))
		}
	}
	return answer
}
