package shadow

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/observe"
	"rivulet/internal/quantile"
	"rivulet/kafka"
	"rivulet/serving"
	"rivulet/serving/candidate"
)

// Source has the version that serves, and the candidate. A [serving.Watcher] is one.
type Source interface {
	Current() *serving.Version
	Candidate() *serving.Trial
	Report(ctx context.Context, c candidate.Comparison) error
}

// Options are the parts of a [Shadow].
type Options struct {
	Source Source
	Path   consumer.PipelineOptions // the consumer's
	// Behind is the lag, in records, from which on the stream is behind. Load is the share of the time that goes into the
	// candidate then, 0 to 1.
	Behind int64
	Load   float64
	// Publish is given the candidate's answers that are compared, and not those that it published; nil: nobody wants them.
	// It ends with its context. While it waits nothing is compared.
	Publish func(context.Context, event.Batch) error
	// Labels bounds what waits for labels. Interval is how often the figures are reported.
	Labels   observe.LabelOptions
	Interval time.Duration
	Log      *slog.Logger
}

// waiting is how many batches wait for the candidate at most.
const waiting = 4

// Shadow compares a candidate with the version that serves. It is safe for concurrent use.
type Shadow struct {
	consumer.NopObserver
	o     Options
	path  *consumer.Pipeline
	queue chan job

	mu      sync.Mutex
	lags    map[kafka.TopicPartition]int64
	lag     int64                // their sum
	rest    time.Time            // until then nothing is compared while the stream is behind
	sum     candidate.Comparison // of one candidate and one version that serves
	took    [2]quantile.Histogram
	answers *observe.Recent[pair] // without a label yet
	labels  *observe.Recent[event.Label]
	changed bool // since the last report
	failing bool // the last report failed

	unpublished time.Time // until then the candidate's answers are not published
}

// job is a batch that the candidate has not answered yet, in two parts.
type job struct {
	current, candidate string
	parts              [2]part
	took               time.Duration // of the version that serves, for its part
}

// part holds the records that one version answered, and its answers: part 0 is that of the version that serves, part 1
// the canary's.
type part struct {
	records []kafka.Record
	answers []answer
}

type answer struct {
	id          string
	class       int
	name        string
	probability float32
	degraded    bool
}

// pair has the answers of the version that serves and of the candidate.
type pair [2]answer

// New returns a Shadow that compares nothing yet.
func New(o Options) (*Shadow, error) {
	o.Path.Versions, o.Path.Deliverer = noVersions{}, noDeliverer{}
	o.Path.Canary, o.Path.Observer, o.Path.Notes = consumer.Canary{}, nil, false
	if o.Publish == nil {
		o.Path.Output = consumer.Output{}
	}
	path, err := consumer.NewPipeline(o.Path)
	if err != nil {
		return nil, err
	}
	return &Shadow{o: o, path: path, queue: make(chan job, waiting), lags: map[kafka.TopicPartition]int64{},
		answers: observe.NewRecent[pair](o.Labels), labels: observe.NewRecent[event.Label](o.Labels)}, nil
}

// Batch queues a delivered batch for the candidate, or drops it.
func (s *Shadow) Batch(b consumer.BatchStats) {
	trial := s.o.Source.Candidate()
	if trial == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(b.Version, trial.Candidate)
	s.changed = true
	predictions := b.Delivered.Predictions
	for i := range predictions {
		if predictions[i].Canary {
			s.sum.Canary++
		}
	}
	if s.lag > s.o.Behind && time.Now().Before(s.rest) || len(s.queue) == waiting ||
		len(b.Delivered.Answered) != len(predictions) {
		s.sum.Dropped += len(predictions)
		return
	}
	select {
	case s.queue <- jobOf(&b, trial.Candidate):
	default:
		s.sum.Dropped += len(predictions)
	}
}

