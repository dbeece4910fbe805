package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"rivulet/internal/cli"
	"rivulet/lab/study"
)

// growth is the output of grow --json.
type growth struct {
	Data           string             `json:"data"`
	Fingerprint    string             `json:"fingerprint"`
	Command        string             `json:"command"`
	Batch          int                `json:"batch"` // arrivals of a micro-batch
	SyntheticNodes int                `json:"synthetic_nodes,omitzero"`
	Seed           uint64             `json:"seed"`
	Results        []study.GrowResult `json:"results"`
}

func growCommand() *cobra.Command {
	o := study.GrowDefaults()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "grow --data DIR",
		Short: "Measure what growth is worth on the test nodes: arrivals that get rows of M",
		Long: "grow condenses the graph and lets the test nodes arrive in random orders. The first share of them gets\n" +
			"rows of M as a consumer with attach.arrivals on gives them, and the rest is predicted with these rows,\n" +
			"without them, and on the whole graph with the first share in it. It writes no artifact.",
		Args:    cobra.NoArgs,
		Example: "  trainer grow --preset small --nodes 40 --models sgc,gcn",
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Run.Method, "method", o.Run.Method, "method to condense by: solved or cluster")
	runFlags(flags, &o.Run)
	sizeFlags(cmd, &o.Run)
	named := registerSchema(flags, &o.Run)
	data := dataFlags(flags)
	flags.Uint64Var(&o.Run.Seed, "seed", o.Run.Seed, "seed of everything random, the orders too")
	flags.Float64SliceVar(&o.Shares, "shares", o.Shares, "shares of the test nodes that arrive first")
	flags.IntVar(&o.Orders, "orders", o.Orders, "random orders; figures are means over them")
	flags.IntVar(&o.Batch, "micro-batch", o.Batch,
		"arrivals of a micro-batch: the arrivals of one do not see each other's rows")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object and nothing else to standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		expandModels(&o.Run)
		if err := errors.Join(o.Validate(), named.apply(&o.Run)); err != nil {
			return err
		}
		d, err := opened(data)
		if err != nil {
			return err
		}
		results, err := study.Grow(cmd.Context(), d, o, cli.Stderr())
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(growth{d.Name, d.Fingerprint(), strings.Join(os.Args, " "),
				o.Batch, o.Run.Nodes, o.Run.Seed, results})
		}
		if err := study.WriteGrowth(cmd.OutOrStdout(), results); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(),
			"%s, seed %d, %d orders, micro-batches of %d; accuracy of the second wave in percent, node batches\n",
			d.Name, o.Run.Seed, o.Orders, o.Batch)
		return err
	}
	return cmd
}
