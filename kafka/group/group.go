// Package group speaks the protocol by which the members of a consumer group share out partitions. A [Member] joins,
// sends heartbeats and leaves; each request goes to the broker that coordinates the group:
//
//	JoinGroup ─▶ the coordinator waits until all members have joined, and names one of them the leader
//	SyncGroup ─▶ the leader sends who reads what; each member is answered with its own partitions
//	Heartbeat ─▶ the coordinator answers whether the members have to join again
//
// A member with an instance id is a static one (KIP-345). The coordinator keeps its partitions for it while its process
// is away, for the session timeout at most: a process that comes back with the same instance id gets the same
// partitions, and no other member is stopped for that. So a static member leaves only with [Options.Leaves]. If two
// processes have one instance id, the coordinator refuses the earlier one with FENCED_INSTANCE_ID.
package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/wire"
)

// Brokers is a member's way to the brokers.
type Brokers interface {
	// Coordinator asks which broker coordinates a group.
	Coordinator(ctx context.Context, group string) (int32, error)
	// Ask sends a request and waits for the answer, for limit at most. The answer is nil where the broker does not speak
	// the version least or a newer one.
	Ask(ctx context.Context, limit time.Duration, req kmsg.Request, least int16, to wire.Target) (kmsg.Response, error)
	// Partitions returns how many partitions each topic has.
	Partitions(ctx context.Context, topics []string) (map[string]int, error)
	// Foreign returns how many partitions topics have that other members read, as far as that can be known.
	Foreign(ctx context.Context, topics []string) map[string]int
}

// Options are a member's.
type Options struct {
	Group  string
	Topics []string
	// Instance makes this a static member; empty means a member with no name of its own.
	Instance string
	// Leaves has a static member leave the group at its end, as others do: then only its crash keeps its partitions.
	Leaves bool
	// Session is the silence after which the coordinator gives a member's partitions to others. Rebalance is how long it
	// waits for the members to join.
	Session, Rebalance time.Duration
	// Balancer shares out the partitions, if this member leads the group.
	Balancer kafkago.GroupBalancer
	// Leads, where not nil, is told of all members whenever this one leads the group, and of the protocol by which
	// partitions are shared out.
	Leads func(protocol string, members []Fellow)
}

// Fellow is a member of the group as its leader sees it.
type Fellow struct {
	ID, Instance string
	Topics       []string
	UserData     []byte
}

// Member is a member of a group, for one goroutine; [Member.Beat] may be called by another one.
type Member struct {
	Options
	brokers Brokers
	id      string // by which the coordinator knows the member; "": it does not yet
	// unanswered says that the coordinator may know a static member by a member id that has not reached this process.
	unanswered bool
}

// NewMember returns a member that has not joined. It sends nothing.
func NewMember(b Brokers, o Options) *Member { return &Member{Options: o, brokers: b} }

// Forget has the next join be one of a new member.
func (m *Member) Forget() { m.id = "" }

// DropInstance has the next join be one of a new member without an instance id.
func (m *Member) DropInstance() { m.id, m.Instance, m.unanswered = "", "", false }

// Membership is a member's place in one generation of the group.
type Membership struct {
	ID          string
	Generation  int32
	Coordinator int32 // the broker's id
	Leaderless  bool  // the brokers share out the partitions: other members are of their protocol (KIP-848)
	Partitions  []wire.TopicPartition
}

// The least versions of requests: with instance ids.
const (
	joinVersion      = 5 // Kafka 2.3
	syncVersion      = 3
	heartbeatVersion = 3
	leaveVersion     = 3
)

// instant is the time that a coordinator may take for a request that it answers at once.
const instant = 5 * time.Second

// parting is the time that a member waits for an answer when its program ends.
const parting = time.Second

// Join joins the group, or joins it again, and returns when all members have. An error that [errors.Is]
// RebalanceInProgress means to join again at once.
func (m *Member) Join(ctx context.Context) (Membership, error) {
	coordinator, err := m.brokers.Coordinator(ctx, m.Group)
	if err != nil {
		return Membership{}, err
	}
	first := ctx
	if m.id == "" && m.Instance == "" { // an id comes at once; with it the member can leave while its join is waited for
		var cancel context.CancelFunc
		first, cancel = context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(parting, cancel) })()
	}
	entered, err := m.enter(first, coordinator)
	if errors.Is(err, kafkago.MemberIDRequired) {
		entered, err = m.enter(ctx, coordinator)
	}
	if err != nil {
		return Membership{}, err
	}
	return m.sync(ctx, coordinator, entered)
}

