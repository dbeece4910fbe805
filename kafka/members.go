package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/group"
	"rivulet/kafka/wire"
)

// GroupState is the state of a group, by its coordinator.
type GroupState struct {
	// Protocol is the way in which the members share out partitions, [GroupProtocol] where all are Rivulet's; empty: there
	// is none yet, or the brokers share them out (KIP-848).
	Protocol string
	// OfBrokers says that the brokers share out the partitions: such a group takes no other members.
	OfBrokers bool
	Members   []GroupMember
}

// GroupMember is a member of a group.
type GroupMember struct {
	ID, Client, Host, Instance string
	Topics                     []string // that it subscribes to; nil: not known while the group rebalances
	Partitions                 []TopicPartition
	Purpose                    string // of [SourceOptions.Purpose]; empty: the member says none
}

// String names the member and what it reads.
func (m GroupMember) String() string {
	text := cmp.Or(m.Client, "a client without an id")
	if m.Instance != "" {
		text += " (instance " + m.Instance + ")"
	}
	if m.Host != "" {
		text += " at " + strings.TrimPrefix(m.Host, "/")
	}
	if len(m.Topics) > 0 {
		text += " reads " + strings.Join(m.Topics, ", ")
	}
	if len(m.Partitions) > 0 {
		text += fmt.Sprintf(" (%d partitions)", len(m.Partitions))
	}
	if m.Purpose != "" {
		text += " and " + m.Purpose
	}
	return text
}

// Others returns the members that are another program than one with these topics and this purpose: each record goes to
// one member of a group only, so that program and this one would each get a part of them.
func (g *GroupState) Others(topics []string, purpose string) (others []GroupMember) {
	topics = slices.Sorted(slices.Values(topics))
	for _, m := range g.Members {
		if m.Topics != nil && (m.Purpose != purpose || !slices.Equal(slices.Sorted(slices.Values(m.Topics)), topics)) ||
			!g.joinable() {
			others = append(others, m)
		}
	}
	return others
}

// joinable reports whether a Rivulet may be a member beside those that are there.
func (g *GroupState) joinable() bool {
	return !g.OfBrokers && (g.Protocol == "" || g.Protocol == GroupProtocol)
}

