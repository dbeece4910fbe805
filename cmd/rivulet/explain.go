package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rivulet/consumer"
	"rivulet/infer/explain"
	"rivulet/internal/cli"
	"rivulet/internal/explanation"
	"rivulet/run"
)

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain --artifact DIR < arrivals.jsonl",
		Short: "Say why arrivals get their classes: what each feature and each neighbour does to the logit",
		Long: "explain takes arrivals as JSON lines the way of predict and takes each prediction apart: the share of\n" +
			"every feature and neighbour in the logit, and what the logit loses without it, the arrival's degree\n" +
			"included but the norm of its features held (docs/serve.md). A line that cannot be predicted is reported\n" +
			"on standard error with the reason, and the exit status is 1.",
		Args: cobra.NoArgs,
		Example: "  trainer train --preset small --out out/small\n" +
			"  rivulet replay --preset small --out arrivals.jsonl\n" +
			"  head -3 arrivals.jsonl | rivulet explain --artifact out/small",
	}
	f := newLineFlags(cmd)
	flags := cmd.Flags()
	var asJSON bool
	var most int
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line, with all terms")
	flags.IntVar(&most, "most", 10, "how many features and how many neighbours the text lists; the rest is summed up")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		versions, o, end, err := f.open(cmd)
		if err != nil {
			return err
		}
		defer end()
		var out run.ExplanationWriter = textExplanations{cmd.OutOrStdout(), most}
		if asJSON {
			out = jsonExplanations{cmd.OutOrStdout()}
		}
		explained, rejected, err := run.ExplainLines(cmd.Context(), versions, cmd.InOrStdin(), out, o)
		if err == nil && rejected > 0 {
			err = fmt.Errorf("%d of %d lines could not be explained", rejected, explained+rejected)
		}
		return err
	}
	return cmd
}

// jsonExplanations writes an object a line.
type jsonExplanations struct{ w io.Writer }

// Explanation writes one explanation.
func (j jsonExplanations) Explanation(e *consumer.ExplainedArrival) error {
	text, err := explanation.JSON(e)
	if err == nil {
		_, err = j.w.Write(append(text, '\n'))
	}
	return err
}

// textExplanations writes explanations for people.
type textExplanations struct {
	w    io.Writer
	most int
}

// Explanation writes one explanation.
func (t textExplanations) Explanation(e *consumer.ExplainedArrival) error {
	fmt.Fprintf(t.w, "%s: %s", cli.Text(e.Prediction.ID), className(e, e.Class))
	if e.RunnerUp >= 0 {
		fmt.Fprintf(t.w, ", ahead of %s by %.4f", className(e, e.RunnerUp), e.Logit.Margin)
	}
	fmt.Fprintf(t.w, "; probability %.4f, logit %.4f\n", e.Published, e.Logit.Class)
	if line := e.String(); line != "" {
		fmt.Fprintln(t.w, line)
	}
	table := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if e.Shares {
		fmt.Fprint(table, "share\tof the lead\t")
	}
	fmt.Fprintln(table, "without it\tof the lead\t  what")
	if e.Shares {
		line(table, e, e.Bias, nil, "bias")
		line(table, e, e.Centring, nil, "centring")
	}
	if e.Own != nil {
		line(table, e, *e.Own, &explain.Term{Without: *e.Own, Removed: true}, "small model of own features")
	}
	t.terms(table, e, e.Features, "feature",
		func(term *explain.Term) string { return "feature " + cli.Text(explanation.FeatureName(e, term.At)) })
	t.terms(table, e, e.Neighbours, "neighbour", func(term *explain.Term) string { return neighbourText(e, term) })
	t.terms(table, e, e.Batch, "arrival", func(term *explain.Term) string {
		return "arrival " + cli.Text(e.Among[term.At])
	})
	if e.Shares {
		line(table, e, e.Sum(), nil, "sum of the shares")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if e.NotRemoved > 0 {
		fmt.Fprintf(t.w, "%d smaller terms were not removed one by one\n", e.NotRemoved)
	}
	_, err := fmt.Fprintln(t.w)
	return err
}

// terms writes the largest terms of a kind, and the rest in a line.
func (t textExplanations) terms(w io.Writer, e *consumer.ExplainedArrival, terms []explain.Term, kind string,
	name func(*explain.Term) string) {
	for k := range terms[:min(t.most, len(terms))] {
		line(w, e, terms[k].Share, &terms[k], name(&terms[k]))
	}
	if len(terms) > t.most {
		rest := explain.Explanation{Features: terms[t.most:]}
		line(w, e, rest.Sum(), nil, fmt.Sprintf("%d other %ss", len(terms)-t.most, kind))
	}
}

// line writes a share, of a model that has shares, and what is lost without the term, if it was removed.
func line(w io.Writer, e *consumer.ExplainedArrival, share explain.Figure, term *explain.Term, what string) {
	if e.Shares {
		fmt.Fprintf(w, "%+.4f\t%+.4f\t", share.Class, share.Margin)
	}
	without := "\t"
	if term != nil && term.Removed {
		without = fmt.Sprintf("%+.4f\t%+.4f", term.Without.Class, term.Without.Margin)
	}
	fmt.Fprintf(w, "%s\t  %s\n", without, what)
}

// neighbourText names a neighbour, and the synthetic nodes that carry its share.
func neighbourText(e *consumer.ExplainedArrival, term *explain.Term) string {
	text := "neighbour " + cli.Text(e.Edges[term.At])
	switch row := &e.Rows[term.At]; {
	case row.Unread:
		text += " (could not be looked up)"
	case !row.Known:
		text += " (unknown)"
	case len(row.Cols) == 0:
		text += " (counts in the degree only)"
	case row.Arrived:
		text += " (arrived earlier)"
	}
	for k, through := range term.Through {
		before := ", "
		if k == 0 {
			before = " through synthetic node "
		}
		text += fmt.Sprintf("%s%d: %+.4f", before, through.Node, through.Share.Margin)
	}
	return text
}

func className(e *consumer.ExplainedArrival, class int) string {
	return fmt.Sprintf("class %d (%s)", class, cli.Text(e.Classes[class]))
}