// enter sends JoinGroup, and remembers the member's id. If the coordinator does not know the member any more, it asks
// to join as a new one.
func (m *Member) enter(ctx context.Context, coordinator int32) (*kmsg.JoinGroupResponse, error) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = m.Group, m.id, m.instance(), protocolType
	req.SessionTimeoutMillis = int32(m.Session.Milliseconds())
	req.RebalanceTimeoutMillis = int32(m.Rebalance.Milliseconds())
	data, err := m.Balancer.UserData()
	if err != nil {
		return nil, fmt.Errorf("describing this member for %s: %w", m.Balancer.ProtocolName(), err)
	}
	view := kmsg.ConsumerMemberMetadata{Topics: m.Topics, UserData: data}
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: m.Balancer.ProtocolName(), Metadata: view.AppendTo(nil)}}
	m.unanswered = m.Instance != "" && m.id == ""
	answer, err := ask[*kmsg.JoinGroupResponse](ctx, m, m.Rebalance+instant, req, joinVersion, coordinator)
	if err != nil {
		return nil, err
	}
	m.unanswered = false
	err = wire.Failure(answer.ErrorCode)
	switch {
	case errors.Is(err, kafkago.UnknownMemberId):
		m.id = ""
		return nil, fmt.Errorf("%w: %w", kafkago.RebalanceInProgress, err)
	case err == nil, errors.Is(err, kafkago.MemberIDRequired):
		m.id = answer.MemberID
	}
	return answer, err
}

// protocolType is the type of groups that share out partitions.
const protocolType = "consumer"

// sync sends SyncGroup, as a leader with the partitions of all members, and returns this member's.
func (m *Member) sync(ctx context.Context, coordinator int32, entered *kmsg.JoinGroupResponse) (Membership, error) {
	in := Membership{ID: m.id, Generation: entered.Generation, Coordinator: coordinator,
		Leaderless: entered.LeaderID == ""}
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = m.Group, m.id, m.instance(), entered.Generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr(protocolType), entered.Protocol
	if entered.LeaderID == m.id && !entered.SkipAssignment {
		var err error
		if req.GroupAssignment, err = m.assign(ctx, entered); err != nil {
			return in, err
		}
	}
	answer, err := ask[*kmsg.SyncGroupResponse](ctx, m, m.Rebalance+instant, req, syncVersion, coordinator)
	if err == nil {
		err = wire.Failure(answer.ErrorCode)
	}
	switch {
	case errors.Is(err, kafkago.UnknownMemberId), errors.Is(err, kafkago.IllegalGeneration):
		err = fmt.Errorf("%w: %w", kafkago.RebalanceInProgress, err)
	case err == nil && len(answer.MemberAssignment) > 0:
		if in.Partitions, err = Assigned(answer.MemberAssignment); err != nil {
			return in, fmt.Errorf("reading the partitions that the group's leader assigned: %w", err)
		}
	}
	return in, err
}

// Assigned reads the partitions of a member.
func Assigned(assignment []byte) (all []wire.TopicPartition, err error) {
	if len(assignment) == 0 {
		return nil, nil
	}
	var own kmsg.ConsumerMemberAssignment
	if err := own.ReadFrom(assignment); err != nil {
		return nil, err
	}
	for _, t := range own.Topics {
		for _, id := range t.Partitions {
			all = append(all, wire.TopicPartition{Topic: t.Topic, Partition: int(id)})
		}
	}
	return all, nil
}

