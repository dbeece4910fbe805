package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/observe"
	"rivulet/internal/replay"
	"rivulet/serving"
	"rivulet/serving/candidate"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// rival is a version of the same data whose model is drawn by a seed.
func rival(t *testing.T, seed uint64, version string) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Bundle(seed, artifacttest.Size{Nodes: 120, Synthetic: 12, Features: 5, Classes: 3})
	b.Manifest.Version = version
	expect.OK(t, b.Seal())
	return b
}

// many are n arrivals whose ids begin with a prefix.
func many(b *artifact.Bundle, prefix string, n int) []event.Arrival {
	some, _ := newcomers(b, 40)
	all := make([]event.Arrival, n)
	for i := range all {
		all[i] = some[i%len(some)]
		all[i].ID = fmt.Sprint(prefix, i)
	}
	return all
}

// alone predicts arrivals by one artifact, without services.
func alone(t *testing.T, b *artifact.Bundle, arrivals []event.Arrival) map[string]event.Prediction {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a")
	expect.OK(t, artifact.Write(dir, b))
	from, err := Pinned(t.Context(), dir, serving.Options{}, slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	var in, out bytes.Buffer
	expect.OK(t, (&replay.Lines{W: &in}).Send(t.Context(), arrivals))
	if _, _, err := PredictLines(t.Context(), from, &in, &out,
		LineOptions{Mode: consumer.Node, Batch: 64}); err != nil {
		t.Fatal(err)
	}
	all := map[string]event.Prediction{}
	for line := range bytes.Lines(out.Bytes()) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
		all[p.ID] = p
	}
	return all
}

// labelled is an observer that says which version serves and when labels are read.
type labelled struct {
	consumer.NopObserver
	version chan func() string
	labels  chan struct{}
}

func (l labelled) Inside(_ *observe.Observer, version func() string) { l.version <- version }
func (l labelled) FollowsLabels()                                    { l.labels <- struct{}{} }

// learned trains a version on a graph. Unless the seed is 0 it shuffles the labels first, those of all nodes.
func learned(t *testing.T, d *dataset.Dataset, seed uint64, version string) *artifact.Bundle {
	t.Helper()
	of := *d
	if of.Labels = slices.Clone(d.Labels); seed > 0 {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(of.Labels), func(i, k int) {
			of.Labels[i], of.Labels[k] = of.Labels[k], of.Labels[i]
		})
	}
	b := trained(t, &of)
	b.Manifest.Version = version
	expect.OK(t, b.Seal())
	return b
}

