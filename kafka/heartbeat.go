package kafka

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/protocol"
)

// heartbeat is Heartbeat, versions 0 and 1. kafka-go's own message has the two fields of the answer in the wrong
// order, so that it takes every error for a throttle of as many milliseconds: a member that is no longer in the
// group would be told that all is well. In a process that imports this package, this message replaces it.
type heartbeat struct {
	GroupID      string `kafka:"min=v0,max=v1"`
	GenerationID int32  `kafka:"min=v0,max=v1"`
	MemberID     string `kafka:"min=v0,max=v1"`
}

// beaten is the answer to it.
type beaten struct {
	ThrottleTimeMs int32 `kafka:"min=v1,max=v1"`
	ErrorCode      int16 `kafka:"min=v0,max=v1"`
}

func init() { protocol.Register(&heartbeat{}, &beaten{}) }

// ApiKey says which request it is.
func (*heartbeat) ApiKey() protocol.ApiKey { return protocol.Heartbeat }

// ApiKey says which request was answered.
func (*beaten) ApiKey() protocol.ApiKey { return protocol.Heartbeat }

// Group makes the transport ask the group's coordinator.
func (h *heartbeat) Group() string { return h.GroupID }

// Current asks the coordinator, as a heartbeat does, whether this is still the group's generation.
func (g *Generation) Current(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	m, err := g.source.client.transport.RoundTrip(ctx, g.source.client.addr, &heartbeat{
		GroupID: g.joined.GroupID, GenerationID: g.joined.ID, MemberID: g.joined.MemberID})
	if err == nil {
		err = failure(m.(*beaten).ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("%w: generation %d: %w", ErrGeneration, g.joined.ID, err)
	}
	return nil
}
