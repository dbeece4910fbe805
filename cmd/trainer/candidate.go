package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/serving"
	"rivulet/serving/candidate"
)

func promoteCommand() *cobra.Command {
	return decideCommand(&cobra.Command{
		Use:   "promote",
		Short: "Make the candidate CURRENT",
		Long: "promote points CURRENT at the version that trainer publish --candidate published, if nobody moves either\n" +
			"meanwhile. Consumers that try the candidate have it loaded, and take it over between two batches.",
		Example: "  trainer versions\n  trainer promote --reason more-often-right",
	}, (*serving.Publisher).Promote)
}

func abortCommand() *cobra.Command {
	return decideCommand(&cobra.Command{
		Use:   "abort",
		Short: "Give the candidate up: CURRENT goes on serving",
		Long: "abort ends the trial of the version that trainer publish --candidate published. The version stays in Redis\n" +
			"until the next publish or prune removes it.",
		Example: "  trainer abort --reason slower",
	}, (*serving.Publisher).Abort)
}

// decideCommand makes a command of a decision about the candidate that a person makes.
func decideCommand(cmd *cobra.Command, do func(p *serving.Publisher, ctx context.Context, c serving.Candidate, by,
	reason string) (candidate.Decision, error)) *cobra.Command {
	var reason string
	cmd.Args = cobra.NoArgs
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	return withVersions(cmd, func(cmd *cobra.Command, _ []string, p *serving.Publisher) error {
		c, err := p.Candidate(cmd.Context())
		if err != nil {
			return err
		}
		d, err := do(p, cmd.Context(), c, candidate.ByHand, reason)
		if errors.Is(err, serving.ErrNoCandidate) {
			return fmt.Errorf("%w: trainer publish --candidate publishes one", err)
		}
		if err != nil {
			return err
		}
		return printDecision(cmd.OutOrStdout(), d)
	})
}

// printDecision says what was decided of a candidate.
func printDecision(w io.Writer, d candidate.Decision) error {
	text := d.Version + " is CURRENT"
	if d.Action == candidate.ActionAbort {
		text = fmt.Sprintf("%s is no candidate any more, %s stays CURRENT", d.Version, d.Before)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func historyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "List what was decided of CURRENT and of candidates, oldest first",
		Args: cobra.NoArgs, Example: "  trainer history --redis.url redis://localhost:6379/0"}
	return withVersions(cmd, func(cmd *cobra.Command, _ []string, p *serving.Publisher) error {
		all, err := p.History(cmd.Context())
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "TIME\tDECISION\tBY\tVERSION\tCURRENT BEFORE\tARRIVALS\tAGREE\tLABELS\tGAIN:LOSS\tREASON")
		for _, d := range all {
			compared := "\t\t\t"
			if c := d.Comparison; c != nil {
				compared = fmt.Sprintf("%d\t%.1f%%\t%d\t%d:%d", c.Arrivals, 100*c.Agreement(), c.Labels, c.Gain, c.Loss)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Time.Format(time.RFC3339), d.Action, d.By, d.Version, d.Before,
				compared, d.Reason)
		}
		return t.Flush()
	})
}
