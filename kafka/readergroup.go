package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describegroups"
)

// readerNote is stored with every offset that a [Reader] commits, so that the offsets of consumers can be told from
// them.
const readerNote = "rivulet refresh"

// ReaderGroup says who uses a Reader's group, and where it stands in the topic.
type ReaderGroup struct {
	Members []string // client ids of those who consume in the group; a Reader is never a member
	Offsets Offsets  // the next ones to read, of partitions that have some
	Foreign bool     // somebody else than a Reader has committed some of Offsets
}

// Group asks for the state of the group.
func (r *Reader) Group(ctx context.Context) (*ReaderGroup, error) {
	at, err := r.partitions(ctx)
	if err != nil {
		return nil, err
	}
	g := &ReaderGroup{Offsets: Offsets{}}
	if g.Members, err = r.client.members(ctx, r.opts.Group); err != nil {
		return nil, err
	}
	stored, err := r.client.positions(ctx, r.opts.Group, at, true)
	if errors.Is(err, kafkago.GroupIdNotFound) { // it has never committed
		return g, nil
	}
	if err != nil {
		return nil, err
	}
	for at, p := range stored {
		if p.offset >= 0 {
			g.Offsets[at] = p.offset
			g.Foreign = g.Foreign || p.metadata != readerNote
		}
	}
	return g, nil
}

// partitions returns the partitions of the topic.
func (r *Reader) partitions(ctx context.Context) ([]TopicPartition, error) {
	counts, err := r.client.countPartitions(ctx, r.opts.Topic)
	if err != nil {
		return nil, err
	}
	at := make([]TopicPartition, counts[r.opts.Topic])
	for p := range at {
		at[p] = TopicPartition{r.opts.Topic, p}
	}
	return at, nil
}

// Range returns the first offset of each partition of the topic, and the one after the last record.
func (r *Reader) Range(ctx context.Context) (first, end Offsets, err error) {
	all, err := r.partitions(ctx)
	if err != nil {
		return nil, nil, err
	}
	first, end = Offsets{}, Offsets{}
	for _, at := range all {
		if first[at], err = r.client.boundary(ctx, at, kafkago.FirstOffset); err != nil {
			return nil, nil, err
		}
		if end[at], err = r.client.boundary(ctx, at, kafkago.LastOffset); err != nil {
			return nil, nil, err
		}
	}
	return first, end, nil
}

// members returns the client ids of a group's members, none if there is no such group.
func (c *Client) members(ctx context.Context, group string) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.addr, &describegroups.Request{Groups: []string{group}})
	if err != nil {
		return nil, fmt.Errorf("asking who is in group %s: %w", group, err)
	}
	for _, g := range m.(*describegroups.Response).Groups {
		if err := failure(g.ErrorCode); err != nil && !errors.Is(err, kafkago.GroupIdNotFound) {
			return nil, fmt.Errorf("asking who is in group %s: %w", group, err)
		}
		for _, member := range g.Members {
			ids = append(ids, member.ClientID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
