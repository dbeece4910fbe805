package shadow

import (
	"context"
	"log/slog"
	"slices"
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

// Source has the version that serves, and the candidates. A [serving.Watcher] is one.
type Source interface {
	Current() *serving.Version
	Candidates() []*serving.Trial
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
	// Publish is given the candidates' answers that are compared, and not those that it published; nil: nobody wants them.
	// It ends with its context. While it waits nothing is compared.
	Publish func(context.Context, event.Batch) error
	// Labels bounds what waits for labels. Interval is how often the figures are reported.
	Labels   observe.LabelOptions
	Interval time.Duration
	Log      *slog.Logger
}

// waiting is how many batches wait for the candidates at most.
const waiting = 4

// Shadow compares candidates with the version that serves. It is safe for concurrent use.
type Shadow struct {
	consumer.NopObserver
	o     Options
	path  *consumer.Pipeline
	queue chan job

	mu      sync.Mutex
	lags    map[kafka.TopicPartition]int64
	lag     int64      // their sum
	rest    time.Time  // until then nothing is compared while the stream is behind
	figures []*figures // of each candidate beside the version that serves
	failing bool       // the last report failed

	unpublished time.Time // until then the candidates' answers are not published
}

// figures compare one candidate with one version that serves.
type figures struct {
	sum     candidate.Comparison
	took    [2]quantile.Histogram
	answers *observe.Recent[pair] // without a label yet
	labels  *observe.Recent[event.Label]
	changed bool // since the last report
}

// job is a batch that the candidates have not answered yet, in two parts.
type job struct {
	current string
	of      []*figures // of the candidates when the batch was delivered
	parts   [2]part
	took    time.Duration // of the version that serves, for its part
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
	o.Path.Canary, o.Path.Models, o.Path.Observer, o.Path.Notes = consumer.Canary{}, nil, nil, false
	if o.Publish == nil {
		o.Path.Output = consumer.Output{}
	}
	path, err := consumer.NewPipeline(o.Path)
	if err != nil {
		return nil, err
	}
	return &Shadow{o: o, path: path, queue: make(chan job, waiting), lags: map[kafka.TopicPartition]int64{}}, nil
}

// Batch queues a delivered batch for the candidates, or drops it.
func (s *Shadow) Batch(b consumer.BatchStats) {
	trials := s.o.Source.Candidates()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(b.Version, trials)
	if len(trials) == 0 {
		return
	}
	predictions := b.Delivered.Predictions
	for _, f := range s.figures {
		f.changed = true
		for i := range predictions {
			if predictions[i].Canary && predictions[i].Artifact == f.sum.Version() {
				f.sum.Canary++
			}
		}
	}
	if !(s.lag > s.o.Behind && time.Now().Before(s.rest)) && len(b.Delivered.Answered) == len(predictions) &&
		len(s.queue) < waiting {
		select {
		case s.queue <- jobOf(&b, slices.Clone(s.figures)):
			return
		default:
		}
	}
	for _, f := range s.figures {
		f.sum.Dropped += len(predictions)
	}
}

// jobOf keeps what a batch delivered. The values of its records are nobody's to change.
func jobOf(b *consumer.BatchStats, of []*figures) job {
	j := job{current: b.Version, of: of, took: b.Decode + b.Features + b.Lookup + b.Attach + b.Infer}
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

// follow keeps the figures of the candidates that are tried beside a version, and begins others anew. s.mu is held.
func (s *Shadow) follow(current string, trials []*serving.Trial) {
	next := make([]*figures, len(trials))
	for k, t := range trials {
		at := slices.IndexFunc(s.figures, func(f *figures) bool {
			return f.sum.Current == current && f.sum.Candidate == t.Candidate
		})
		if at >= 0 {
			next[k] = s.figures[at]
			continue
		}
		next[k] = &figures{sum: candidate.Comparison{Current: current, Candidate: t.Candidate, Consumers: 1,
			Classes: map[string][2]int{}}, answers: observe.NewRecent[pair](s.o.Labels),
			labels: observe.NewRecent[event.Label](s.o.Labels)}
	}
	s.figures = next
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

// compare has the other version answer each part of a batch, for each candidate that is still tried.
func (s *Shadow) compare(ctx context.Context, j job) {
	for _, trial := range s.o.Source.Candidates() {
		at := slices.IndexFunc(j.of, func(f *figures) bool { return f.sum.Candidate == trial.Candidate })
		if current := s.o.Source.Current(); at >= 0 && current != nil && current.ID() == j.current {
			s.compareWith(ctx, &j, j.of[at], [2]consumer.Version{trial.Version, current})
		}
	}
}

// compareWith has the versions answer the parts of a batch that they have not answered.
func (s *Shadow) compareWith(ctx context.Context, j *job, f *figures, versions [2]consumer.Version) {
	for k, version := range versions {
		p := &j.parts[k]
		if len(p.records) == 0 {
			continue
		}
		begun := time.Now()
		out, err := s.path.Predict(ctx, version, consumer.Intake{Name: "shadow", Records: p.records})
		took := time.Since(begun)
		s.mu.Lock()
		f.count(p, k == 1, out, err)
		if k == 0 && err == nil {
			f.took[0].Add(j.took)
			f.took[1].Add(took)
			f.sum.P99 = [2]float64{f.took[0].Quantile(.99), f.took[1].Quantile(.99)}
		}
		f.changed = true
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

// count adds a part to the figures. canary says that the candidate published it. The lock of the shadow is held.
func (f *figures) count(p *part, canary bool, out event.Batch, err error) {
	if err != nil {
		f.sum.Failed += len(p.answers)
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
			f.sum.Failed++
			continue
		case !answered && canary:
			continue // the candidate alone has an answer
		case !answered:
			f.sum.Arrivals, f.sum.Dead = f.sum.Arrivals+1, f.sum.Dead+1
			continue
		case canary:
			both[0], both[1] = both[1], both[0]
		}
		f.add(both)
		id := strings.Clone(published.id) // a part of its record
		both[0].id, both[1].id = "", ""
		if label, ok := f.labels.Take(id, now); ok {
			f.score(&label, both)
		} else {
			f.answers.Put(id, both, now)
		}
	}
}

// add counts an arrival that both versions answered.
func (f *figures) add(both pair) {
	f.sum.Arrivals++
	if both[0].name == both[1].name {
		f.sum.Agreed++
	}
	for k, a := range both {
		f.sum.Confidence[k] += float64(a.probability)
		n := f.sum.Classes[a.name]
		n[k]++
		f.sum.Classes[a.name] = n
	}
}

// Label scores both answers of an arrival, now or when they come.
func (s *Shadow) Label(l *event.Label) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.figures {
		if both, ok := f.answers.Take(l.ID, now); ok {
			f.score(l, both)
		} else if !f.labels.Has(l.ID, now) {
			f.labels.Put(strings.Clone(l.ID), *l, now)
		}
	}
}

func (f *figures) score(l *event.Label, both pair) {
	current, tried := observe.IsRight(l, both[0].class, both[0].name), observe.IsRight(l, both[1].class, both[1].name)
	f.sum.Labels++
	f.changed = true
	switch {
	case current && tried:
		f.sum.Right++
	case current:
		f.sum.Right, f.sum.Loss = f.sum.Right+1, f.sum.Loss+1
	case tried:
		f.sum.Gain++
	}
}

// Compared returns the figures of this consumer for each candidate.
func (s *Shadow) Compared() (all []candidate.Comparison) {
	trials := s.o.Source.Candidates()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range trials {
		one := candidate.Comparison{Candidate: t.Candidate}
		for _, f := range s.figures {
			if f.sum.Candidate == t.Candidate {
				one.Add(f.sum) // with a map of its own
			}
		}
		all = append(all, one)
	}
	return all
}

// report writes the figures that have changed to Redis. That it fails is logged once.
func (s *Shadow) report(ctx context.Context) {
	for _, c := range s.takeChanged() {
		err := s.o.Source.Report(ctx, c)
		if err != nil {
			s.mu.Lock()
			for _, f := range s.figures {
				f.changed = f.changed || f.sum.Candidate == c.Candidate
			}
			s.mu.Unlock()
			if !s.failing {
				s.o.Log.Warn("what a candidate answers cannot be reported: rivulet compare does not see it", "error", err)
			}
		}
		s.failing = err != nil
	}
}

// takeChanged returns the figures that have changed since it was last called.
func (s *Shadow) takeChanged() (all []candidate.Comparison) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.figures {
		if f.changed {
			f.changed = false
			var c candidate.Comparison
			c.Add(f.sum)
			all = append(all, c)
		}
	}
	return all
}

// noVersions and noDeliverer are parts of a pipeline that a [consumer.Pipeline.Predict] does not ask.
type noVersions struct{}

func (noVersions) Current() consumer.Version { return nil }

type noDeliverer struct{}

func (noDeliverer) Publish(context.Context, event.Batch, kafka.Offsets, kafka.Committer) (kafka.Delivery, error) {
	panic("shadow: a candidate's answers are not published")
}
