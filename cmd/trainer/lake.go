package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/internal/cli"
	"rivulet/trainer"
	"rivulet/trainer/lake"
)

// lakeCommands are the steps of training on tables that need not fit into memory, in their order. The Python module
// rivulet_mcond.lake calls them, between statements of SQL.
func lakeCommands() []*cobra.Command {
	return []*cobra.Command{prepareCommand(), layerCommand(), weightsCommand(), condenseCommand(), rowsCommand(),
		finishCommand()}
}

// lakeGroup is the group of these commands in the help.
var lakeGroup = &cobra.Group{ID: "lake", Title: "Steps of training on tables that need not fit into memory, which " +
	"python -m rivulet_mcond.lake calls:"}

// lakeStep makes a command, with the flag of the draft.
func lakeStep(cmd *cobra.Command, draft *string) *cobra.Command {
	cmd.GroupID = lakeGroup.ID
	cmd.Flags().StringVar(draft, "artifact", "", "directory of the artifact that the steps make (required)")
	_ = cmd.MarkFlagRequired("artifact")
	return cmd
}

// required adds a flag of files that a command needs.
func required(cmd *cobra.Command, to *[]string, name, usage string) {
	cmd.Flags().StringSliceVar(to, name, nil, usage+" (required)")
	_ = cmd.MarkFlagRequired(name)
}

// requiredPath adds a flag of a file or a directory that a command needs.
func requiredPath(cmd *cobra.Command, to *string, name, usage string) {
	cmd.Flags().StringVar(to, name, "", usage+" (required)")
	_ = cmd.MarkFlagRequired(name)
}

const sampleUsage = "directory with nodes.parquet and edges.parquet of the nodes to fit to"

func prepareCommand() *cobra.Command {
	o := trainer.Defaults()
	o.Propagate = false
	var draft, facts, sample string
	cmd := lakeStep(&cobra.Command{
		Use:     "prepare --facts FILE --sample DIR --artifact DIR",
		Short:   "Fit the preprocessing of features to a sample of the nodes, and begin the artifact",
		Args:    cobra.NoArgs,
		Example: "  trainer prepare --facts work/facts.json --sample work/sample --artifact work/draft --models sgc,gcn",
	}, &draft)
	requiredPath(cmd, &facts, "facts", "JSON of what was counted of the whole graph")
	requiredPath(cmd, &sample, "sample", sampleUsage)
	modelFlags(cmd.Flags(), &o)
	sizeFlags(cmd, &o)
	cmd.Flags().Float64Var(&o.Coverage, "coverage", o.Coverage, coverageUsage)
	cmd.Flags().BoolVar(&o.Propagate, "propagate", o.Propagate, "have validation try label and error propagation, for "+
		"which nine hops more are made")
	cmd.Flags().Uint64Var(&o.Seed, "seed", o.Seed, seedUsage)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := lake.ReadFacts(facts)
		if err != nil {
			return err
		}
		p, err := trainer.PrepareLake(f, o, sample, lake.Draft(draft))
		if err != nil {
			return err
		}
		of, err := p.Recurrence(lake.Points, nil)
		if err != nil {
			return err
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Points lake.Walk `json:"points"`
			Nodes  int       `json:"synthetic_nodes"`
		}{lake.NewWalk(lake.Points, of), p.Nodes})
	}
	return cmd
}

