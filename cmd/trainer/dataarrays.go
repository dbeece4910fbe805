package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rivulet/trainer"
	"rivulet/trainer/features"
)

func dataArraysCommand() *cobra.Command {
	o := trainer.Defaults()
	o.Preprocess = "none"
	cmd := &cobra.Command{
		Use:   "arrays --data DIR --out DIR",
		Short: "Write a data set as arrays that NumPy and SciPy read, with features by its schema",
		Long: "arrays reads a data set as import does, and writes it in the GraphSAINT layout: features are the numbers\n" +
			"of the schema that import fits with the same flags, so that a model that is trained on the arrays fits the\n" +
			"artifact of  trainer import --data DIR. Files beside the layout's own have ids, names of classes, the schema,\n" +
			"and what edges and labels are. rivulet_mcond.tables.to_pyg makes PyTorch Geometric's Data of it.",
		Args:    cobra.NoArgs,
		Example: "  trainer data arrays --data out/shop --out out/arrays",
	}
	flags := cmd.Flags()
	data := dataFlags(flags)
	named := registerSchema(flags, &o)
	var out string
	flags.StringVar(&out, "out", "", "directory to write the arrays to (required)")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "seed of hashed words, as import is given it")
	flags.StringVar(&o.Preprocess, "preprocess", o.Preprocess,
		"preprocessing that import is given: none, l1, standardize or l2-center; the arrays are not preprocessed")
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(o.Validate(), named.apply(&o)); err != nil {
			return err
		}
		d, err := opened(data)
		if err != nil {
			return err
		}
		o.Schema.Zero = !features.Centres(o.Preprocess)
		d, _, err = features.Encode(d, nil, o.Schema)
		if err != nil {
			return err
		}
		d.Values = nil
		if err := d.Save(out); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d nodes, %d features\n", out, d.Nodes(), d.X.Cols())
		return err
	}
	return cmd
}
