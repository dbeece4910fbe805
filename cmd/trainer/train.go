package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/leaks"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/help"
	"rivulet/lab/methods"
	"rivulet/trainer"
	"rivulet/trainer/eval"
	"rivulet/trainer/links"
)

// report is the output of train --json.
type report struct {
	Artifact  string                `json:"artifact"` // directory
	Version   string                `json:"artifact_version"`
	Seconds   float64               `json:"seconds"`    // training and condensation, without evaluation
	PeakBytes int64                 `json:"peak_bytes"` // of the process's memory
	Results   []eval.Result         `json:"results"`
	Learned   *learnedRun           `json:"learned,omitempty"` // of method learned
	Choices   []trainer.ModelChoice `json:"choices,omitempty"` // of --models auto
	batch     int                   // nodes of a batch in evaluation
}

func trainCommand() *cobra.Command {
	o := trainer.Defaults()
	o.Map = true // where the task has one
	var out outDir
	var asJSON, table bool
	cmd := &cobra.Command{
		Use:   "train --data DIR --out DIR",
		Short: "Train a model, condense its graph and write the artifact",
		Args:  cobra.NoArgs,
		Example: "  trainer train --preset small --out out/small\n" +
			"  trainer data init shop && trainer train --data shop --out out/shop   # tables nodes.csv and edges.csv in shop\n" +
			"  trainer train --preset small --models auto --out out/best     # the model that is best on validation\n" +
			"  trainer train --preset flickr --ratio 0.005 --out out/flickr --json\n" +
			"  trainer train --preset small --nodes 40 --method learned --lambda 0.1 " +
			"--out out/learned",
	}
	flags := cmd.Flags()
	out.register(flags)
	flags.StringVar(&o.Method, "method", o.Method, "condensation method: "+
		strings.Join(trainer.ArtifactMethods(laboratory), ", ")+"; eval measures these and others")
	sizeFlags(cmd, &o)
	data := dataFlags(flags)
	named := registerSchema(flags, &o)
	runFlags(flags, &o)
	learn := newLearnFlags(flags)
	help.Group(flags, headArtifact, func() {
		flags.Float64Var(&o.Coverage, "coverage", o.Coverage, coverageUsage)
		flags.BoolVar(&o.Representation, "representation", o.Representation, representationUsage)
		flags.BoolVar(&o.Spread, "spread", o.Spread,
			spreadUsage+"; the artifact then has what they are fitted to, for PyTorch")
	})
	registerKinds(flags, &o)
	withMap := registerMap(flags, &o)
	flags.Uint64Var(&o.Seed, "seed", o.Seed, seedUsage)
	var heldOut *string
	help.Group(flags, headEvaluation, func() {
		heldOut = flags.String("held-out", "", "task links: write the edges that were held out, to choose and to measure, "+
			"to this file: a CSV of role, node and candidate, with which others can check the scores; empty: no file")
		flags.BoolVar(&table, "table", false, tableUsage)
	})
	flags.BoolVar(&asJSON, "json", false, jsonUsage)
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.Choose = expandModels(&o)
		if err := errors.Join(o.Validate(), named.apply(&o), withMap.apply(&o)); err != nil {
			return err
		}
		if err := out.check(); err != nil {
			return err
		}
		var course *methods.Course
		if err := cli.TryBeside("held-out", *heldOut); err != nil {
			return err
		}
		outcome, err := trained(cmd, learn, data, o, &out, func(l *methods.Course) { course = l })
		if err != nil {
			return err
		}
		if *heldOut != "" {
			if err := writeHeldOut(*heldOut, outcome.HeldOut); err != nil {
				return err
			}
		}
		r := report{out.path, outcome.Bundle.Manifest.Version, outcome.Seconds, cli.PeakBytes(), outcome.Results,
			newLearned(course), outcome.Choices, o.Batch}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
		}
		printSchema(cmd.OutOrStdout(), outcome.Bundle.Schema)
		return r.print(cmd.OutOrStdout(), outcome.Bundle.Manifest, table)
	}
	return cmd
}