func weightsCommand() *cobra.Command {
	var draft, sample string
	var points []string
	cmd := lakeStep(&cobra.Command{
		Use:     "weights --sample DIR --artifact DIR",
		Short:   "Fit the models to a sample of the nodes",
		Args:    cobra.NoArgs,
		Example: "  trainer weights --sample work/sample --points work/points.parquet --artifact work/draft",
	}, &draft)
	requiredPath(cmd, &sample, "sample", sampleUsage)
	cmd.Flags().StringSliceVar(&points, "points", nil, "tables of the sample's features after two hops by all edges, to "+
		"which an sgc is fitted; none: it is fitted to the edges of the sample")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := lake.Draft(draft)
		w, err := trainer.FitLake(cmd.Context(), d, sample, points, cli.Stderr())
		if err != nil {
			return err
		}
		p, err := d.Prepared()
		if err != nil {
			return err
		}
		type fitted struct {
			lake.Walk
			Validation float64 `json:"validation"`
		}
		var out struct {
			Models      []fitted   `json:"models"`
			Propagation *lake.Walk `json:"propagation,omitempty"`
		}
		for _, m := range w.Models {
			of, err := p.Recurrence(m.Name, w)
			if err != nil {
				return err
			}
			out.Models = append(out.Models, fitted{lake.NewWalk(m.Name, of), m.Validation})
		}
		if p.Settings.Propagate {
			of, err := p.Recurrence(lake.Propagation, w)
			if err != nil {
				return err
			}
			walk := lake.NewWalk(lake.Propagation, of)
			out.Propagation = &walk
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	return cmd
}

func condenseCommand() *cobra.Command {
	var draft, sample string
	var rows []string
	cmd := lakeStep(&cobra.Command{
		Use:     "condense --sample DIR --rows FILE --artifact DIR",
		Short:   "Make the synthetic graph of a sample of the nodes, by their rows of the models' tables",
		Args:    cobra.NoArgs,
		Example: "  trainer condense --sample work/sample --rows work/sampled.parquet --artifact work/draft",
	}, &draft)
	requiredPath(cmd, &sample, "sample", sampleUsage)
	required(cmd, &rows, "rows", "tables of the sample's nodes behind the layers of each model")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := trainer.CondenseLake(cmd.Context(), lake.Draft(draft), sample, rows, cli.Stderr())
		if err != nil {
			return err
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Nodes   int `json:"synthetic_nodes"`
			Entries int `json:"entries"`
		}{c.Synthetic.X.Rows, c.Entries})
	}
	return cmd
}

