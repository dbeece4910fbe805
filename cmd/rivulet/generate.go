package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/dataset/parquet"
)

func generateCommand() *cobra.Command {
	var preset, out, format string
	var seed uint64
	var withhold float64
	cmd := &cobra.Command{
		Use:     "generate --preset NAME --out DIR",
		Short:   "Write a generated graph, for trainer train --data",
		Args:    cobra.NoArgs,
		Example: "  rivulet generate --preset flickr --out out/flickr-data",
	}
	cmd.Flags().StringVar(&preset, "preset", "small", "which graph: "+strings.Join(generate.Presets(), ", "))
	cmd.Flags().StringVar(&format, "format", dataset.GraphSAINT,
		"graphsaint, or tables: csv or parquet, in which a bag of words is a list of numbers")
	cmd.Flags().StringVar(&out, "out", "", "directory to write to (required)")
	cmd.Flags().Uint64Var(&seed, "preset-seed", 1, "seed of the generated graph")
	cmd.Flags().Float64Var(&withhold, "withhold", 0,
		"share of the training nodes to leave in no role, for replay --which withheld and a refresh that merges them")
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		save, ok := map[string]func(*dataset.Dataset, string) error{dataset.GraphSAINT: (*dataset.Dataset).Save,
			dataset.CSV: (*dataset.Dataset).SaveCSV, parquet.Format.Name: parquet.Save}[format]
		if !ok {
			return fmt.Errorf("--format is %q, want graphsaint, csv or parquet", format)
		}
		g, ok := generate.Preset(preset)
		if !ok {
			return fmt.Errorf("--preset is %q, want one of %s", preset, strings.Join(generate.Presets(), ", "))
		}
		d, err := generate.Graph(g, seed)
		if err != nil {
			return err
		}
		if d, err = d.Withhold(withhold, seed); err != nil {
			return fmt.Errorf("--withhold: %w", err)
		}
		if err := save(d, out); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d nodes, %d edges, seed %d, in %s\n", preset, len(d.IDs),
			d.Adj.NNZ()/2, seed, out)
		return nil
	}
	return cmd
}
