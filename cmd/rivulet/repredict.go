package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/app"
	"rivulet/internal/cli"
	"rivulet/internal/observe"
)

func repredictCommand() *cobra.Command {
	var o app.RepredictOptions
	var from, to, out string
	cmd := &cobra.Command{
		Use:   "repredict --from TIME (--to-topic TOPIC | --out FILE)",
		Short: "Predict arrivals of a span of time again, by another version or model, from the topic that still has them",
		Long: "repredict reads the arrivals whose records have timestamps from --from up to --to, on the consumer's own\n" +
			"path and with its settings (--config), and writes predictions to another topic or to a file. It ends at\n" +
			"--to, or at the end that the topic has when it begins. No group's offsets move, no arrival gets a row of M,\n" +
			"and no dead letter is published: records that cannot be predicted are counted by reason. With input.forget,\n" +
			"ids that later records ask to forget are left out.\n\n" +
			"The same version gives the bits of then. With attach.arrivals on that holds as long as the rows of M of the\n" +
			"arrival and of its neighbours are in Redis; a prediction of which this cannot be told is marked as degraded,\n" +
			"and counted in the last line.",
		Args: cobra.NoArgs,
		Example: "  rivulet repredict --config consumer.yaml --from 2h --out predictions.jsonl\n" +
			"  rivulet repredict --config consumer.yaml --from 2026-11-25T00:00:00Z --to 2026-11-26T00:00:00Z \\\n" +
			"    --version v7 --to-topic predictions-v7\n" +
			"  rivulet repredict --from 30m --artifact out/small --model gcn --out -",
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "",
		"first timestamp: a time (RFC 3339), or a duration such as 2h before now (required)")
	flags.StringVar(&to, "to", "", "timestamp before which it ends; empty: the end of the topic when it begins")
	flags.StringVar(&o.Version, "version", "", "version in Redis that predicts; empty: the one that CURRENT names")
	flags.StringVar(&o.Topic, "to-topic", "", "topic to publish predictions to")
	flags.StringVar(&out, "out", "",
		"file to write predictions to, as JSON lines, or - for standard output")
	config.Flags[config.Consumer](flags)
	_ = cmd.MarkFlagRequired("from")
	cmd.MarkFlagsOneRequired("to-topic", "out")
	cmd.MarkFlagsMutuallyExclusive("to-topic", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg, err := config.Load[config.Consumer](config.Sources{Flags: cmd.Flags(), Environ: os.Environ()})
		if err != nil {
			return err
		}
		if o.From, err = parseTime("--from", from); err == nil {
			o.To, err = parseTime("--to", to)
		}
		switch {
		case err != nil:
			return err
		case !o.To.IsZero() && !o.From.Before(o.To):
			return fmt.Errorf("--from is %s, and --to %s: want a later one", from, to)
		case o.Topic == cfg.Kafka.Topics.Arrivals:
			return fmt.Errorf("--to-topic is %s, from which the arrivals come", o.Topic)
		}
		refused, progress := map[string]int{}, cli.Stderr()
		o.Rejected = func(d *event.DeadLetter) { refused[d.Reason]++ }
		o.Progress = func(doing string, done, total int) { progress.Step(doing, done, max(total, 1)) }
		var c app.Counts
		predict := func(w io.Writer) error {
			o.Out = w
			c, err = app.Repredict(cmd.Context(), cfg, o, observe.PlainLogger(cmd.ErrOrStderr()))
			return err
		}
		if o.Topic != "" {
			err = predict(nil)
		} else {
			err = toLines(cmd.OutOrStdout(), out, predict)
		}
		progress.Done()
		reportAgain(cmd.ErrOrStderr(), c, refused)
		return err
	}
	return cmd
}

// reportAgain prints what became of the records.
func reportAgain(w io.Writer, c app.Counts, refused map[string]int) {
	if c.Degraded == 0 {
		fmt.Fprintf(w, "%d predictions, each with the neighbours of the first time\n", c.Predicted)
	} else {
		fmt.Fprintf(w, "%d predictions; %d of them are degraded: their neighbours may be others than at the first time\n",
			c.Predicted, c.Degraded)
	}
	if c.Forgotten > 0 {
		fmt.Fprintf(w, "%d predictions are left out: later records ask to forget their ids\n", c.Forgotten)
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", refused[reason], reason))
	}
	if c.Rejected > 0 {
		fmt.Fprintf(w, "%d records cannot be predicted: %s\n", c.Rejected, strings.Join(reasons, ", "))
	}
	if c.Skipped > 0 {
		fmt.Fprintf(w, "%d records are no arrivals\n", c.Skipped)
	}
}
