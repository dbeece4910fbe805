package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"rivulet/artifact/remote"
	"rivulet/config"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/check"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/mapping"
	"rivulet/run/connect"
	"rivulet/serving"
)

// checkTimeout is the limit of each question of a check.
const checkTimeout = 5 * time.Second

// Check tries all connections that a consumer with these settings needs, and reports each result at once. It returns
// how many it made and how many failed; the error is about settings that cannot be used at all.
func Check(ctx context.Context, cfg config.Consumer, report func(check.Result)) (made, failed int, err error) {
	count := func(r check.Result) {
		made++
		if r.State != check.OK {
			failed++
		}
		report(r)
	}
	k, err := checkKafka(cfg)
	if err != nil {
		return 0, 0, err
	}
	defer k.Client.Close()
	k.Run(ctx, count)
	if len(cfg.Registry.URLs) > 0 {
		count(checkRegistry(ctx, cfg))
	}
	if cfg.Features.From != config.FromRecord {
		count(checkFeatures(ctx, cfg.Features, cfg.Redis.RedisServer))
	}
	if cfg.Attach.Wait > 0 {
		count(checkEdges(ctx, cfg))
	}
	if cfg.Artifact != "" {
		count(checkPinned(ctx, cfg))
		return made, failed, ctx.Err()
	}
	client, err := connect.Redis(cfg.Redis.RedisServer)
	if err != nil {
		return made, failed, err
	}
	defer func() { _ = client.Close() }()
	r := check.Redis{Client: client, Address: cfg.Redis.URL.String(), Timeout: checkTimeout,
		Advice: func(err error) string { return connect.RedisAdvice(err, connect.ConsumerACL) },
		Memory: func(ctx context.Context) (string, error) { return checkMemory(ctx, client) },
		Load:   func(ctx context.Context) (string, error) { return loadOnce(ctx, cfg) }}
	r.Run(ctx, count)
	return made, failed, ctx.Err()
}

// checkKafka returns the checks of Kafka, whose client the caller closes.
func checkKafka(cfg config.Consumer) (*check.Kafka, error) {
	secure, _, err := connect.Security(cfg.Kafka.Brokers)
	if err != nil {
		return nil, err
	}
	topics := cfg.Kafka.Topics
	k := &check.Kafka{Brokers: cfg.Kafka.Brokers.Brokers, Principal: connect.Principal(cfg.Kafka.Brokers, secure),
		TLS: secure != nil, Group: cfg.Kafka.Group, Purpose: purpose(cfg), Arrivals: topics.Arrivals,
		Predictions: topics.Predictions,
		DeadLetters: topics.DeadLetters, Labels: cfg.Labels.Topic, RecordBytes: int(cfg.Limits.RecordBytes),
		Wait: cfg.Attach.Wait, Timeout: checkTimeout}
	if cfg.Delivery == config.ExactlyOnce {
		k.TransactionalID = cmp.Or(cfg.Kafka.TransactionalID, cfg.Kafka.Group)
	}
	k.Client, err = connect.Kafka(cfg.Kafka.Brokers, k.Topics()...)
	return k, err
}

