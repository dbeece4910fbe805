package consumer

import (
	"context"

	"rivulet/event/form"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Registry has the schemas of the Confluent wire format.
type Registry interface {
	form.Schemas
	// LearnSchema asks for the schema of an id, unless the answer is known already; it may be that there is no such
	// schema. An error means that the registry did not answer: the caller tries again.
	LearnSchema(ctx context.Context, id form.SchemaID) error
}

// Schemas waits until the registry has answered for all schemas that records name. Each partition has its own, so that
// no partition waits for another's schemas.
type Schemas struct {
	forms    *form.Reader
	registry Registry // nil where there is none
	attempts *retry.Attempts
}

// registryOutage returns the outage of the registry. All partitions share it, so that it is logged and counted once.
func registryOutage(wait retry.Patience) *retry.Outage {
	return wait.Outage(StageSchemas).Named("the schema registry")
}

// NewSchemas returns a Schemas for one goroutine. registry may be nil; then there is nothing to wait for.
func NewSchemas(forms *form.Reader, registry Registry, wait retry.Patience) *Schemas {
	return &Schemas{forms, registry, registryOutage(wait).Attempts()}
}

// Await returns nil once the schemas of all records are known, or known not to exist. It waits for a registry that
// cannot be reached; its only error is ctx's.
func (s *Schemas) Await(ctx context.Context, records ...kafka.Record) error {
	if s.registry == nil {
		return nil
	}
	var last form.SchemaID
	for i := range records {
		id, names := s.forms.SchemaID(records[i].Headers, records[i].Value)
		if !names || i > 0 && id == last {
			continue
		}
		if err := s.learn(ctx, id); err != nil {
			return err
		}
		last = id
	}
	return nil
}

func (s *Schemas) learn(ctx context.Context, id form.SchemaID) error {
	for {
		err := s.registry.LearnSchema(ctx, id)
		if err == nil {
			s.attempts.Over()
			return nil
		}
		if err := s.attempts.Failed(ctx, err); err != nil {
			return err
		}
	}
}
