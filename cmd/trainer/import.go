package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
	"rivulet/infer/target"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/mapping"
	"rivulet/trainer"
	"rivulet/trainer/features"
	"rivulet/trainer/weights"
)

// importFlags holds the flags of import besides the data.
type importFlags struct {
	files, models []string // in pairs
	out           outDir
	asJSON, table bool
	options       trainer.Options
	named         *schemaFlags
	withMap       *mapFlags
}

// importedModel is one file of weights and its model.
type importedModel struct {
	Model string `json:"model"`
	File  string `json:"file"`
	built infer.Model
}

// importReport is the output of import --json: the output of train, and the sources of the weights.
type importReport struct {
	report
	Weights []importedModel `json:"weights"`
}

func importCommand() *cobra.Command {
	f := importFlags{options: trainer.Defaults()}
	cmd := &cobra.Command{
		Use:   "import --weights FILE --model NAME --data DIR --out DIR",
		Short: "Make an artifact of a model that was trained in PyTorch Geometric or DGL",
		Long: "import reads the weights of a model that rivulet_mcond.export_model wrote (Python), and makes\n" +
			"it the W_O of a new artifact: the graph is condensed for it as train does, calibrated and measured.\n" +
			"Several models, each with its --weights and --model, share the artifact. What is served is their answers alone:\n" +
			"--own adds a small model of a node's own features, and --propagate label or error propagation.\n\n" +
			"The weights are for features after --preprocess: none for raw ones, l1 for T.NormalizeFeatures().",
		Args: cobra.NoArgs,
		Example: "  trainer import --weights model.safetensors --model gcn --data shop --preprocess l1 --out out/shop\n" +
			"  trainer import --weights gcn.safetensors --model gcn --weights sage.safetensors --model sage --data shop " +
			"--preprocess l1 --out out/both",
	}
	data := f.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd.Flags()); err != nil {
			return err
		}
		if err := f.out.check(); err != nil {
			return err
		}
		return f.onData(cmd, data)
	}
	return cmd
}

func (f *importFlags) register(cmd *cobra.Command) *dataflag.Data {
	flags := cmd.Flags()
	o := &f.options
	o.Preprocess = preprocess.None
	flags.StringArrayVar(&f.files, "weights", nil,
		"safetensors file of rivulet_mcond.export_model (required); may be given again, each with its --model")
	flags.StringArrayVar(&f.models, "model", nil, "its architecture (required): "+strings.Join(architecture.Names(), ", "))
	f.out.register(flags)
	flags.StringVar(&o.Preprocess, "preprocess", o.Preprocess,
		"preprocessing of the features in training: none, l1 (T.NormalizeFeatures), standardize or l2-center")
	flags.StringVar(&o.Method, "method", o.Method, "condensation method: "+strings.Join(trainer.Methods(laboratory), ", "))
	o.Keeper, o.More = mapping.Footprint{}, laboratory
	flags.IntVar(&o.Entries, "entries", o.Entries, "most entries of a row of M, of method solved")
	o.Own = trainer.OwnNever // what answers is the model that was imported
	flags.StringVar(&o.Own, "own", o.Own, ownUsage)
	flags.IntVar(&o.Batch, "batch", o.Batch, "nodes of a batch in evaluation")
	flags.BoolVar(&o.Costs, "costs", o.Costs, costsUsage)
	flags.BoolVar(&o.Representation, "representation", o.Representation, representationUsage)
	o.Map = true
	f.withMap = registerMap(flags, o)
	flags.Float64Var(&o.Coverage, "coverage", o.Coverage,
		"share of arrivals to answer; the less certain ones are marked as abstained; 0: none")
	registerKinds(flags, o)
	flags.Lookup("propagate").Usage += "; import serves the chosen one only where the flag is given"
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "seed of everything random")
	sizeFlags(cmd, o)
	f.named = registerSchema(flags, o)
	data := dataFlags(flags)
	flags.BoolVar(&f.table, "table", false, tableUsage)
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else to standard output")
	flags.Lookup("force").Usage += "; and take a model that is right on fewer validation nodes than the most " +
		"frequent class"
	for _, name := range []string{"weights", "model", "out"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return data
}

func hasHops(a *architecture.Architecture) bool { return a.Hops != 0 }