// trained runs the training, and writes the artifact to out. traced gets the course of a learned run.
func trained(cmd *cobra.Command, learn *learnFlags, data *dataflag.Data, o trainer.Options,
	out *outDir, traced func(*methods.Course)) (*trainer.Outcome, error) {
	write := func(outcome *trainer.Outcome) error {
		warnings, err := answered(cmd.Context(), outcome, usual)
		if err == nil && !data.Checked {
			err = data.Warn(outcome.Bundle.Manifest.Data.Name, warnings)
		}
		if err != nil {
			return err
		}
		return cli.During("writing the artifact", func() error { return out.write(outcome.Bundle) })
	}
	d, err := opened(data)
	if err == nil && cmd.Flags().Changed("held-out") {
		err = d.Task.Require(target.HeldOutEdges)
	}
	if err != nil {
		return nil, err
	}
	sayLeaks(data, d)
	d = d.MoveOriginalFirst()
	collectForSize()
	o.Map = o.Map && (d.Task.Can(target.Map) || cmd.Flags().Changed("map")) // other tasks refuse one that is asked for
	s, err := learn.settings(d, []string{o.Method})
	if err != nil {
		return nil, err
	}
	s.Traced = traced
	o.More = methods.All(s)
	unweighted, weights := 0.0, d.Adj.Val != nil && len(d.Validation) > 0
	if weights {
		if unweighted, err = trainer.Unweighted(cmd.Context(), d, o, cli.Stderr()); err != nil {
			return nil, err
		}
	}
	outcome, err := trainer.Train(cmd.Context(), d, o, time.Now(), cli.Stderr())
	if err == nil && weights && len(outcome.Fits) > 0 {
		fmt.Fprintf(data.Notes, "%s: %s\n", outcome.Bundle.Manifest.Data.Name, sayWeights(outcome.Fits[0], unweighted))
	}
	if err == nil {
		err = write(outcome)
	}
	return outcome, err
}

// sayLeaks repeats what data check says of columns that all but tell the label.
func sayLeaks(data *dataflag.Data, d *dataset.Dataset) {
	if !d.Task.Can(target.Leaks) {
		return
	}
	for _, p := range leaks.Measure(d, data.SplitSeed) {
		if p.Suspect() {
			fmt.Fprintf(data.Notes, "%s: warning: %s\n", d.Name, strings.TrimSpace(p.String()))
		}
	}
}

// sayWeights compares a model with weights of edges with the same one without them.
func sayWeights(f trainer.Fit, unweighted float64) string {
	line := fmt.Sprintf("weights of edges: %s has %.1f%% on validation with them, and %.1f%% without", f.Model,
		f.Validation,
		unweighted)
	const worse = 1
	if unweighted-f.Validation >= worse {
		return "warning: " + line + ": --drop-weights leaves them out; amounts of money and the like are better as " +
			"log1p of them"
	}
	return line
}

// Helps of flags that other commands have, too.
const (
	coverageUsage = "share of arrivals to answer; the less certain ones are marked as abstained; 0: none"
	seedUsage     = "seed of everything random"
	jsonUsage     = "print one JSON object and nothing else to standard output"
)

const tableUsage = "print all settings as a table, and not only what is served beside the whole graph"

// print writes the report for a person: the accuracy that is served beside the whole graph's, or all results as a
// table.
func (r report) print(w io.Writer, m artifact.Manifest, table bool) error {
	fmt.Fprintf(w, "%s: %d original nodes -> %d synthetic, M with %d entries, preprocessing %s, seed %d\n",
		m.Data.Name, m.Data.Nodes, m.SyntheticNodes, m.Mapping.Entries, m.Preprocess.Kind, m.Seed)
	for _, model := range m.Models {
		if model.WeightDecay > 0 { // 0: the weights were imported
			how := ""
			if m.Reference.Nodes == 0 {
				how = ", without validation nodes chosen on training nodes or by default"
			}
			fmt.Fprintf(w, "%s: weight decay %.3g%s\n", model.Name, model.WeightDecay, how)
		}
	}
	if l := r.Learned; l != nil {
		for _, p := range l.Search {
			fmt.Fprintf(w, "searched: λ %g, β %g: %.2f with μ %g, δ %g\n", p.Lambda, p.Beta, p.Accuracy, p.Mu, p.Delta)
		}
		fmt.Fprintf(w, "learned: λ %g, β %g, best of %d rounds %d with %.2f, μ %g, δ %g\n", l.Lambda, l.Beta,
			l.Rounds, l.BestRound, l.Accuracy, l.Mu, l.Delta)
	}
	if r.Choices != nil {
		if err := writeChoices(w, r.Choices); err != nil {
			return err
		}
	}
	served, whole := r.served(m)
	if len(r.Results) == 0 {
		fmt.Fprintln(w, "not measured: the data have no test nodes")
	} else if table || served == nil {
		if err := eval.WriteTable(w, r.Results); err != nil {
			return err
		}
		fmt.Fprint(w, eval.Legend)
	}
	for _, model := range m.Models {
		if model.Name == m.DefaultModel {
			fmt.Fprintln(w, servedLine(m, model))
		}
	}
	if served != nil {
		fmt.Fprintln(w, served.Summary(whole, m.SyntheticNodes, m.Data.Nodes, r.batch))
	}
	if served != nil && !table {
		fmt.Fprintln(w, "--table prints all settings, with costs")
	}
	_, err := fmt.Fprintf(w, "trained in %.2f s, %.0f MB at most; artifact %s in %s\n", r.Seconds,
		float64(r.PeakBytes)/1e6, r.Version, r.Artifact)
	return err
}