// assign shares out the partitions among all members. Static members are in the order of their instance ids, so that
// each gets the same partitions in every generation of the same members.
func (m *Member) assign(ctx context.Context, entered *kmsg.JoinGroupResponse) (
	[]kmsg.SyncGroupRequestGroupAssignment, error) {
	counts, err := m.brokers.Partitions(ctx, m.Topics)
	if err != nil && !errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return nil, err
	}
	ids := make(map[string]string, len(entered.Members)) // by the name that a balancer orders a member by
	var members []kafkago.GroupMember
	var fellows []Fellow
	var foreign []string // topics that only other members read
	for _, other := range entered.Members {
		var view kmsg.ConsumerMemberMetadata
		if err := view.ReadFrom(other.ProtocolMetadata); err != nil {
			return nil, fmt.Errorf("reading what member %s of the group knows: %w", other.MemberID, err)
		}
		name, fellow := other.MemberID, Fellow{ID: other.MemberID, Topics: view.Topics, UserData: view.UserData}
		if other.InstanceID != nil {
			name, fellow.Instance = *other.InstanceID, *other.InstanceID
		}
		ids[name] = other.MemberID
		members = append(members, kafkago.GroupMember{ID: name, Topics: view.Topics, UserData: view.UserData})
		fellows = append(fellows, fellow)
		for _, topic := range view.Topics {
			if !slices.Contains(m.Topics, topic) && !slices.Contains(foreign, topic) {
				foreign = append(foreign, topic)
			}
		}
	}
	if m.Leads != nil {
		m.Leads(protocolOf(entered), fellows)
	}
	if len(foreign) > 0 {
		counts = maps.Clone(counts)
		maps.Copy(counts, m.brokers.Foreign(ctx, foreign))
	}
	var known []kafkago.Partition
	for topic, n := range counts {
		for id := range n {
			known = append(known, kafkago.Partition{Topic: topic, ID: id})
		}
	}
	var all []kmsg.SyncGroupRequestGroupAssignment
	for name, topics := range m.Balancer.AssignGroups(members, known) {
		var own kmsg.ConsumerMemberAssignment
		for topic, partitions := range topics {
			t := kmsg.ConsumerMemberAssignmentTopic{Topic: topic}
			for _, id := range partitions {
				t.Partitions = append(t.Partitions, int32(id))
			}
			own.Topics = append(own.Topics, t)
		}
		all = append(all, kmsg.SyncGroupRequestGroupAssignment{MemberID: ids[name], MemberAssignment: own.AppendTo(nil)})
	}
	return all, nil
}

// protocolOf returns the protocol that the coordinator has chosen.
func protocolOf(entered *kmsg.JoinGroupResponse) string {
	if entered.Protocol == nil {
		return ""
	}
	return *entered.Protocol
}

// Beat sends a heartbeat to a broker that should be the coordinator. RebalanceInProgress means that the group waits for
// this member to join again; IllegalGeneration and UnknownMemberId that it has not waited.
func (m *Member) Beat(ctx context.Context, in Membership, coordinator int32) error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.Group, in.Generation, in.ID, m.instance()
	answer, err := ask[*kmsg.HeartbeatResponse](ctx, m, min(instant, m.Session/2), req, heartbeatVersion, coordinator)
	if err != nil {
		return err
	}
	return wire.Failure(answer.ErrorCode)
}

// Leave takes the member out of the group, so that its partitions go to others at once. A static member stays, as it is
// expected back, unless Options say that it leaves. A failure is not worth a word: the end of the session removes the
// member, too.
func (m *Member) Leave() {
	if m.Instance != "" && !m.Leaves || m.id == "" && !m.unanswered {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	coordinator, err := m.brokers.Coordinator(ctx, m.Group)
	if err != nil {
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = m.Group
	req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: m.id, InstanceID: m.instance()}}
	_, _ = ask[*kmsg.LeaveGroupResponse](ctx, m, instant, req, leaveVersion, coordinator)
}

// instance returns the instance id as requests have it.
func (m *Member) instance() *string {
	if m.Instance == "" {
		return nil
	}
	return &m.Instance
}

// ask sends a request to the coordinator.
func ask[A kmsg.Response](ctx context.Context, m *Member, limit time.Duration, req kmsg.Request, least int16,
	coordinator int32) (answer A, err error) {
	got, err := m.brokers.Ask(ctx, limit, req, least, wire.Broker(coordinator))
	if err != nil {
		return answer, err
	}
	answer, answered := got.(A)
	if !answered {
		return answer, kafkago.UnsupportedVersion
	}
	return answer, nil
}