// having are the names of the models that have something.
func having(has func(*architecture.Architecture) bool) string {
	var names []string
	for _, a := range architecture.Architectures() {
		if has(a) {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, " or ")
}

func (f *importFlags) check(flags *pflag.FlagSet) error {
	if len(f.files) != len(f.models) {
		return fmt.Errorf("--weights is given %d times and --model %d times, want a model for each file",
			len(f.files), len(f.models))
	}
	if f.options.Preprocess == "auto" {
		return errors.New("--preprocess is auto, want the preprocessing of the features in training: none, l1, " +
			"standardize or l2-center")
	}
	f.options.Models = f.models
	f.options.OfferPropagation = !flags.Changed("propagate")
	return errors.Join(f.options.Validate(), f.withMap.apply(&f.options))
}

// read returns the models of the files for data of d features and c classes.
func (f *importFlags) read(task target.Task, d, c int) ([]importedModel, error) {
	if err := task.Require(target.ImportWeights); err != nil {
		return nil, err
	}
	var out []importedModel
	for k, file := range f.files {
		built, err := weights.Read(file, f.models[k], d, c)
		if err != nil {
			return nil, err
		}
		out = append(out, importedModel{Model: f.models[k], File: file, built: built})
	}
	return out, nil
}

// onData condenses the graph of a data set for the models.
func (f *importFlags) onData(cmd *cobra.Command, data *dataflag.Data) error {
	o := f.options
	if err := f.named.apply(&o); err != nil {
		return err
	}
	models, outcome, err := f.train(cmd.Context(), data, o)
	if err != nil {
		return err
	}
	r := importReport{Weights: models,
		report: report{Artifact: f.out.path, Version: outcome.Bundle.Manifest.Version,
			Seconds: outcome.Seconds, PeakBytes: cli.PeakBytes(), Results: outcome.Results,
			batch: o.Batch}}
	return f.print(cmd.OutOrStdout(), r, func(w io.Writer) error {
		printSchema(w, outcome.Bundle.Schema)
		return r.report.print(w, outcome.Bundle.Manifest, f.table)
	})
}

// byName are the models of files by their names.
func byName(models []importedModel) map[string]infer.Model {
	out := map[string]infer.Model{}
	for _, m := range models {
		out[m.Model] = m.built
	}
	return out
}

// train condenses the graph in memory and writes the artifact.
func (f *importFlags) train(ctx context.Context, data *dataflag.Data, o trainer.Options) ([]importedModel,
	*trainer.Outcome, error) {
	d, err := opened(data)
	if err != nil {
		return nil, nil, err
	}
	o.Schema.Zero = !features.Centres(o.Preprocess)
	encoded, s, err := features.Encode(d, o.Keep, o.Schema)
	if err != nil {
		return nil, nil, err
	}
	o.Keep = s
	models, err := f.read(d.Task, encoded.X.Cols(), len(d.Classes))
	if err != nil {
		return nil, nil, err
	}
	o.Weights, o.Hidden = byName(models), hidden(models, o.Hidden)
	outcome, err := trainer.Train(ctx, d, o, time.Now(), cli.Stderr())
	if err == nil {
		if err = aboveMajority(outcome.Fits, o.Preprocess); err != nil && f.out.force {
			fmt.Fprintf(data.Notes, "%s: warning: %v\n", outcome.Bundle.Manifest.Data.Name, err)
			err = nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return models, outcome, f.out.write(outcome.Bundle)
}

// aboveMajority refuses models that are no better on validation than the most frequent class: they were hardly trained
// on these features.
func aboveMajority(fits []trainer.Fit, preprocess string) error {
	for _, of := range fits {
		if of.Validation < of.Majority {
			return fmt.Errorf("%s is right on %.1f%% of the validation nodes, and the most frequent class on "+
				"%.1f%%: was it trained on these features, and with --preprocess %s? --force takes it as it is", of.Model,
				of.Validation, of.Majority, preprocess)
		}
	}
	return nil
}

// hidden returns the width of the first model that has a hidden layer, by which W_S is fitted to compare.
func hidden(models []importedModel, otherwise int) int {
	for _, m := range models {
		if width := m.built.Hidden(); width > 0 {
			return width
		}
	}
	return otherwise
}

// print writes the report as JSON, or the sources of the weights and then the rest as text.
func (f *importFlags) print(w io.Writer, r importReport, rest func(io.Writer) error) error {
	if f.asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	for _, m := range r.Weights {
		fmt.Fprintf(w, "%s from %s\n", m.Model, m.File)
	}
	return rest(w)
}
