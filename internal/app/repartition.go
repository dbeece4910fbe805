package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"rivulet/config"
	"rivulet/consumer/schemas"
	"rivulet/event/form"
	"rivulet/internal/check"
	"rivulet/internal/observe"
	"rivulet/internal/repartition"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
)

// repartitions reports whether the settings bring other topics to the topic of arrivals.
func repartitions(cfg config.Consumer) bool {
	return len(cfg.Repartition.Nodes)+len(cfg.Repartition.Edges) > 0
}

// repartitionMember is this process in the group that reads these topics: the names of the group and of its
// transactional ids are the consumers', and "-repartition".
func repartitionMember(cfg config.Consumer) check.Member {
	const suffix = "-repartition"
	return check.Member{Group: cfg.Kafka.Group + suffix, Read: slices.Concat(cfg.Repartition.Nodes, cfg.Repartition.Edges),
		TransactionalID: cmp.Or(cfg.Kafka.TransactionalID, cfg.Kafka.Group) + suffix}
}

// edgeForms are the forms of records of the topics of edges.
func edgeForms(cfg config.Consumer, nodes form.Reader) (form.Reader, error) {
	m, values := cfg.Repartition.Mapping, cfg.Input.Mapping
	o := form.MappingOptions{Preset: m.Preset, Decimals: values.Decimals, Placeholder: values.Placeholder,
		Unavailable: values.Unavailable}
	if m != config.Default[config.Consumer]().Repartition.Mapping {
		o.Source, o.Target, o.Weight, o.Type = cmp.Or(m.Source, "/source"), cmp.Or(m.Target, "/target"), m.Weight, m.Type
	}
	edges := form.Reader{Default: nodes.Default, Confluent: nodes.Confluent, Schemas: nodes.Schemas}
	var err error
	if edges.Mapping, err = form.NewMapping(o); err != nil {
		err = fmt.Errorf("repartition.mapping.%w", err)
	}
	return edges, err
}

// newRouter returns the repartition, and a function that closes its connections.
func newRouter(cfg config.Consumer, nodes form.Reader, known schemas.Registry, observer *observe.Repartition,
	log *slog.Logger) (r *repartition.Router, end func(), err error) {
	edges, err := edgeForms(cfg, nodes)
	if err != nil {
		return nil, nil, err
	}
	nodes.LookUp = cfg.Features.From != config.FromRecord
	as, topics := repartitionMember(cfg), cfg.Kafka.Topics
	client, err := ConnectKafka(cfg.Kafka.Brokers, slices.Concat(as.Read,
		[]string{topics.Arrivals, topics.DeadLetters})...)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			client.Close()
		}
	}()
	sink, err := kafka.NewSink(client, cfg.Kafka.Compression, retry.Patience{Observer: observer, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	transactions, err := sink.Transactions(as.TransactionalID, cfg.Kafka.TransactionTimeout)
	if err != nil {
		return nil, nil, err
	}
	letters, err := producer.New(producer.Options{Sink: sink, DeadLetters: topics.DeadLetters, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	source := sourceOptions(cfg)
	source.Group = as.Group
	r, err = repartition.New(repartition.Options{Kafka: client, Source: source,
		Nodes: cfg.Repartition.Nodes, Edges: cfg.Repartition.Edges, To: topics.Arrivals,
		NodeForms: nodes, EdgeForms: edges, Ends: repartition.Ends(cfg.Repartition.Ends),
		Directed: cfg.Repartition.Directed, Sink: sink, Transactions: transactions, DeadLetters: letters,
		Observer: observer, DrainTimeout: cfg.Shutdown.DrainTimeout, Limits: Limits(cfg.Limits), Registry: known,
		Logger: log})
	return r, client.Close, err
}

// startRepartition runs the repartition beside the consumer, where the settings name topics for it. Its failure ends
// the consumer.
func (s *services) startRepartition(ctx context.Context, cfg config.Consumer, forms form.Reader, known schemas.Registry,
	observer *observe.Observer, log *slog.Logger, failed context.CancelCauseFunc) error {
	if !repartitions(cfg) {
		return nil
	}
	r, end, err := newRouter(cfg, forms, known, observer.Repartition(), log)
	if err != nil {
		return err
	}
	s.startVital(ctx, failed, func(running context.Context) error {
		defer end()
		running, stop := context.WithCancel(running)
		defer stop()
		defer context.AfterFunc(ctx, stop)() // it writes to the topic that the consumer reads: it need not outlast it
		return adviseKafka(r.Run(running), cfg.Kafka.Brokers)
	})
	return nil
}