// jobOf keeps what a batch delivered. The values of its records are nobody's to change.
func jobOf(b *consumer.BatchStats, candidate string) job {
	j := job{current: b.Version, candidate: candidate, took: b.Decode + b.Features + b.Lookup + b.Attach + b.Infer}
	for i := range b.Delivered.Predictions {
		p, of := &b.Delivered.Predictions[i], &j.parts[0]
		if p.Canary {
			of = &j.parts[1]
		}
		of.records = append(of.records, kafka.Record{Position: kafka.Position(p.Source), Key: p.Key,
			Value: b.Delivered.Answered[i].Value, Headers: b.Delivered.Answered[i].Headers, Time: p.IngestTime})
		of.answers = append(of.answers, answerOf(p))
	}
	return j
}

func answerOf(p *event.Prediction) answer {
	return answer{p.ID, p.Class, p.ClassName, p.Probability, p.Degraded}
}

// Lag keeps how far the stream is behind.
func (s *Shadow) Lag(tp kafka.TopicPartition, lag int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag += lag - s.lags[tp]
	s.lags[tp] = lag
}

// Rebalance forgets the lag of the partitions of the generation before.
func (s *Shadow) Rebalance([]kafka.TopicPartition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.lags)
	s.lag = 0
}

// follow begins the figures anew for another candidate, or another version that serves. s.mu is held.
func (s *Shadow) follow(current, tried string) {
	if s.sum.Current == current && s.sum.Candidate == tried {
		return
	}
	s.sum = candidate.Comparison{Current: current, Candidate: tried, Consumers: 1, Classes: map[string][2]int{}}
	s.took = [2]quantile.Histogram{}
	s.answers = observe.NewRecent[pair](s.o.Labels)
}

// Run answers batches until ctx ends, and reports the figures.
func (s *Shadow) Run(ctx context.Context) error {
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.report(context.WithoutCancel(ctx)) // its own time-outs end it
			return nil
		case <-tick.C:
			s.report(ctx)
		case j := <-s.queue:
			begun := time.Now()
			s.compare(ctx, j)
			took := time.Since(begun)
			s.mu.Lock()
			s.rest = time.Now().Add(time.Duration(float64(took) * (1/max(s.o.Load, 1e-6) - 1)))
			s.mu.Unlock()
		}
	}
}

// compare has the other version answer each part of a batch.
func (s *Shadow) compare(ctx context.Context, j job) {
	trial, current := s.o.Source.Candidate(), s.o.Source.Current()
	for k, version := range [2]func() consumer.Version{
		func() consumer.Version { return trial.Version },
		func() consumer.Version { return current },
	} {
		p := &j.parts[k]
		if len(p.records) == 0 {
			continue
		}
		if trial == nil || current == nil || trial.Candidate != j.candidate || current.ID() != j.current {
			return // the comparison is over
		}
		begun := time.Now()
		out, err := s.path.Predict(ctx, version(), consumer.Intake{Name: "shadow", Records: p.records})
		took := time.Since(begun)
		s.mu.Lock()
		if s.sum.Current == j.current && s.sum.Candidate == j.candidate {
			s.count(p, k == 1, out, err)
			if k == 0 && err == nil {
				s.took[0].Add(j.took)
				s.took[1].Add(took)
				s.sum.P99 = [2]float64{s.took[0].Quantile(.99), s.took[1].Quantile(.99)}
			}
			s.changed = true
		}
		s.mu.Unlock()
		if k == 0 && err == nil && s.o.Publish != nil {
			s.publish(ctx, out)
		}
	}
}

// publish has the candidate's answers published. Where that fails, or takes too long, it is not tried for a while, so
// that the comparison goes on.
func (s *Shadow) publish(ctx context.Context, answers event.Batch) {
	if time.Now().Before(s.unpublished) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	answers.DeadLetters = nil
	if err := s.o.Publish(limited, answers); err != nil && ctx.Err() == nil {
		s.o.Log.Warn("the candidate's answers are not published", "again", publishRest, "error", err)
		s.unpublished = time.Now().Add(publishRest)
	}
}