// A candidate answers what the version that serves answers, and labels decide: a better one is promoted, a worse one,
// which was trained on shuffled labels, is given up, by the rule, in the history and in the consumer.
func TestACandidateIsComparedAndDecided(t *testing.T) {
	const n = 200
	preset, _ := generate.Preset("small")
	preset.Nodes, preset.Edges, preset.Train, preset.Validation, preset.Test = 1000, 6000, 300, 200, 2*n
	d, err := generate.Graph(preset, 7)
	expect.OK(t, err)
	old, better := learned(t, d, 1, "old"), learned(t, d, 0, "better")
	cfg := stackOf(t, old)
	cfg.Redis.PollInterval, cfg.Redis.HeartbeatTTL = 10*time.Millisecond, time.Minute
	cfg.Labels.Topic, cfg.Candidate.Mode, cfg.Candidate.Load = "labels", config.Shadow, 1
	cfg.Candidate.Topic = "tried"
	w, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...), kgo.ConsumeTopics("tried"))
	expect.OK(t, err)
	defer w.Close()
	send := func(id string, class int) {
		value := fmt.Sprintf(`{"id":%q,"class":%d}`, id, class)
		expect.OK(t, w.ProduceSync(t.Context(), &kgo.Record{Topic: "labels", Value: []byte(value)}).FirstErr())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	also, done := labelled{version: make(chan func() string, 1), labels: make(chan struct{}, 9)}, make(chan error, 1)
	var log harness.Transcript
	go func() { done <- RunConsumer(ctx, cfg, slog.New(slog.NewTextHandler(&log, nil)), also) }()
	serves := <-also.version
	<-also.labels

	if err := WithPublisher(cfg.Redis.RedisServer, func(p *serving.Publisher) error {
		// round publishes a candidate, sends nodes as arrivals and their labels, and returns what the rule decides.
		round := func(current, tried *artifact.Bundle, nodes []int32) candidate.Decision {
			t.Helper()
			expect.OK(t, p.Publish(t.Context(), tried, serving.PublishOptions{Candidate: true}))
			await(t, func() bool {
				return strings.Contains(log.String(), `msg="trying a candidate" candidate=`+tried.Manifest.Version)
			})
			var arrivals []event.Arrival
			truth := map[string]int{}
			for _, node := range nodes {
				arrivals = append(arrivals, replay.Arrival(d, node, time.Time{}))
				truth[arrivals[len(arrivals)-1].ID] = int(d.Labels[node])
			}
			sendTo(t, cfg, arrivals)
			was, is, want := alone(t, current, arrivals), alone(t, tried, arrivals), candidate.Comparison{
				Current: current.Manifest.Version, Consumers: 1, Arrivals: n, Labels: n, Classes: map[string][2]int{}}
			for id, a := range was {
				b := is[id]
				for k, p := range []event.Prediction{a, b} {
					count := want.Classes[p.ClassName]
					count[k]++
					want.Classes[p.ClassName] = count
				}
				right, gains := a.Class == truth[id], b.Class == truth[id]
				for _, c := range []struct {
					count *int
					is    bool
				}{{&want.Agreed, a.Class == b.Class}, {&want.Right, right}, {&want.Gain, gains && !right},
					{&want.Loss, right && !gains}} {
					if c.is {
						*c.count++
					}
				}
				send(id, truth[id])
			}
			var got candidate.Comparison
			c, err := p.Candidate(t.Context(), tried.Manifest.Version)
			expect.OK(t, err)
			await(t, func() bool {
				got, err = p.Compare(t.Context(), c)
				return err != nil || got.Labels == n && got.Arrivals+got.Dropped == n
			})
			if got.Confidence[0] <= 0 || got.Confidence[1] <= 0 || got.P99[0] <= 0 || got.P99[1] <= 0 {
				t.Errorf("confidence %v, p99 %v", got.Confidence, got.P99)
			}
			answered := 0
			for seen := 0; seen < got.Arrivals; {
				w.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
					var p event.Prediction
					if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
						t.Error(err)
					}
					seen++
					if of := is[p.ID]; p.Artifact == tried.Manifest.Version && string(r.Key) == p.ID &&
						p.Class == of.Class && p.Probability == of.Probability {
						answered++
					}
				})
			}
			if answered != got.Arrivals {
				t.Errorf("the topic of the candidate has %d of its %d answers", answered, got.Arrivals)
			}
			got.Confidence, got.P99, got.Candidate = want.Confidence, want.P99, ""
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, compared (-want +got):\n%s", err, diff)
			}
			d, err := p.Decide(t.Context(), "", candidate.Rule{Arrivals: n, Labels: n, P: 0.05, DeadLetters: 0.01})
			expect.OK(t, err)
			return d
		}
		if d := round(old, better, d.Test[:n]); d.Action != candidate.ActionPromote || d.By != candidate.ByRule {
			t.Errorf("the better one: %+v", d)
		}
		await(t, func() bool { return serves() == "better" })
		worse := learned(t, d, 2, "worse")
		if d := round(better, worse, d.Test[n:]); d.Action != candidate.ActionAbort || d.By != candidate.ByRule {
			t.Errorf("the worse one: %+v", d)
		}
		await(t, func() bool { return strings.Count(log.String(), "the candidate is not tried any more") == 2 })
		history, err := p.History(t.Context())
		var told []string
		for _, d := range history {
			told = append(told, d.Action+" "+d.Version)
		}
		if diff := cmp.Diff([]string{"publish old", "candidate better", "promote better", "candidate worse", "abort worse"},
			told); diff != "" {
			t.Errorf("the history (-want +got):\n%s", diff)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if serves() != "better" {
		t.Errorf("%s serves", serves())
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A canary answers the same keys in every consumer and after a restart, about as many as were asked for, with the bits
// that the version gives alone, and its predictions say so; at least once and exactly once.
func TestACanaryKeepsItsKeys(t *testing.T) {
	const n, percent = 3000, 30
	for _, delivery := range []string{config.AtLeastOnce, config.ExactlyOnce} {
		t.Run(delivery, func(t *testing.T) {
			old, next := rival(t, 1, "old"), rival(t, 2, "next")
			cfg := stackOf(t, old)
			cfg.Delivery, cfg.Candidate.Mode, cfg.Candidate.Percent = delivery, config.Canary, percent
			cfg.Kafka.TransactionTimeout = time.Minute
			if err := WithPublisher(cfg.Redis.RedisServer, func(p *serving.Publisher) error {
				return p.Publish(t.Context(), next, serving.PublishOptions{Candidate: true})
			}); err != nil {
				t.Fatal(err)
			}
			arrivals := many(old, "n", n)
			bits := map[string]map[string]event.Prediction{"old": alone(t, old, arrivals), "next": alone(t, next, arrivals)}
			arms := make([]map[string]string, 2)
			for run := range arms { // two consumers, one after the other
				all := streamUntil(t, cfg, arrivals, n*(run+1))
				arms[run] = map[string]string{}
				for _, p := range all[n*run:] {
					arms[run][p.ID] = p.Artifact
					if want := bits[p.Artifact][p.ID]; p.Class != want.Class || p.Probability != want.Probability {
						t.Fatalf("%s by %s: class %d with %v, alone %d with %v", p.ID, p.Artifact, p.Class, p.Probability,
							want.Class, want.Probability)
					}
				}
			}
			if diff := cmp.Diff(arms[0], arms[1]); diff != "" || len(arms[0]) != n {
				t.Errorf("%d arrivals, after a restart other ones are the canary's:\n%s", len(arms[0]), diff)
			}
			canaries := 0
			for _, version := range arms[0] {
				if version == "next" {
					canaries++
				}
			}
			if share := 100 * float64(canaries) / n; share < percent-2.5 || share > percent+2.5 { // three standard deviations
				t.Errorf("%.2f%% of the keys are the canary's, asked for were %d%%", share, percent)
			}
			headers := 0
			r, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...),
				kgo.ConsumeTopics(cfg.Kafka.Topics.Predictions))
			expect.OK(t, err)
			defer r.Close()
			for seen := 0; seen < 2*n; {
				r.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
					seen++
					var version, canary string
					for _, h := range r.Headers {
						switch h.Key {
						case event.HeaderArtifact:
							version = string(h.Value)
						case event.HeaderCanary:
							canary = string(h.Value)
						}
					}
					if (version == "next") != (canary == "true") {
						t.Errorf("a prediction by %s has the header %q", version, canary)
					}
					if canary != "" {
						headers++
					}
				})
			}
			if headers != 2*canaries {
				t.Errorf("%d predictions say that they are a canary's, want %d", headers, 2*canaries)
			}
		})
	}
}

// Settings that a candidate cannot be tried with are refused by name.
func TestACandidateRefusesSettings(t *testing.T) {
	for set, want := range map[string]string{"--attach.arrivals=on": "attach.arrivals is on",
		"--artifact=dir": "artifact is set", "--batch.mode=graph": "want node, or candidate.mode shadow",
		"--candidate.topic=predictions": `"predictions" (--candidate.topic): is a topic of something else`} {
		flags := pflag.NewFlagSet("consumer", pflag.ContinueOnError)
		config.Flags[config.Consumer](flags)
		expect.OK(t, flags.Parse([]string{"--candidate.mode=canary", set}))
		expect.Error(t, expect.ErrorOf(config.Load[config.Consumer](config.Sources{Flags: flags})), want, "%s", set)
	}
}
