package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/internal/cli"
	"rivulet/lab/study"
)

// missingFlag registers eval --missing-edges, shares of edges that test nodes lose; nil: it was not given.
func missingFlag(flags *pflag.FlagSet) *[]float64 {
	shares := flags.Float64Slice("missing-edges", nil,
		"measure test nodes that have lost these shares of their edges, on T and S, without and with own features; "+
			"without a value: 0,0.3,0.5,0.7,0.9,1")
	flags.Lookup("missing-edges").NoOptDefVal = "0,0.3,0.5,0.7,0.9,1"
	return shares
}

// missingOutput is the output of eval --missing-edges --json.
type missingOutput struct {
	Data        string                `json:"data"`
	Fingerprint string                `json:"fingerprint"`
	Command     string                `json:"command"`
	Seeds       []uint64              `json:"seeds"`
	Results     []study.MissingResult `json:"results"` // one for each share of lost edges
}

// missingEdges measures the test nodes with shares of their edges lost, and prints what it found.
func (f *studyFlags) missingEdges(cmd *cobra.Command, shares []float64, asJSON bool) error {
	run := f.o.Run
	run.Choose = expandModels(&run)
	switch flags := cmd.Flags(); {
	case flags.Changed("methods") && len(f.o.Methods) > 1 || len(f.o.Nodes) > 1 || len(f.o.Ratios) > 1:
		return errors.New("--missing-edges is for one method and one size")
	case flags.Changed("methods"):
		run.Method = f.o.Methods[0]
	}
	if len(f.o.Nodes) == 1 {
		run.Nodes = f.o.Nodes[0]
	}
	if len(f.o.Ratios) == 1 {
		run.Ratio = f.o.Ratios[0]
	}
	if err := errors.Join(run.Validate(), f.named.apply(&run)); err != nil {
		return err
	}
	d, err := opened(f.data)
	if err != nil {
		return err
	}
	out := missingOutput{Data: d.Name, Fingerprint: d.Fingerprint(), Command: strings.Join(os.Args, " ")}
	for _, seed := range f.seeds {
		out.Seeds = append(out.Seeds, uint64(seed))
	}
	if out.Results, err = study.Missing(cmd.Context(), d, run, out.Seeds, shares, cli.Stderr()); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	if err := study.WriteMissing(cmd.OutOrStdout(), out.Results); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, seeds %v; accuracy of test nodes in percent, node batches\n", d.Name,
		out.Seeds)
	return err
}