// writeHeldOut writes the edges that were held out to a CSV file.
func writeHeldOut(path string, held *trainer.HeldOut) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	_ = w.Write([]string{"role", "node", "candidate"})
	for _, of := range []struct {
		role  string
		links []links.HeldLink
	}{{"validation", held.Validation}, {"test", held.Test}} {
		for _, l := range of.links {
			_ = w.Write([]string{of.role, l.Node, l.Candidate})
		}
	}
	w.Flush()
	return os.WriteFile(path, text.Bytes(), 0o666)
}

// servedLine names the served model, the parts added to it, and the number of nodes that chose it.
func servedLine(m artifact.Manifest, model artifact.ModelInfo) string {
	setting := eval.OtoS
	if model.Own.Answers() {
		setting += " own" // as the table names the row
	}
	line := fmt.Sprintf("served: model %s, setting %s, attachment %s, calibration %s", model.Name, setting,
		model.Attachment, model.Calibration.Kind)
	line += fittedText(m.Task, &model)
	if n := m.Reference.Nodes; n > 0 {
		line += fmt.Sprintf(" (by %d validation nodes)", n)
	} else {
		line += " (no validation nodes: chosen by default)"
	}
	if model.Own.Answers() {
		line += fmt.Sprintf("; added: a small model of own features, %+.1f points on validation, %+.1f for nodes without "+
			"edges (--own never leaves it out)", model.Own.Gain, model.Own.GainAlone)
	}
	for _, kind := range propagation.Kinds {
		if kind.Name == model.Calibration.Kind {
			line += fmt.Sprintf("; added: %s with weight %g (--propagate=false leaves it out)", kind.Title,
				model.Propagation[kind.Name].Gamma)
		}
	}
	return line
}

// fittedText names the parameters that validation fitted for a task's answers.
func fittedText(task target.Task, model *artifact.ModelInfo) string {
	switch task.Fitted() {
	case target.OneTemperature:
		tau := model.Calibration.Temperature
		if p, on := model.Propagation[model.Calibration.Kind]; on {
			tau = p.Temperature
		}
		return fmt.Sprintf(", temperature %.3g", tau)
	case target.TemperatureEach:
		return fmt.Sprintf(", temperatures %.3g to %.3g", slices.Min(model.Temperatures), slices.Max(model.Temperatures))
	case target.IntervalEach:
		return fmt.Sprintf(", intervals of %d%%", target.IntervalShare)
	case target.NoFit:
		return ""
	}
	panic(fmt.Sprintf("what validation fits for task %s has no text", task))
}

// served returns two rows of node batches: of the model that consumers serve, and of the same model on the whole graph.
// Both are nil if one of them was not measured.
func (r report) served(m artifact.Manifest) (served, whole *eval.Result) {
	for i := range r.Results {
		of := &r.Results[i]
		switch {
		case of.Model != m.DefaultModel || of.Batch != eval.NodeBatch:
		case of.Served:
			served = of
		case of.Setting == eval.OtoO && whole == nil:
			whole = of
		}
	}
	if served == nil || whole == nil {
		return nil, nil
	}
	return served, whole
}

// writeChoices writes candidates as a table.
func writeChoices(w io.Writer, choices []trainer.ModelChoice) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tmodel\town features\tvalidation %\tµs a prediction\tMB without M\tentries of M\t\n")
	for _, c := range choices {
		mark, own := "", ""
		if c.Chosen {
			mark = eval.Mark
		}
		if c.Own {
			own = "beside it"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%d\t\n", mark, c.Model, own, c.Validation, c.Micros,
			float64(c.Bytes)/1e6, c.Mapping)
	}
	return t.Flush()
}
