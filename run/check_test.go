package run

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/infer/target"
	"rivulet/internal/check"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/harness"
)

// A setting that has a meaning for classes alone refuses an artifact of another task by its name, and so does the page.
func TestSettingsForClasses(t *testing.T) {
	both := map[string]func(*config.Consumer){
		"":               func(*config.Consumer) {},
		"output.explain": func(cfg *config.Consumer) { cfg.Output.Explain = 1 },
	}
	ofNumbers := map[string]func(*config.Consumer){
		"output.top_k":         func(cfg *config.Consumer) { cfg.Output.TopK = 2 },
		"output.probabilities": func(cfg *config.Consumer) { cfg.Output.Probabilities = true },
		"output.coverage":      func(cfg *config.Consumer) { cfg.Output.Coverage = 0.9 },
		"labels.topic":         func(cfg *config.Consumer) { cfg.Labels.Topic = "labels" },
	}
	for task, of := range map[string]func(*artifact.Bundle) *artifact.Bundle{"number": artifacttest.Numbers,
		"labels": artifacttest.Labels, "links": artifacttest.Links} {
		b := of(artifacttest.Bundle(3, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2}))
		if err := b.Seal(); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "artifact")
		if err := artifact.Write(dir, b); err != nil {
			t.Fatal(err)
		}
		expect := func(want string, change func(*config.Consumer), refused bool) {
			cfg := config.Default[config.Consumer]()
			change(&cfg)
			cfg.Artifact = dir
			if got := checkPinned(t.Context(), cfg); (got.State == check.OK) == refused || refused &&
				(!strings.Contains(got.Found, want) ||
					!strings.Contains(got.Found, "the task is "+task)) {
				t.Errorf("%s, %q: %s", task, want, got)
			}
		}
		for want, change := range both {
			expect(want, change, want != "")
		}
		for want, change := range ofNumbers {
			expect(want, change, task == "number" || task == "links" && want != "output.top_k")
		}
		cfg := pageAsConsumer(config.Default[config.Page]())
		cfg.Artifact = dir
		if _, err := pinnedBy(t.Context(), cfg, slog.New(slog.DiscardHandler), target.Page); err == nil ||
			!strings.Contains(err.Error(), "the task is "+task+", and the page is for classes only") {
			t.Errorf("%s: the page: %v", task, err)
		}
	}
}

// Where an artifact is well and only cannot be served as the settings ask, the advice is about these settings, with
// Redis and without: publishing it again would not help.
func TestAdviceOfACheck(t *testing.T) {
	b := artifacttest.Bundle(3, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	delete(b.Manifest.Models[0].Propagation, "ep")
	delete(b.Models[0].Propagations, "ep")
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	inRedis := stackOf(t, b)
	pinned := inRedis
	pinned.Artifact = filepath.Join(t.TempDir(), "artifact")
	if err := artifact.Write(pinned.Artifact, b); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*config.Consumer)
		found  string
		do     string
	}{
		"all is well": {func(*config.Consumer) {}, "can be served", ""},
		"another model": {func(cfg *config.Consumer) { cfg.Model = "gat" }, `model is "gat", the artifact has sgc`,
			"set model to one of these, or leave it empty; or make an artifact that has it: trainer train --models"},
		"an embedding": {func(cfg *config.Consumer) {
			cfg.Output.Representation = serving.RepresentEmbedding
		}, "needs tables of features",
			"set output.representation to none or logits, or make an artifact that has them: trainer train --representation"},
		"a coverage": {func(cfg *config.Consumer) {
			cfg.Output.Coverage = 0.9
		}, "coverage 0.9", "set output.coverage to 0"},
		"growth": {func(cfg *config.Consumer) {
			cfg.Attach.Arrivals = config.On
		}, "growth is on", "set attach.arrivals to off"},
		"a propagation": {func(cfg *config.Consumer) {
			cfg.Calibration = "ep"
		}, `calibration is "ep"`, "set calibration to auto"},
	} {
		for where, cfg := range map[string]config.Consumer{"in Redis": inRedis, "in a directory": pinned} {
			c.change(&cfg)
			var last check.Result
			if _, _, err := Check(t.Context(), cfg, func(r check.Result) { last = r }); err != nil {
				t.Fatal(err)
			}
			if (last.State == check.OK) != (c.do == "") || !strings.Contains(last.Found, c.found) ||
				!strings.HasPrefix(last.Do, c.do) {
				t.Errorf("%s %s: %s", name, where, last)
			}
		}
	}
}

// A Redis whose memory is full fails the check of its memory, and that of a version whose arrivals get rows. The advice
// is about memory: to publish again would not help.
func TestCheckOfAFullRedis(t *testing.T) {
	server := harness.StartRedis(t)
	cfg := brokerOf(t)
	cfg.Redis.URL, cfg.Attach.Arrivals = config.RedisURL(server.URL()), config.On
	if err := connect.WithPublisher(cfg.Redis.RedisServer, func(p *serving.Publisher) error {
		return p.Publish(t.Context(), growing(t, 9), serving.PublishOptions{})
	}); err != nil {
		t.Fatal(err)
	}
	results := func() (memory, version check.Result) {
		if _, _, err := Check(t.Context(), cfg, func(r check.Result) {
			switch r.What {
			case "redis memory":
				memory = r
			case "redis version":
				version = r
			}
		}); err != nil {
			t.Fatal(err)
		}
		return memory, version
	}
	limit := func(bytes string) {
		if err := server.Client().ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	memory, version := results()
	if memory.State != check.Failed || !strings.Contains(memory.Do, "give Redis more memory") || version.State != check.OK {
		t.Errorf("%s\n%s", memory, version)
	}
	if !strings.Contains(memory.Found, "its memory is full: maxmemory-policy") ||
		!strings.Contains(memory.Found, " used, maxmemory 0.0 MB") {
		t.Errorf("%s", memory)
	}
	limit("0")
	if memory, version := results(); memory.State != check.OK || version.State != check.OK {
		t.Errorf("%s\n%s", memory, version)
	}
}
