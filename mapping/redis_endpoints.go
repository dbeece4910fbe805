package mapping

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// endpoints replaces the hosts that nodes of a cluster leave out when they say which node has which slots. Behind an
// address translation they answer null or an empty text (cluster-preferred-endpoint-type unknown-endpoint): the host is
// then the one that was asked, with another port. They answer "?" where they should have a name and have none: then
// their IP address counts, which newer servers add, and else the host that was asked. go-redis takes an empty host for
// this machine, and ends with an error at a null.
type endpoints struct {
	mu    sync.Mutex
	asked string // host of the node that told the slots last
}

// newClient makes the client of a node. The address may come from a redirection, which leaves out the host, too.
func (e *endpoints) newClient(o *redis.Options) *redis.Client {
	host, port, err := net.SplitHostPort(o.Addr)
	if err == nil && unknownHost(host) {
		e.mu.Lock()
		host = e.asked
		e.mu.Unlock()
		o.Addr = net.JoinHostPort(host, port)
	}
	client := redis.NewClient(o)
	client.AddHook(slotsHook{e, host})
	return client
}

func unknownHost(host string) bool { return host == "" || host == "?" }

// slotsHook reads a node's answer to CLUSTER SLOTS.
type slotsHook struct {
	all  *endpoints
	host string // of the node
}

// DialHook changes nothing.
func (slotsHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing: CLUSTER SLOTS is asked alone.
func (slotsHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook has CLUSTER SLOTS read by [readSlots].
func (h slotsHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		slots, is := cmd.(*redis.ClusterSlotsCmd)
		if !is {
			return next(ctx, cmd)
		}
		answer := redis.NewSliceCmd(ctx, cmd.Args()...)
		err := next(ctx, answer)
		var ranges []redis.ClusterSlot
		if err == nil {
			ranges, err = readSlots(answer.Val(), h.host)
		}
		if err != nil {
			slots.SetErr(err)
			return err
		}
		h.all.mu.Lock()
		h.all.asked = h.host
		h.all.mu.Unlock()
		slots.SetVal(ranges)
		return nil
	}
}

// readSlots reads an answer of the node with a host: a list of first slot, last slot, and nodes, the master first. A
// node is host, port, and from newer servers id and a list of further addresses.
func readSlots(answer []any, asked string) ([]redis.ClusterSlot, error) {
	ranges := make([]redis.ClusterSlot, 0, len(answer))
	for _, some := range answer {
		parts, _ := some.([]any)
		if len(parts) < 2 {
			return nil, fmt.Errorf("redis: a range of slots is %v, want first, last and nodes", some)
		}
		first, one := parts[0].(int64)
		last, two := parts[1].(int64)
		if !one || !two {
			return nil, fmt.Errorf("redis: a range of slots is %v, want first, last and nodes", some)
		}
		slot := redis.ClusterSlot{Start: int(first), End: int(last)}
		for _, n := range parts[2:] {
			node, err := readNode(n, asked)
			if err != nil {
				return nil, err
			}
			slot.Nodes = append(slot.Nodes, node)
		}
		ranges = append(ranges, slot)
	}
	return ranges, nil
}

func readNode(answer any, asked string) (node redis.ClusterNode, err error) {
	parts, _ := answer.([]any)
	if len(parts) < 2 {
		return node, fmt.Errorf("redis: a node of the cluster is %v, want host and port", answer)
	}
	host, _ := parts[0].(string)
	if len(parts) > 2 {
		node.ID, _ = parts[2].(string)
	}
	if len(parts) > 3 {
		node.NetworkingMetadata = further(parts[3])
	}
	if ip := node.NetworkingMetadata["ip"]; host == "?" && ip != "" {
		host = ip
	}
	if unknownHost(host) {
		host = asked
	}
	port := strings.TrimSpace(fmt.Sprint(parts[1]))
	if host == "" || port == "" {
		return node, errors.New("redis: a node of the cluster has no host")
	}
	node.Addr = net.JoinHostPort(host, port)
	return node, nil
}

// further reads the further addresses of a node, which are a list of names and values, or a map in RESP3.
func further(answer any) map[string]string {
	found := make(map[string]string)
	switch pairs := answer.(type) {
	case []any:
		for i := 0; i+1 < len(pairs); i += 2 {
			found[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
		}
	case map[any]any:
		for name, value := range pairs {
			found[fmt.Sprint(name)] = fmt.Sprint(value)
		}
	}
	return found
}
