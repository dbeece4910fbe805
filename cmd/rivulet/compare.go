package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/app"
	"rivulet/kafka/retry"
	"rivulet/serving"
	"rivulet/serving/candidate"
)

func compareCommand() *cobra.Command {
	var live bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare candidates with the version that serves, on the arrivals that both have answered",
		Long: "compare adds up what all consumers count of each candidate that trainer publish --candidate published,\n" +
			"while their candidate.mode is shadow or canary: agreement, classes, confidence, latency and, with labels, the\n" +
			"arrivals that one of the two alone has right.",
		Args:    cobra.NoArgs,
		Example: "  rivulet compare --redis.url redis://localhost:6379/0\n  rivulet compare --live",
	}
	config.Flags[config.Versions](cmd.Flags())
	cmd.Flags().BoolVar(&live, "live", false, "go on until all candidates are promoted or given up")
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "pause between two looks of --live, more than 0s")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Versions](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		if every <= 0 {
			return fmt.Errorf("--every is %s, want more than 0s", every)
		}
		return app.WithPublisher(cfg.Redis, func(p *serving.Publisher) error {
			return compare(cmd.Context(), cmd.OutOrStdout(), p, live, every)
		})
	}
	return cmd
}

// compare prints a comparison for each candidate, and again every so often until there is none any more.
func compare(ctx context.Context, w io.Writer, p *serving.Publisher, live bool, every time.Duration) error {
	for before := false; ; before = true {
		tried, err := p.Candidates(ctx)
		if err != nil {
			return err
		}
		if len(tried) == 0 && before {
			all, err := p.History(ctx)
			if err == nil && len(all) > 0 {
				last := all[len(all)-1]
				fmt.Fprintf(w, "%s %s, by %s: %s\n", last.Action, last.Version, last.By, last.Reason)
			}
			return err
		}
		if len(tried) == 0 {
			return fmt.Errorf("%w: trainer publish --candidate publishes one", serving.ErrNoCandidate)
		}
		for _, c := range tried {
			sum, err := p.Compare(ctx, c)
			if err == nil {
				err = printComparison(w, c, sum)
			}
			if err != nil {
				return err
			}
		}
		if !live {
			return nil
		}
		if err := retry.Sleep(ctx, retry.SystemClock{}, every); err != nil {
			return err
		}
	}
}

// printComparison writes the figures of both versions side by side.
func printComparison(w io.Writer, of serving.Candidate, c candidate.Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	fmt.Fprintf(t, "\tCURRENT\tCANDIDATE\n\t%s\t%s\n", c.Current, of.Version)
	for k, name := range slices.Sorted(maps.Keys(c.Classes)) {
		if n := c.Classes[name]; k < 20 {
			fmt.Fprintf(t, "class %s\t%.1f%%\t%.1f%%\n", name, share(n[0], c.Both()), share(n[1], c.Both()))
		}
	}
	both := float64(max(1, c.Both()))
	fmt.Fprintf(t, "confidence\t%.3f\t%.3f\n", c.Confidence[0]/both, c.Confidence[1]/both)
	fmt.Fprintf(t, "p99 of a batch\t%.2f ms\t%.2f ms\n", c.P99[0], c.P99[1])
	fmt.Fprintf(t, "right, of %d labels\t%.2f%%\t%.2f%%\n", c.Labels, share(c.Right, c.Labels),
		share(c.Right+c.Gain-c.Loss, c.Labels))
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d arrivals by %d consumers since %s: %.2f%% agree, "+
		"classes shift by %.3f, gain:loss %d:%d, p = %.2g; "+
		"%d dead letters of the candidate, %d dropped, %d failed, %d published by it\n\n", c.Arrivals, c.Consumers,
		of.Since.Format(time.RFC3339), 100*c.Agreement(), c.Shift(), c.Gain, c.Loss, c.P(), c.Dead, c.Dropped, c.Failed,
		c.Canary)
	return err
}
