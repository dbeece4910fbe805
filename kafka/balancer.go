package kafka

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// balancer shares out the partitions of a topic among the members of a group in consecutive ranges, as kafka-go's
// range does. That one knows only the partitions that the leader's broker knows; here each member says in its user
// data how many it has seen, and the most that any member has seen is shared out.
//
// Members offer range as well. A group in which one of them knows no other way, as a member of an older release,
// agrees on that; when the last one has left, it agrees on this.
type balancer struct {
	mu   sync.Mutex
	view view
	// asked is when this member last asked for partitions that the assignment lacks, pause how long it then waits.
	asked time.Time
	pause time.Duration
}

// view is a member's user data, as JSON. Fields that a reader does not know are ignored.
type view struct {
	// Partitions is how many partitions each topic has.
	Partitions map[string]int `json:"partitions"`
	// Asked counts how often the member has asked for partitions that an assignment lacks. Where the user data is as
	// before, a group's coordinator gives a member that joins again its old assignment.
	Asked int `json:"asked"`
}

// mostPartitions is the most partitions of a topic that are believed of another member's user data.
const mostPartitions = 100_000

var _ kafkago.GroupBalancer = (*balancer)(nil)

// ProtocolName returns the name by which members agree on this balancer.
func (*balancer) ProtocolName() string { return "rivulet-range" }

// UserData returns what this member has seen.
func (b *balancer) UserData() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return json.Marshal(b.view)
}

// AssignGroups shares out the partitions, of which the leader's broker has named known.
func (*balancer) AssignGroups(members []kafkago.GroupMember,
	known []kafkago.Partition) kafkago.GroupMemberAssignments {
	counts := make(map[string]int)
	for _, p := range known {
		counts[p.Topic] = max(counts[p.Topic], p.ID+1)
	}
	for _, m := range members {
		var seen view
		if json.Unmarshal(m.UserData, &seen) != nil {
			continue
		}
		for topic, n := range seen.Partitions {
			if n <= mostPartitions {
				counts[topic] = max(counts[topic], n)
			}
		}
	}
	var all []kafkago.Partition
	for topic, n := range counts {
		for id := range n {
			all = append(all, kafkago.Partition{Topic: topic, ID: id})
		}
	}
	return kafkago.RangeGroupBalancer{}.AssignGroups(members, all)
}

// balancers are the ways to share out partitions that a member offers, the preferred one first. The others are those
// of older releases, and must stay for as long as one may meet these in a group.
func (b *balancer) balancers() []kafkago.GroupBalancer {
	return []kafkago.GroupBalancer{b, kafkago.RangeGroupBalancer{}, kafkago.RoundRobinGroupBalancer{}}
}

// saw notes how many partitions the topics have. It reports whether they had others before, and
// whether one had more.
func (b *balancer) saw(counts map[string]int) (others, fewer bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	others = !maps.Equal(counts, b.view.Partitions)
	for topic, n := range b.view.Partitions {
		fewer = fewer || counts[topic] < n
	}
	b.view.Partitions = maps.Clone(counts)
	return others, fewer
}

// ask reports whether it is time to ask for partitions that the assignment lacks, and then notes that this is done.
// The first time is at once; the pauses double from first to longestAskPause.
func (b *balancer) ask(now time.Time, first time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.asked) < b.pause {
		return false
	}
	b.asked, b.pause = now, min(max(first, 2*b.pause), longestAskPause)
	b.view.Asked++
	return true
}

// longestAskPause is the longest that a member waits before it asks again for partitions that nobody
// has been assigned.
const longestAskPause = 5 * time.Minute

// complete notes that the assignment has all partitions.
func (b *balancer) complete() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = 0
}

// unassigned returns a partition that a topic has and no member of the group was assigned, nil if there is none.
func (c *Client) unassigned(ctx context.Context, group string, counts map[string]int) (*TopicPartition, error) {
	ctx, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	client := kafkago.Client{Addr: c.addr, Transport: c.transport}
	answer, err := client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{group}})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the assignment of group %s: %w", group, err)
	case len(answer.Groups) != 1:
		return nil, fmt.Errorf("reading the assignment of group %s: %d groups in the answer", group,
			len(answer.Groups))
	case answer.Groups[0].Error != nil:
		return nil, fmt.Errorf("reading the assignment of group %s: %w", group, answer.Groups[0].Error)
	case answer.Groups[0].GroupState != "Stable":
		return nil, fmt.Errorf("reading the assignment of group %s: %w", group, kafkago.RebalanceInProgress)
	}
	assigned := make(map[TopicPartition]bool)
	for _, m := range answer.Groups[0].Members {
		for _, t := range m.MemberAssignments.Topics {
			for _, id := range t.Partitions {
				assigned[TopicPartition{Topic: t.Topic, Partition: id}] = true
			}
		}
	}
	for topic, n := range counts {
		for id := range n {
			if at := (TopicPartition{Topic: topic, Partition: id}); !assigned[at] {
				return &at, nil
			}
		}
	}
	return nil, nil
}
