package versions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/serving"
	"rivulet/serving/candidate"
)

func promoteCommand() *cobra.Command {
	return decideCommand(&cobra.Command{
		Use:   "promote [VERSION]",
		Short: "Make a candidate CURRENT",
		Long: "promote points CURRENT at a version that trainer publish --candidate published, if nobody moves either\n" +
			"meanwhile. Consumers that try it have it loaded, and take it over between two batches. Other candidates stay,\n" +
			"and are compared anew with it. Where there is one candidate, VERSION may be left out.",
		Example: "  trainer versions\n  trainer promote --reason more-often-right",
	}, (*serving.Publisher).Promote)
}

func abortCommand() *cobra.Command {
	return decideCommand(&cobra.Command{
		Use:   "abort [VERSION]",
		Short: "Give a candidate up: CURRENT goes on serving",
		Long: "abort ends the trial of a version that trainer publish --candidate published. The version stays in Redis\n" +
			"until the next publish or prune removes it. Where there is one candidate, VERSION may be left out.",
		Example: "  trainer abort --reason slower",
	}, (*serving.Publisher).Abort)
}

// decideCommand makes a command of a decision about a candidate that a person makes.
func decideCommand(cmd *cobra.Command, do func(p *serving.Publisher, ctx context.Context, c serving.Candidate, by,
	reason string) (candidate.Decision, error)) *cobra.Command {
	var reason string
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	return withVersions(cmd, func(cmd *cobra.Command, args []string, p *serving.Publisher) error {
		c, err := p.Candidate(cmd.Context(), only(args))
		if err != nil {
			return noCandidate(err)
		}
		d, err := do(p, cmd.Context(), c, candidate.ByHand, reason)
		if err != nil {
			return noCandidate(err)
		}
		return printDecision(cmd.OutOrStdout(), d)
	})
}

func decideByRuleCommand() *cobra.Command {
	var r candidate.Rule
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "decide [VERSION]",
		Short: "Promote a candidate or give it up, as a rule says",
		Long: "decide looks at what consumers have compared (candidate.mode, rivulet compare). It gives a candidate up\n" +
			"for dead letters, disagreement or slowness; by labels it promotes a better one and gives a worse one up.\n" +
			"Labels are looked at once at --labels of them, at twice as many, at four times, and so on, so that all\n" +
			"looks together decide wrongly between equal versions with probability --p at most. Without --every it\n" +
			"looks once; with it, it prints a line where something has changed. Where there is one candidate, VERSION may\n" +
			"be left out.",
		Args:    cobra.MaximumNArgs(1),
		Example: "  trainer decide\n  trainer decide --labels 500 --agreement 0.9 --slowdown 3 --every 10s",
	}
	flags := cmd.Flags()
	flags.IntVar(&r.Arrivals, "arrivals", 1000, "arrivals that must have been compared before anything is decided")
	flags.IntVar(&r.Labels, "labels", 200, "labels of these before labels decide, at least 1")
	flags.Float64Var(&r.Agreement, "agreement", 0, "least share of arrivals with the same class, 0 to 1; 0: any will do")
	flags.Float64Var(&r.DeadLetters, "dead-letters", 0.01,
		"largest share of arrivals that the candidate alone makes dead letters of, 0 to 1")
	flags.Float64Var(&r.Slowdown, "slowdown", 0,
		"how many times as long its slowest batches may take (p99); 0: any time will do")
	flags.Float64Var(&r.P, "p", 0.05, "probability of a decision by labels between equally good versions, 0 to 1")
	flags.DurationVar(&every, "every", 0, "pause between two looks, until something is decided; 0s: look once")
	return withVersions(cmd, func(cmd *cobra.Command, args []string, p *serving.Publisher) error {
		switch share := func(x float64) bool { return x >= 0 && x <= 1 }; {
		case r.Arrivals < 0 || r.Labels < 1 || r.Slowdown < 0 || every < 0:
			return errors.New("--arrivals, --slowdown and --every want 0 or more, --labels at least 1")
		case !share(r.Agreement) || !share(r.DeadLetters) || !share(r.P):
			return errors.New("--agreement, --dead-letters and --p want 0 to 1")
		}
		for said := ""; ; {
			d, err := p.Decide(cmd.Context(), only(args), r)
			if err != nil {
				return noCandidate(err)
			}
			if d.Action != "" {
				return printDecision(cmd.OutOrStdout(), d)
			}
			if text := fmt.Sprintf("%s is not decided yet: %s", d.Version, d.Reason); text != said {
				fmt.Fprintln(cmd.OutOrStdout(), text)
				said = text
			}
			if every == 0 {
				return nil
			}
			select {
			case <-time.After(every):
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			}
		}
	})
}

// only returns the one argument, "" for none.
func only(args []string) string { return strings.Join(args, "") }

// noCandidate adds to [serving.ErrNoCandidate] the command that publishes a candidate.
func noCandidate(err error) error {
	if errors.Is(err, serving.ErrNoCandidate) {
		return fmt.Errorf("%w: trainer publish --candidate publishes one", err)
	}
	return err
}

// printDecision prints a decision about a candidate.
func printDecision(w io.Writer, d candidate.Decision) error {
	text := d.Version + " is CURRENT"
	if d.Action == candidate.ActionAbort {
		text = fmt.Sprintf("%s is no candidate any more, %s stays CURRENT", d.Version, d.Before)
	}
	if d.Reason != "" {
		text += ": " + d.Reason
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
				agree := "-"
				if c.Both() > 0 {
					agree = fmt.Sprintf("%.1f%%", 100*c.Agreement())
				}
				compared = fmt.Sprintf("%d\t%s\t%d\t%d:%d", c.Arrivals, agree, c.Labels, c.Gain, c.Loss)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Time.Format(time.RFC3339), d.Action, d.By, d.Version, d.Before,
				compared, d.Reason)
		}
		return t.Flush()
	})
}
