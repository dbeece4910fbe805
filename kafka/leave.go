package kafka

import (
	"context"
	"errors"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// leaveTimeout bounds the wait for a coordinator that does not answer a leaving member. If it ends, the group removes
// the member at the end of its session.
const leaveTimeout = 5 * time.Second

// Leave leaves the group and ends the last generation. No work of that generation may be under way any more.
//
// A join may be under way, which lasts until the group's other members have joined too. A member that has been in the
// group has an id there, and leaves at once. A new member has no id before it has joined: Leave waits for the join, for
// the rebalance timeout at most.
func (s *Source) Leave() {
	if s.member != "" {
		s.client.leave(s.opts.Group, s.member)
	}
	close(s.leaving)
	switch {
	case s.group == nil:
		return
	case s.joins && s.member != "":
		s.lines.Cut() // kafka-go's group would wait for the answer to its join before it ends
	case s.joins:
		s.settle()
	}
	_ = s.group.Close() // it returns nil
}

// settle waits until the join that is under way has succeeded or failed: kafka-go's group stays a member where it is
// closed during a join and is then told to join again.
func (s *Source) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.RebalanceTimeout)
	defer cancel()
	for {
		if _, err := s.group.Next(ctx); !errors.Is(err, kafkago.RebalanceInProgress) {
			return
		}
	}
}

// leave takes a member out of a group. A failure is not worth a word: the end of the session removes
// the member, too.
func (c *Client) leave(group, member string) {
	client := kafkago.Client{Addr: c.addr, Transport: c.transport, Timeout: leaveTimeout}
	_, _ = client.LeaveGroup(context.Background(), &kafkago.LeaveGroupRequest{GroupID: group,
		Members: []kafkago.LeaveGroupRequestMember{{ID: member}}})
}