// checkRegistry asks the registry for its subjects, and for the schema of predictions where that must be
// there. It registers nothing.
func checkRegistry(ctx context.Context, cfg config.Consumer) check.Result {
	what := "schema registry " + strings.Join(cfg.Registry.URLs, ", ")
	failed := func(err error) check.Result {
		return check.Result{State: check.Failed, What: what, Found: err.Error(),
			Do: "look at registry.urls, registry.username and registry.tls, and whether the registry runs"}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	schemas, err := connect.Registry(cfg.Registry)
	if err != nil {
		return failed(err)
	}
	if err := schemas.Ping(ctx); err != nil {
		return failed(err)
	}
	if cfg.Output.Registry != config.RegistryLookup {
		return check.Result{State: check.OK, What: what, Found: "it answers"}
	}
	_, framed, err := outputCodec(cfg)
	if err == nil {
		err = framed.Resolve(ctx)
	}
	if err != nil {
		return check.Result{State: check.Failed, What: what, Found: err.Error(),
			Do: "register the schema, or set output.registry to register"}
	}
	return check.Result{State: check.OK, What: what, Found: "it answers, and has the schema of predictions"}
}

func checkPinned(ctx context.Context, cfg config.Consumer) check.Result {
	what := "artifact " + remote.Shown(cfg.Artifact)
	cfg.Cache.Directory = "" // a check writes no files
	from, err := pinnedBy(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return check.Result{State: check.Failed, What: what, Found: err.Error(),
			Do: cmp.Or(advice(err), "correct artifact, or train it anew")}
	}
	return check.Result{State: check.OK, What: what, Found: served(from.source.Current())}
}

// advice returns the advice for an artifact that cannot be served with the settings, "" for any other error.
func advice(err error) string {
	var choice *serving.ChoiceError
	if !errors.As(err, &choice) {
		return ""
	}
	switch choice.Option {
	case serving.OptionModel:
		return "set model to one of these, or leave it empty; or make an artifact that has it: trainer train --models"
	case serving.OptionRepresentation:
		return "set output.representation to none or logits, or make an artifact that has them: trainer train " +
			"--representation"
	case serving.OptionCoverage:
		return "set output.coverage to 0 or within the curve, or make an artifact that has a curve: trainer train"
	case serving.OptionTask:
		return "take the setting away, or make an artifact of classes"
	case serving.OptionGrowth:
		return "set attach.arrivals to off, or make an artifact whose arrivals can be given rows: trainer train"
	}
	return fmt.Sprintf("set %s to auto, or make an artifact for it: trainer train", choice.Option)
}

// unsuited is an error of an artifact that cannot be served as the settings ask.
type unsuited struct{ error }

// Unwrap returns the error itself.
func (u unsuited) Unwrap() error { return u.error }

// Advice returns the advice, as package check asks for it.
func (u unsuited) Advice() string { return advice(u.error) }

// checkMemory reports Redis' policy for a full memory. A memory that is full is an error.
func checkMemory(ctx context.Context, client mapping.Client) (string, error) {
	found, warning, err := mapping.CheckEviction(ctx, client)
	if warning == mapping.ErrFull.Error() {
		found, _ = strings.CutSuffix(found, ", "+warning)
		return "", fmt.Errorf("%w: %s", mapping.ErrFull, found)
	}
	if warning != "" && !strings.Contains(found, warning) {
		found = warning
	}
	return found, err
}

// loadOnce loads the version that CURRENT names as the consumer does, and drops it.
func loadOnce(ctx context.Context, cfg config.Consumer) (string, error) {
	w, closeClient, err := follower(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	defer func() { _ = closeClient() }()
	err = w.Load(ctx)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_ = w.Run(over) // only takes the heartbeat back; it returns nil
	if err != nil {
		return "", unsuited{err}
	}
	return served(w.Current()), nil
}

func served(v *serving.Version) string {
	return fmt.Sprintf("%s can be served: model %s, attachment %s, %d synthetic nodes, %d rows of M", v.ID(),
		v.Model(), v.Attachment(), v.Info().SyntheticNodes, v.Manifest().Mapping.Rows)
}

// edgeSample is the number of newest records of each partition that are looked at.
const edgeSample = 2000

// checkEdges looks whether edges of their own are in the partitions of their arrivals, as attach.wait needs it.
func checkEdges(ctx context.Context, cfg config.Consumer) check.Result {
	topic := cfg.Kafka.Topics.Arrivals
	r := check.Result{State: check.OK, What: "edges of their own on " + topic}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	near, far, read, err := sampleEdges(ctx, cfg)
	const do = "give an edge the key of its arrival's record, and let producers of both choose the partition in the " +
		"same way; or let a stream engine do so (docs/recipes.md)"
	switch {
	case err != nil:
		r.State, r.Found, r.Do = check.Failed, err.Error(), "look at the checks of Kafka above"
	case far > 0:
		r.State, r.Do = check.Failed, do
		r.Found = fmt.Sprintf("of the newest %d records %d are edges in another partition than their arrival, "+
			"and %d in the same", read, far, near)
	case near > 0:
		r.Found = fmt.Sprintf("of the newest %d records %d are edges in the partition of their arrival, and none in another",
			read, near)
	default:
		r.Found = fmt.Sprintf("none of the newest %d records is one whose arrival is among them, too: %s", read, do)
	}
	return r
}

// sampleEdges reads the newest records, and counts the edges that are in the partition of their arrival, and in
// another.
func sampleEdges(ctx context.Context, cfg config.Consumer) (near, far, read int, err error) {
	forms, _, err := Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return 0, 0, 0, err
	}
	forms.LookUp = cfg.Features.From != config.FromRecord
	client, err := connect.Kafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
	if err != nil {
		return 0, 0, 0, err
	}
	defer client.Close()
	reader, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: cfg.Kafka.Topics.Arrivals}, retry.Patience{})
	if err != nil {
		return 0, 0, 0, err
	}
	tail := reader.Tail(kafka.TailOptions{Backlog: edgeSample})
	if _, err := tail.Look(ctx); err != nil {
		return 0, 0, 0, err
	}
	arrivals, edges := map[string]map[int]bool{}, map[string][]int{} // the partitions of each id
	for some := true; some; {
		records, err := tail.Read(ctx)
		if err != nil {
			return 0, 0, 0, err
		}
		read, some = read+len(records), tail.Behind() > 0
		for i := range records {
			place(&records[i], &forms, arrivals, edges)
		}
	}
	for id, partitions := range edges {
		for _, at := range partitions {
			switch {
			case arrivals[id][at]:
				near++
			case arrivals[id] != nil:
				far++
			}
		}
	}
	return near, far, read, nil
}

