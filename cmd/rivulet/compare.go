package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/compare"
	"rivulet/internal/logs"
	"rivulet/run"
)

func compareCommand() *cobra.Command {
	var o run.CompareOptions
	var from string
	cmd := &cobra.Command{
		Use:   "compare TOPIC-A TOPIC-B",
		Short: "Compare the predictions that two versions have published of the same arrivals",
		Long: "compare joins two topics of predictions, from their beginning to their present ends, by the record that a\n" +
			"prediction answers. It prints how often both predict the same class and, with labels, how often each is\n" +
			"right, the p value of McNemar's test of the arrivals that one of them alone has right, and each one's\n" +
			"calibration error. A prediction whose counterpart is missing, or lies further behind than --remember\n" +
			"predictions, is counted and left out. Predictions and labels take about 150 bytes of memory each.",
		Args: cobra.ExactArgs(2),
		Example: "  rivulet compare predictions predictions.next --labels labels\n" +
			"  rivulet compare predictions predictions.next --from 24h",
	}
	flags := cmd.Flags()
	config.Flags[config.Compare](flags)
	flags.StringVar(&o.Labels, "labels", "", "topic of labels, which is read from its beginning; empty: no accuracy")
	flags.StringVar(&from, "from", "",
		"only predictions from this time on (RFC 3339), or of the last hours or minutes (2h, 30m)")
	flags.IntVar(&o.Remember, "remember", 1_000_000, "most predictions of each topic, and labels, in memory, at least 2")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := config.Load[config.Compare](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		if o.Topics = [2]string(args); args[0] == args[1] {
			return fmt.Errorf("both topics are %q, want two topics", args[0])
		}
		if o.Remember < 2 {
			return fmt.Errorf("--remember is %d, want 2 or more", o.Remember)
		}
		if o.From, err = parseTime("--from", from); err != nil {
			return err
		}
		r, forgotten, err := run.Compare(cmd.Context(), cfg, o, logs.PlainLogger(cmd.ErrOrStderr()))
		if err != nil {
			return err
		}
		if forgotten > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "the oldest %d labels are left out: give a larger --remember\n", forgotten)
		}
		return printComparison(cmd.OutOrStdout(), o, &r)
	}
	return cmd
}

// significant is the p value below which a difference is taken for one.
const significant = 0.05

// printComparison writes the figures of both topics side by side, and a verdict.
func printComparison(w io.Writer, o run.CompareOptions, r *compare.Result) error {
	var empty []string
	for k, topic := range o.Topics {
		if r.Predictions[k] == 0 {
			empty = append(empty, strconv.Quote(topic))
		}
	}
	switch since := ""; {
	case len(empty) > 0:
		if !o.From.IsZero() {
			since = " since " + o.From.Format(time.RFC3339)
		}
		return fmt.Errorf("there is no prediction on %s%s: nothing can be compared", strings.Join(empty, " and on "), since)
	case r.Pairs == 0:
		return errors.New("no record has a prediction on both topics: do both groups read the same topic of arrivals?")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what string, of func(k int) string) { fmt.Fprintf(t, "%s\t%s\t%s\n", what, of(0), of(1)) }
	line("", func(k int) string { return o.Topics[k] })
	line("version", func(k int) string {
		return strings.Join(slices.Sorted(maps.Keys(r.Versions[k])), ",")
	})
	line("predictions", func(k int) string { return fmt.Sprint(r.Predictions[k]) })
	line("without a counterpart", func(k int) string { return fmt.Sprint(r.Alone[k]) })
	line("mean probability", func(k int) string { return fmt.Sprintf("%.3f", r.Confidence[k]) })
	if r.Labels > 0 {
		line(fmt.Sprintf("right, of %d labels", r.Labels), func(k int) string {
			return fmt.Sprintf("%.2f%%", 100*float64(r.Right[k])/float64(r.Labels))
		})
		line("right alone", func(k int) string { return fmt.Sprint(r.Only[k]) })
		line("calibration error", func(k int) string { return fmt.Sprintf("%.3f", r.Calibration[k]) })
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d arrivals are answered by both: %.2f%% have the same class\n", r.Pairs,
		100*float64(r.Same)/float64(r.Pairs))
	if r.Labels == 0 {
		if o.Labels != "" {
			fmt.Fprintf(w, "topic %s has no label of these arrivals\n", o.Labels)
		}
		return nil
	}
	worse := 0
	if r.Only[0] > r.Only[1] {
		worse = 1
	}
	verdict := o.Topics[worse] + " is right less often"
	if r.P() >= significant {
		verdict = "the labels do not tell the two apart"
	}
	_, err := fmt.Fprintf(w, "%s: p = %.2g (McNemar's test)\n", verdict, r.P())
	return err
}
