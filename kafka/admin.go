package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
)

// Topics and groups of measurements (internal/bench), which are made for a run and deleted after it. A client for it
// names no topics in its [Options]: it waits until a new topic is known.

func (c *Client) admin() *kafkago.Client {
	return &kafkago.Client{Addr: c.addr, Transport: c}
}

// CreateTopic makes a topic with as many replicas as the cluster gives by default.
func (c *Client) CreateTopic(ctx context.Context, name string, partitions int) error {
	made, err := c.admin().CreateTopics(ctx, &kafkago.CreateTopicsRequest{
		Topics: []kafkago.TopicConfig{{Topic: name, NumPartitions: partitions, ReplicationFactor: -1}}})
	if err == nil {
		err = made.Errors[name]
	}
	if err != nil {
		return fmt.Errorf("creating the topic %s: %w", name, err)
	}
	return nil
}

// DeleteTopics deletes topics with all their records.
func (c *Client) DeleteTopics(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	deleted, err := c.admin().DeleteTopics(ctx, &kafkago.DeleteTopicsRequest{Topics: slices.Clone(names)})
	if err == nil {
		for _, name := range names {
			err = errors.Join(err, deleted.Errors[name])
		}
	}
	if err != nil {
		return fmt.Errorf("deleting topics: %w", err)
	}
	return nil
}

// DeleteGroup deletes a group that has no members, with its offsets. One that is not there is no error.
func (c *Client) DeleteGroup(ctx context.Context, group string) error {
	deleted, err := c.admin().DeleteGroups(ctx, &kafkago.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err == nil {
		err = deleted.Errors[group]
	}
	if err != nil && !errors.Is(err, kafkago.GroupIdNotFound) {
		return fmt.Errorf("deleting the group %s: %w", group, err)
	}
	return nil
}
