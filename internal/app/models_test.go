package app

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/serving"
	"rivulet/test/expect"
)

// From arrivals in Kafka to predictions in Kafka: each of several models answers each arrival as it answers alone,
// under the arrival's key and in the order of the setting, at least once and exactly once.
func TestModelsOfOneArtifactAnswerOneStream(t *testing.T) {
	b := described(t)
	arrivals, _ := newcomers(b, 12)
	order := []string{"sage", "sgc", "gcn"}
	want := map[string]float32{}
	for _, model := range order {
		cfg := stackOf(t, b)
		cfg.Model = model
		for _, p := range stream(t, cfg, arrivals) {
			if want[model+p.ID] = p.Probability; p.Model != "" {
				t.Errorf("one model answers, and its prediction names %q", p.Model)
			}
		}
	}
	for _, delivery := range []string{config.AtLeastOnce, config.ExactlyOnce} {
		cfg := stackOf(t, b)
		cfg.Models, cfg.Delivery, cfg.Kafka.TransactionTimeout = order, delivery, time.Minute
		for i, p := range streamUntil(t, cfg, arrivals, len(arrivals)*len(order)) {
			if model := order[i%len(order)]; p.ID != arrivals[i/len(order)].ID || p.Model != model ||
				p.Probability != want[model+p.ID] {
				t.Errorf("%s: prediction %d is of %s by %s with %v, want of %s by %s with %v", delivery, i, p.ID, p.Model,
					p.Probability, arrivals[i/len(order)].ID, model, want[model+p.ID])
			}
		}
	}
}

// A list of models that cannot answer together is refused by name.
func TestModelsAreRefusedByName(t *testing.T) {
	for set, want := range map[string]string{"--models=sgc,sgc": `names "sgc" twice`,
		"--models=sgc --model=gcn": "and so is model"} {
		flags := pflag.NewFlagSet("consumer", pflag.ContinueOnError)
		config.Flags[config.Consumer](flags)
		expect.OK(t, flags.Parse(strings.Fields(set)))
		expect.Error(t, expect.ErrorOf(config.Load[config.Consumer](config.Sources{Flags: flags})), want, "%s", set)
	}
	b := described(t)
	b.Manifest.Models[1].Attachment = artifact.AttachJoint
	expect.OK(t, b.Seal())
	dir := filepath.Join(t.TempDir(), "a")
	expect.OK(t, artifact.Write(dir, b))
	for list, want := range map[string]string{"sgc,mlp": `model is "mlp", the artifact has sgc, gcn`,
		"sgc,gcn": "attachment of model sgc is frozen, and of model gcn joint"} {
		_, err := Pinned(t.Context(), dir, serving.Options{Models: strings.Split(list, ",")}, slog.New(slog.DiscardHandler))
		expect.Error(t, err, want, "%s", list)
	}
	v, err := Pinned(t.Context(), dir, serving.Options{Models: []string{"sgc", "gcn"}, Attachment: "joint"},
		slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	var names []string
	for _, m := range (models{}).Of(v.Current()) {
		names = append(names, m.Name)
	}
	expect.Same(t, []string{"sgc", "gcn"}, names, "models")
}