// place adds a record's partition to those of its arrival or edge.
func place(r *kafka.Record, forms *read.Reader, arrivals map[string]map[int]bool, edges map[string][]int) {
	var m read.Message
	forms.Read(read.Record{Key: r.Key, Value: r.Value, Headers: r.Headers}, &m)
	switch {
	case m.Fault != nil:
	case m.Kind == read.KindEdge:
		id, _ := m.Edge.Ends()
		edges[id] = append(edges[id], r.Position.Partition)
	case m.Kind == read.KindArrival:
		if arrivals[m.Arrival.ID] == nil {
			arrivals[m.Arrival.ID] = map[int]bool{}
		}
		arrivals[m.Arrival.ID][r.Position.Partition] = true
	}
}

// Lint tries all that a consumer's settings name and that needs no connection: certificates, passwords, the mapping,
// the form of predictions, and an artifact that is pinned. It returns everything that is wrong.
func Lint(cfg config.Consumer) (wrong []error) {
	try := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	_, _, err := connect.Security(cfg.Kafka.Brokers)
	try(err)
	_, _, err = Forms(cfg.Input, cfg.Registry)
	try(err)
	_, _, err = outputCodec(cfg)
	try(err)
	_, closeStore, err := connect.Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	if try(err); err == nil {
		closeStore()
	}
	if cfg.Artifact != "" {
		if _, here := remote.Local(cfg.Artifact); here {
			cfg.Cache.Directory = "" // a check writes no files
			_, err = pinnedBy(context.Background(), cfg, slog.New(slog.DiscardHandler))
			try(err)
			return wrong
		}
	}
	_, err = choice(cfg)
	try(err)
	if cfg.Artifact != "" {
		return wrong
	}
	client, err := connect.Redis(cfg.Redis.RedisServer)
	if try(err); err == nil {
		try(client.Close())
	}
	return wrong
}

// checkFeatures asks the store for the features of an id that nobody has.
func checkFeatures(ctx context.Context, f config.Features, beside config.RedisServer) check.Result {
	what := "features in redis " + f.Server(beside).URL.String()
	store, end, err := connect.Features(f, beside, config.Limits{})
	if err == nil {
		defer end()
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = store.Read(ctx, []string{"1"}, []*event.Features{{}}, make([]*event.FieldError, 1))
	}
	if err != nil {
		url := connect.FeaturesURL(f.FeatureServer)
		return check.Result{State: check.Failed, What: what, Found: err.Error(),
			Do: cmp.Or(connect.FeaturesAdvice(err, f.FeatureServer),
				"look at "+url+" and redis.tls, and whether this Redis runs")}
	}
	return check.Result{State: check.OK, What: what, Found: "it answers"}
}