// eachTable takes each table to one of the same name in the directory out; the table - is standard input, and goes to
// standard output.
func eachTable(tables []string, out string, run func(from, to string) error) error {
	if tables[0] == "-" {
		if len(tables) > 1 || out != "" {
			return errors.New("the table - is standard input, and goes to standard output: want it alone, without --out")
		}
		return run("-", "-")
	}
	if out == "" {
		return errors.New("--out is empty: want the directory of the tables that are made")
	}
	for _, from := range tables {
		to := filepath.Join(out, filepath.Base(from))
		if same, err := sameFile(from, to); err != nil || same {
			return errors.Join(err, fmt.Errorf("--out %s would replace the table %s by the one that is made of it", out, from))
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, from := range tables {
		if err := run(from, filepath.Join(out, filepath.Base(from))); err != nil {
			return err
		}
	}
	return nil
}

// sameFile reports whether two paths are of one file. The second need not be there.
func sameFile(from, to string) (bool, error) {
	a, err := os.Stat(from)
	if err != nil {
		return false, err
	}
	b, err := os.Stat(to)
	return err == nil && os.SameFile(a, b), nil
}

func layerCommand() *cobra.Command {
	var draft, of, out string
	var at int
	cmd := lakeStep(&cobra.Command{
		Use:   "layer --of MODEL --layer K --artifact DIR --out DIR TABLE…",
		Short: "Take nodes of tables through one layer of a model",
		Long: "layer reads tables of nodes: for layer 0 their features, for a later one their state and the sums of their\n" +
			"neighbours' messages. It writes their next state, their messages and a part of their tables; behind the last\n" +
			"hop their logits. It keeps nothing, so that any number of them may run for parts of the nodes.",
		Args:    cobra.MinimumNArgs(1),
		Example: "  trainer layer --of sgc --layer 0 --artifact work/draft --out work/sgc-0 work/nodes/*.parquet",
	}, &draft)
	requiredPath(cmd, &of, "of", fmt.Sprintf("a model, %s (features, for clusters) or %s", lake.Points, lake.Propagation))
	flags := cmd.Flags()
	flags.IntVar(&at, "layer", 0, "number of hops before the layer (required)")
	_ = cmd.MarkFlagRequired("layer")
	flags.StringVar(&out, "out", "", outTablesUsage)
	cmd.RunE = func(_ *cobra.Command, tables []string) error {
		l, err := lake.NewLayer(lake.Draft(draft), of, at)
		if err != nil {
			return err
		}
		return eachTable(tables, out, l.Run)
	}
	return cmd
}

const outTablesUsage = "directory of the tables that are made, which are called as those that they are made of"

func rowsCommand() *cobra.Command {
	var draft, out string
	cmd := lakeStep(&cobra.Command{
		Use:   "rows --artifact DIR --out DIR TABLE…",
		Short: "Solve rows of M of the nodes of tables",
		Long: "rows reads tables of nodes with their rows behind the layers of each model, and writes their rows of the\n" +
			"mapping M: to which synthetic nodes, with which weights. It keeps nothing, so that any number of them may run\n" +
			"for parts of the nodes.",
		Args:    cobra.MinimumNArgs(1),
		Example: "  trainer rows --artifact work/draft --out work/mapping work/walked/*.parquet",
	}, &draft)
	cmd.Flags().StringVar(&out, "out", "", outTablesUsage)
	cmd.RunE = func(_ *cobra.Command, tables []string) error {
		r, err := lake.NewRows(lake.Draft(draft))
		if err != nil {
			return err
		}
		return eachTable(tables, out, r.Run)
	}
	return cmd
}

func finishCommand() *cobra.Command {
	var draft, held string
	var read, mapping []string
	var out outDir
	var asJSON, table bool
	cmd := lakeStep(&cobra.Command{
		Use:   "finish --held DIR --read FILE --mapping FILE --artifact DIR --out DIR",
		Short: "Calibrate and measure on the nodes that are held out, and write the artifact",
		Args:  cobra.NoArgs,
		Example: "  trainer finish --held work/held --read work/read.parquet --mapping work/mapping/0.parquet \\\n" +
			"    --artifact work/draft --out out/large",
	}, &draft)
	requiredPath(cmd, &held, "held", "directory with nodes.parquet and edges.parquet of the nodes that are held out")
	required(cmd, &read, "read", "tables of the nodes that these have edges to, with their rows behind the layers of "+
		"each model and of M")
	required(cmd, &mapping, "mapping", "tables of all rows of M")
	flags := cmd.Flags()
	out.register(flags)
	flags.BoolVar(&table, "table", false, tableUsage)
	flags.BoolVar(&asJSON, "json", false, jsonUsage)
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		outcome, err := trainer.FinishLake(cmd.Context(), lake.Draft(draft), held, read, mapping, time.Now(), cli.Stderr())
		if err != nil {
			return err
		}
		warnings, err := answered(cmd.Context(), outcome, usual)
		if err != nil {
			return err
		}
		for _, warning := range warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", outcome.Bundle.Manifest.Data.Name, warning)
		}
		if err := cli.During("writing the artifact", func() error { return out.write(outcome.Bundle) }); err != nil {
			return err
		}
		r := report{Artifact: out.path, Version: outcome.Bundle.Manifest.Version, Seconds: outcome.Seconds,
			PeakBytes: cli.PeakBytes(), Results: outcome.Results, batch: trainer.Defaults().Batch}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
		}
		return r.print(cmd.OutOrStdout(), outcome.Bundle.Manifest, table)
	}
	return cmd
}

// modelFlags registers the flags of models, of their fit and of M.
func modelFlags(flags *pflag.FlagSet, o *trainer.Options) {
	flags.StringSliceVar(&o.Models, "models", o.Models, "models to fit and serve through one M, the first by default: "+
		strings.Join(trainer.LakeModels, ", "))
	fitFlags(flags, o)
}
