package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/cli"
	"rivulet/internal/logs"
	"rivulet/internal/replay"
	"rivulet/run/connect"
)

// deadLetterFlags choose dead letters.
type deadLetterFlags struct {
	reasons []string
	from    string
}

// add defines --reason, --from and the flags of the settings.
func (f *deadLetterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.reasons, "reason", nil,
		"only dead letters with this reason, such as feature_length; several with commas")
	cmd.Flags().StringVar(&f.from, "from", "",
		"only those from this time on (RFC 3339), or of the last hours or minutes (2h, 30m)")
	config.Flags[config.DeadLetters](cmd.Flags())
}

// open connects to Kafka. since is the time that --from names.
func (f *deadLetterFlags) open(cmd *cobra.Command) (l *replay.Letters, topics config.Topics, since time.Time,
	err error) {
	cfg, err := config.Load[config.DeadLetters](config.OfProgram(cmd.Flags()))
	if err != nil {
		return nil, topics, since, err
	}
	if since, err = parseTime("--from", f.from); err != nil {
		return nil, topics, since, err
	}
	client, err := connect.Kafka(cfg.Kafka.Brokers)
	if err == nil {
		err = connect.Reach(cmd.Context(), cfg.Kafka.Brokers, client, cfg.Kafka.Topics.DeadLetters)
	}
	if err != nil {
		return nil, topics, since, err
	}
	return &replay.Letters{Client: client, Topic: cfg.Kafka.Topics.DeadLetters, Compression: cfg.Kafka.Compression,
		Group: cfg.Kafka.Group, Log: logs.PlainLogger(cmd.ErrOrStderr())}, cfg.Kafka.Topics, since, nil
}

// parseTime parses a time, or a duration that ends now; the zero time for no text.
func parseTime(flag, text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return time.Now().Add(-ago), nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		err = fmt.Errorf("%s is %q, want a time such as 2026-11-25T10:00:00Z, or a duration such as 2h", flag, text)
	}
	return at, err
}

func deadLettersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "dead-letters", Short: "List records that could not be predicted, and feed them in again",
		Args: cobra.NoArgs}
	cmd.AddCommand(listLettersCommand(), replayLettersCommand())
	return cmd
}

func listLettersCommand() *cobra.Command {
	f, limit := &deadLetterFlags{}, 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Count dead letters by their reasons, and print the newest",
		Args:  cobra.NoArgs,
		Example: "  rivulet dead-letters list --kafka.brokers localhost:9092\n" +
			"  rivulet dead-letters list --reason feature_length --from 2h --limit 100",
	}
	f.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "print this many, the newest of each partition; 0: only counts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 0 {
			return fmt.Errorf("--limit is %d, want 0 or more", limit)
		}
		letters, _, since, err := f.open(cmd)
		if err != nil {
			return err
		}
		defer letters.Client.Close()
		counts := map[string]int{}
		var newest []replay.Letter
		if err := letters.Each(cmd.Context(), since, func(l *replay.Letter) error {
			if len(f.reasons) > 0 && !slices.Contains(f.reasons, l.Reason) {
				return nil
			}
			counts[l.Reason]++
			l.Value = nil // not printed, and it may be large
			if newest = append(newest, *l); len(newest) > 2*limit {
				newest = newestOf(newest, limit)
			}
			return nil
		}); err != nil {
			return err
		}
		return printLetters(cmd.OutOrStdout(), newestOf(newest, limit), counts)
	}
	return cmd
}

// newestOf returns the n newest, the oldest first.
func newestOf(letters []replay.Letter, n int) []replay.Letter {
	slices.SortStableFunc(letters, func(a, b replay.Letter) int { return a.Time.Compare(b.Time) })
	return slices.Clone(letters[max(0, len(letters)-n):])
}

func printLetters(w io.Writer, letters []replay.Letter, counts map[string]int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(letters) > 0 {
		fmt.Fprintln(t, "TIME\tREASON\tRECORD\tKEY\tDETAIL")
	}
	for _, l := range letters {
		fmt.Fprintf(t, "%s\t%s\t%s/%d/%d\t%s\t%s\n", l.Time.UTC().Format(time.RFC3339), cli.Text(l.Reason),
			cli.Text(l.Source.Topic), l.Source.Partition, l.Source.Offset, cli.Text(string(l.Key)), cli.Text(l.Detail))
	}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(t, "%d dead letters\t%s\n", counts[reason], cli.Text(reason))
	}
	if len(counts) == 0 {
		fmt.Fprintln(t, "no dead letters")
	}
	return t.Flush()
}

func replayLettersCommand() *cobra.Command {
	f := &deadLetterFlags{}
	var to string
	var again, all bool
	cmd := &cobra.Command{
		Use:   "replay --reason REASON",
		Short: "Feed dead letters in again, each once, under its key and with its headers",
		Long: "replay publishes the records of dead letters as they came, to the topics that they came from, in\n" +
			"transactions. For each reason it remembers in Kafka up to where it has come (the offsets of group\n" +
			"GROUP.dead-letters.REASON), so that the same command run again, or killed and run again, feeds nothing in\n" +
			"twice. A record that becomes a dead letter once more stays one: the header rivulet-replayed says that it was\n" +
			"fed in before. Dead letters whose value was too large to be kept are counted.\n" +
			"Mend the cause first: publish or activate the right artifact, or change the setting.",
		Args: cobra.NoArgs,
		Example: "  rivulet dead-letters replay --reason feature_length --from 2h\n" +
			"  rivulet dead-letters replay --all --kafka.brokers localhost:9092 --to-topic arrivals",
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "dead letters of every reason")
	cmd.Flags().StringVar(&to, "to-topic", "", "topic to publish to; empty: of each record the one that it came from")
	cmd.Flags().BoolVar(&again, "again", false, "also those that were fed in before")
	cmd.MarkFlagsOneRequired("reason", "all")
	cmd.MarkFlagsMutuallyExclusive("reason", "all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		letters, topics, since, err := f.open(cmd)
		if err != nil {
			return err
		}
		defer letters.Client.Close()
		into := "to the topics that they came from"
		if to != "" {
			into = "to topic " + to
		}
		reasons := f.reasons
		if all {
			found := map[string]bool{}
			if err := letters.Each(cmd.Context(), since, func(l *replay.Letter) error {
				found[l.Reason] = true
				return nil
			}); err != nil {
				return err
			}
			reasons = slices.Sorted(maps.Keys(found))
		}
		for _, reason := range reasons {
			n, err := letters.Replay(cmd.Context(), replay.LetterOptions{To: to, Lost: topics.Arrivals, Reason: reason,
				From: since, Again: again})
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d fed in again %s%s%s%s\n", cli.Text(reason), n.Sent, into,
				leftOut(n.Older, "older than --from"),
				leftOut(n.Replayed, "fed in before, and dead letters again (--again feeds them in)"),
				leftOut(n.Trimmed, "without all of their record"))
			if err != nil {
				return fmt.Errorf("%s: %w", reason, err)
			}
		}
		if len(reasons) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "no dead letters")
		}
		return nil
	}
	return cmd
}

// leftOut describes how many were left out, and why.
func leftOut(n int, why string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d left out: %s", n, why)
}