const (
	publishTimeout = 5 * time.Second
	publishRest    = time.Minute
)

// count adds a part to the figures. canary says that the candidate published it. s.mu is held.
func (s *Shadow) count(p *part, canary bool, out event.Batch, err error) {
	if err != nil {
		s.sum.Failed += len(p.answers)
		return
	}
	now, at := time.Now(), 0
	for i, published := range p.answers {
		answered := at < len(out.Predictions) && out.Predictions[at].Source == event.Source(p.records[i].Position)
		both := pair{published}
		if answered {
			both[1] = answerOf(&out.Predictions[at])
			at++
		}
		switch {
		case both[0].degraded || both[1].degraded:
			s.sum.Failed++
			continue
		case !answered && canary:
			continue // the candidate alone has an answer
		case !answered:
			s.sum.Arrivals, s.sum.Dead = s.sum.Arrivals+1, s.sum.Dead+1
			continue
		case canary:
			both[0], both[1] = both[1], both[0]
		}
		s.add(both)
		id := strings.Clone(published.id) // a part of its record
		both[0].id, both[1].id = "", ""
		if label, ok := s.labels.Take(id, now); ok {
			s.score(&label, both)
		} else {
			s.answers.Put(id, both, now)
		}
	}
}

// add counts an arrival that both versions answered.
func (s *Shadow) add(both pair) {
	s.sum.Arrivals++
	if both[0].name == both[1].name {
		s.sum.Agreed++
	}
	for k, a := range both {
		s.sum.Confidence[k] += float64(a.probability)
		n := s.sum.Classes[a.name]
		n[k]++
		s.sum.Classes[a.name] = n
	}
}

// Label scores both answers of an arrival, now or when they come.
func (s *Shadow) Label(l *event.Label) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if both, ok := s.answers.Take(l.ID, now); ok {
		s.score(l, both)
	} else if s.sum.Candidate != "" && !s.labels.Has(l.ID, now) {
		s.labels.Put(strings.Clone(l.ID), *l, now)
	}
}

func (s *Shadow) score(l *event.Label, both pair) {
	current, tried := observe.IsRight(l, both[0].class, both[0].name), observe.IsRight(l, both[1].class, both[1].name)
	s.sum.Labels++
	s.changed = true
	switch {
	case current && tried:
		s.sum.Right++
	case current:
		s.sum.Right, s.sum.Loss = s.sum.Right+1, s.sum.Loss+1
	case tried:
		s.sum.Gain++
	}
}

// Compared returns the candidate's name, "" for none, and the figures of this consumer.
func (s *Shadow) Compared() (version string, c candidate.Comparison) {
	trial := s.o.Source.Candidate()
	if trial == nil {
		return "", c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c = candidate.Comparison{}
	c.Add(s.sum) // with a map of its own
	return trial.ID(), c
}

// report writes the figures to Redis if they have changed. That it fails is logged once.
func (s *Shadow) report(ctx context.Context) {
	version, c := s.Compared()
	s.mu.Lock()
	changed := s.changed
	s.changed = false
	s.mu.Unlock()
	if version == "" || !changed {
		return
	}
	err := s.o.Source.Report(ctx, c)
	if err != nil {
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		if !s.failing {
			s.o.Log.Warn("what the candidate answers cannot be reported: rivulet compare does not see it", "error", err)
		}
	}
	s.failing = err != nil
}

// noVersions and noDeliverer are parts of a pipeline that a [consumer.Pipeline.Predict] does not ask.
type noVersions struct{}

func (noVersions) Current() consumer.Version { return nil }

type noDeliverer struct{}

func (noDeliverer) Publish(context.Context, event.Batch, kafka.Offsets, kafka.Committer) (kafka.Delivery, error) {
	panic("shadow: a candidate's answers are not published")
}