// Group asks a group's coordinator who its members are. A group that does not exist has none.
func (c *Client) Group(ctx context.Context, name string) (*GroupState, error) {
	ctx, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	var g *GroupState
	err := coordinated(ctx, func() error {
		at, err := c.coordinator(ctx, name)
		if err != nil {
			return err
		}
		if g, err = c.classicGroup(ctx, at, name); err == nil && len(g.Members) == 0 {
			g, err = c.brokersGroup(ctx, at, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("asking who is in group %s: %w", name, err)
	}
	return g, nil
}

// classicGroup asks for a group whose members share out the partitions.
func (c *Client) classicGroup(ctx context.Context, at int32, name string) (*GroupState, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{name}
	answer, err := ask[*kmsg.DescribeGroupsResponse](ctx, c, req, 0, req.MaxVersion(), wire.Broker(at))
	if err != nil || answer == nil {
		return nil, cmp.Or(err, error(kafkago.UnsupportedVersion))
	}
	g := &GroupState{}
	for _, r := range answer.Groups {
		if err := wire.Failure(r.ErrorCode); err != nil && !errors.Is(err, kafkago.GroupIdNotFound) {
			return nil, err
		}
		g.Protocol = r.Protocol
		for _, m := range r.Members {
			member := GroupMember{ID: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
			if m.InstanceID != nil {
				member.Instance = *m.InstanceID
			}
			var reads kmsg.ConsumerMemberMetadata
			if len(m.ProtocolMetadata) > 0 && reads.ReadFrom(m.ProtocolMetadata) == nil {
				member.Topics, member.Purpose = reads.Topics, purposeOf(reads.UserData)
			}
			member.Partitions, _ = group.Assigned(m.MemberAssignment)
			g.Members = append(g.Members, member)
		}
	}
	return g, nil
}

// brokersGroup asks for a group whose partitions the brokers share out (KIP-848, Kafka 4).
func (c *Client) brokersGroup(ctx context.Context, at int32, name string) (*GroupState, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{name}
	g := &GroupState{}
	answer, err := ask[*kmsg.ConsumerGroupDescribeResponse](ctx, c, req, 0, req.MaxVersion(), wire.Broker(at))
	if err != nil || answer == nil { // nil: the broker is older
		return g, err
	}
	for _, r := range answer.Groups {
		if r.ErrorCode != 0 { // it is a group of the other kind, or does not exist
			continue
		}
		for _, m := range r.Members {
			member := GroupMember{ID: m.MemberID, Client: m.ClientID, Host: m.ClientHost, Topics: m.SubscribedTopics}
			if m.InstanceID != nil {
				member.Instance = *m.InstanceID
			}
			for _, t := range m.Assignment.TopicPartitions {
				for _, id := range t.Partitions {
					member.Partitions = append(member.Partitions, TopicPartition{Topic: t.Topic, Partition: int(id)})
				}
			}
			g.Members, g.OfBrokers = append(g.Members, member), true
		}
	}
	return g, nil
}

// members returns the client ids of a group's members, none if there is no such group.
func (c *Client) members(ctx context.Context, name string) (ids []string, err error) {
	g, err := c.Group(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, m := range g.Members {
		ids = append(ids, m.Client)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// meet is told of all members by the group's leader, and warns of those that are another program.
func (s *Source) meet(protocol string, members []group.Fellow) {
	g := GroupState{Protocol: protocol}
	for _, m := range members {
		g.Members = append(g.Members, GroupMember{ID: m.ID, Client: clientOf(m.ID), Instance: m.Instance,
			Topics: append([]string{}, m.Topics...), Purpose: purposeOf(m.UserData)})
	}
	s.warn(protocol, g.Others(s.opts.Topics, s.opts.Purpose))
}

// survey warns of the members of a group that the brokers lead: it has members of another program's protocol, or had
// some and has not become a group of Rivulet's own yet. Those do not say what they are.
func (s *Source) survey(ctx context.Context, own string) {
	g, err := s.client.Group(ctx, s.opts.Group)
	if err != nil || !g.OfBrokers { // the members say it then to their leader
		return
	}
	s.warn("the brokers' own", slices.DeleteFunc(g.Members, func(m GroupMember) bool { return m.ID == own }))
}

func (s *Source) warn(protocol string, others []GroupMember) {
	for _, m := range others {
		s.with.Logger.Warn("another program is a member of the consumer group: Kafka gives each arrival to one member only, "+
			"so those that it gets are not answered here. Give each program a group of its own (kafka.group)",
			"group", s.opts.Group, "member", m.String(), "member_id", m.ID, "protocol", protocol,
			"this_member", GroupMember{Client: s.client.clientID, Instance: s.opts.Instance, Topics: s.opts.Topics,
				Purpose: s.opts.Purpose}.String())
	}
}

// uuid is the end of a member id: brokers make it of the client id and a UUID.
var uuid = regexp.MustCompile(`-[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// clientOf returns the client id in a member id.
func clientOf(id string) string { return uuid.ReplaceAllString(id, "") }

// refused adds to the error of a join that the group refuses who its members are.
func (s *Source) refused(ctx context.Context, err error) error {
	if !errors.Is(err, kafkago.InconsistentGroupProtocol) {
		return err
	}
	g, asked := s.client.Group(ctx, s.opts.Group)
	if asked != nil || len(g.Members) == 0 {
		return err
	}
	names := make([]string, len(g.Members))
	for i, m := range g.Members {
		names[i] = m.String()
	}
	way := cmp.Or(g.Protocol, "the brokers' own")
	return fmt.Errorf("%w: its members share out partitions by the protocol %s, and this one by %s; they are %s", err, way,
		GroupProtocol, strings.Join(names, "; "))
}
