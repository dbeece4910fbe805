package consumer

import (
	"context"

	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Registry has the schemas of the Confluent wire format.
type Registry interface {
	read.Schemas
	// LearnSchema asks for the schema of an id, unless the answer is known already; it may be that there is no such
	// schema. An error means that the registry did not answer: the caller tries again.
	LearnSchema(ctx context.Context, id read.SchemaID) error
}

// Learner waits until the registry has answered for all schemas that records name. Each partition has its own, so that
// no partition waits for another's schemas.
type Learner struct {
	forms    *read.Reader
	registry Registry // nil where there is none
	attempts *retry.Attempts
}

// RegistryOutage returns the outage of a registry. All partitions share it, so that it is logged and counted once.
// Where the registry has connections to renew, a wait that lasts does so.
func RegistryOutage(wait retry.Patience, registry any) *retry.Outage {
	outage := wait.Outage(StageSchemas).Named("the schema registry",
		"see that a registry of registry.urls runs and can be reached, and takes the login")
	if r, can := registry.(interface{ Renew() }); can {
		outage.StartsOver(retry.Anew{GivesUp: "connections", Forget: func(error) error {
			r.Renew()
			return nil
		}})
	}
	return outage
}

// NewLearner returns a Learner for one goroutine. registry may be nil; then there is nothing to wait for.
func NewLearner(forms *read.Reader, registry Registry, attempts *retry.Attempts) *Learner {
	return &Learner{forms, registry, attempts}
}

// Await returns nil once the schemas of all records are known, or known not to exist. It waits for a registry that
// cannot be reached; its only error is ctx's.
func (l *Learner) Await(ctx context.Context, records ...kafka.Record) error {
	if l.registry == nil {
		return nil
	}
	var last read.SchemaID
	for i := range records {
		id, names := l.forms.SchemaID(records[i].Headers, records[i].Value)
		if !names || i > 0 && id == last {
			continue
		}
		if err := l.learn(ctx, id); err != nil {
			return err
		}
		last = id
	}
	return nil
}

func (l *Learner) learn(ctx context.Context, id read.SchemaID) error {
	return l.attempts.Repeat(ctx, func() error { return l.registry.LearnSchema(ctx, id) })
}
