package kafka

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// TransactionalIDFor returns the transactional id under which the members of a group write for a partition
// that they read: id:topic:partition. Two groups never have the same one, whatever their names are: a
// topic's name has no colon.
func TransactionalIDFor(id, topic string, partition int) string {
	return id + ":" + topic + ":" + strconv.Itoa(partition)
}

// formerID is the id under which members of releases wrote that joined its parts by dots. Group a.b with topic c and
// group a with topic b.c had the same one.
func formerID(id string, at TopicPartition) string {
	return id + "." + at.Topic + "." + strconv.Itoa(at.Partition)
}

// fenceFormer ends what a member of such a release has left open for a partition, and fences it. Nobody writes under
// that id here, so rights for it are not needed: who has none has no member that wrote.
func (s *Sink) fenceFormer(ctx context.Context, id string, at TopicPartition, timeout time.Duration) error {
	_, err := s.open(ctx, formerID(id, at), timeout)
	if errors.Is(err, TransactionalIDAuthorizationFailed) {
		return nil
	}
	return err
}
