package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/config"
	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
	"rivulet/infer/target"
	"rivulet/internal/cli"
)

func inspectCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "inspect DIR",
		Short:   "Show an artifact in a page: sizes, metrics, M's sparsity, classes",
		Args:    cobra.ExactArgs(1),
		Example: "  rivulet inspect out/small",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := artifact.Read(args[0])
			if err != nil {
				return err
			}
			if b.Manifest.HasSpread() {
				if b.Spread, err = artifact.ReadSpread(args[0]); err != nil {
					return err
				}
			}
			if asJSON {
				return inspectJSON(cmd.OutOrStdout(), b)
			}
			return inspect(cmd.OutOrStdout(), b)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object; the fields are in artifact/FORMAT.md")
	return cmd
}

func inspect(w io.Writer, b *artifact.Bundle) error {
	m := b.Manifest
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("artifact", "%s (format %d), %s by %s", m.Version, m.FormatVersion,
		m.Created.Format("2006-01-02 15:04:05 MST"), m.CreatedBy)
	row("data", "%s: %d nodes, %d edges, %d features, %d %s", m.Data.Name, m.Data.Nodes, m.Data.Edges,
		m.Data.Features, len(m.Data.Classes), m.Task.Outputs())
	switch {
	case b.Candidates != nil:
		row("task", "%s: %d candidates, embeddings of %d", m.Task, len(b.Candidates.IDs), b.Candidates.Vectors.Cols)
	case m.Task.Truth() != target.OneClass:
		row("task", "%s: %s", m.Task, strings.Join(m.Data.Classes, ", "))
	}
	row("fingerprint", "%s", m.Data.Fingerprint)
	row("method", "%s, seed %d, preprocessing %s (scale %.4g)", m.Method, m.Seed, m.Preprocess.Kind, m.Preprocess.Scale)
	for _, line := range describeSchema(b.Schema) {
		row(line[0], "%s", line[1])
	}
	row("S", "%d synthetic nodes (%.2f%% of T), %d edges", m.SyntheticNodes,
		100*float64(m.SyntheticNodes)/float64(m.Data.Nodes), b.Synthetic.Adj.NNZ()/2)
	for _, line := range describeEdges(&b.Slots) {
		row(line[0], "%s", line[1])
	}
	lengths, err := rowsByEntries(b)
	if err != nil {
		return err
	}
	row("M", "%s", sparsity(&m, lengths))
	if m.Task.Truth() == target.OneClass {
		row("classes", "%s", classes(b))
	}
	row("teaching", "%s", teaching(b))
	row("map", "%s", drawn(&m))
	row("validation", "%s", validation(m.Task, &m.Reference))
	row("arrivals", "%s", arrivals(config.Default[config.Consumer]().Limits))
	for i, model := range m.Models {
		what := ""
		if model.Name == m.DefaultModel {
			what = " (default)"
		}
		row("model", "%s%s: %s attachment, fitted on %s, weight decay %.3g", model.Name, what, model.Attachment,
			model.FittedOn, model.WeightDecay)
		if t := model.Temperatures; len(t) > 0 {
			row("", "temperatures %.3f to %.3f, one a label, by %d validation nodes", slices.Min(t), slices.Max(t),
				m.Reference.Nodes)
		} else {
			row("", "propagation %s, temperature %.3f, by %d validation nodes", model.Calibration.Kind,
				model.Calibration.Temperature, m.Reference.Nodes)
		}
		for k, radius := range model.Radius {
			row("", "%s ± %.4g holds %d%% of the numbers", m.Data.Classes[k], radius, target.IntervalShare)
		}
		if own := model.Own; own != (artifact.OwnInfo{}) {
			row("", "own features answer beside it with exponents %g, %g, %g (no, few, many neighbours): "+
				"%+.2f points on validation, %+.2f without edges",
				own.Exponents.None, own.Exponents.Few, own.Exponents.Many, own.Gain, own.GainAlone)
		}
		for _, c := range confidences(&model) {
			row("", "%s", c)
		}
		row("", "embeddings %s", embeddings(&b.Models[i], &model))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	metrics(t, m.Task.Primary(), m.Metrics)
	fmt.Fprintln(t)
	var total int64
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		f := m.Files[name]
		total += f.Bytes
		fmt.Fprintf(t, "%s\t%d bytes\t\n", name, f.Bytes)
	}
	fmt.Fprintf(t, "total\t%d bytes\t\n", total)
	return t.Flush()
}

// validation returns the figures with which a stream is compared, to tell when a refresh is due.
func validation(task target.Task, r *baseline.Reference) string {
	if r.Nodes == 0 {
		return "no reference is kept: a consumer cannot tell how far its stream is from training"
	}
	text := fmt.Sprintf("%d nodes, %.1f%% of their neighbours unknown", r.Nodes, 100*r.UnknownNeighbours)
	is := task.Primary().Behind
	for _, name := range slices.Sorted(maps.Keys(r.Models)) {
		of := r.Models[name]
		text += fmt.Sprintf("; %s %.2f%% %s, confidence %.3f", name, of.Accuracy, is, of.Confidence)
	}
	return text
}

// teaching says in words whether models can be fitted on S as the trainer does.
func teaching(b *artifact.Bundle) string {
	s := b.Spread
	if s == nil {
		return "none: S has no spread"
	}
	return fmt.Sprintf("S teaches an sgc, with PyTorch too: %d directions of spread, %d of them in its fit "+
		"(spread.safetensors)", s.Factor.Rows, s.Rank)
}

// arrivals describes the arrivals that consumers with default settings take.
func arrivals(l config.Limits) string {
	return fmt.Sprintf("at most %d edges (limits.edges), ids of %s (limits.id_bytes), records of %s "+
		"(limits.record_bytes), features of %g in magnitude",
		l.Edges, l.IDBytes, l.RecordBytes, float64(preprocess.MaxFeature))
}

// drawn says in words whether there is a map of S, and with ids.
func drawn(m *artifact.Manifest) string {
	switch {
	case !m.HasMap():
		return "none (train --map adds one)"
	case m.MapIDs:
		return "S in the plane, with ids of original nodes"
	}
	return "S in the plane, without ids of original nodes"
}

// confidences returns lines about the reliability of a model's probabilities, for each measured calibration.
func confidences(model *artifact.ModelInfo) []string {
	var lines []string
	add := func(kind string, c baseline.Confidence) {
		var parts []string
		for _, of := range []struct {
			name          string
			before, after *float64
		}{{"validation", c.ECE.ValidationBefore, c.ECE.ValidationAfter}, {"test", c.ECE.TestBefore, c.ECE.TestAfter}} {
			if of.before != nil || of.after != nil {
				parts = append(parts, fmt.Sprintf("calibration error on %s %s before, %s after", of.name,
					percent(of.before), percent(of.after)))
			}
		}
		if c.Coverage > 0 {
			parts = append(parts, fmt.Sprintf("threshold %.3f answers %.0f%%", c.Threshold, 100*c.Coverage))
		}
		if n := len(c.Curve); n > 0 {
			parts = append(parts, fmt.Sprintf("accuracy %.2f%% at coverage %g, %.2f%% at %g", c.Curve[0].Accuracy,
				c.Curve[0].Coverage, c.Curve[n-1].Accuracy, c.Curve[n-1].Coverage))
		}
		if parts != nil {
			lines = append(lines, "with "+kind+": "+strings.Join(parts, "; "))
		}
	}
	add("no propagation", model.Calibration.Confidence)
	for _, kind := range slices.Sorted(maps.Keys(model.Propagation)) {
		add(kind, model.Propagation[kind].Confidence)
	}
	return lines
}

// percent returns a figure that may not have been measured.
func percent(x *float64) string {
	if x == nil {
		return "not measured"
	}
	return fmt.Sprintf("%.2f%%", *x)
}

// embeddings says in words whether a model can publish embeddings in its default attachment.
func embeddings(m *artifact.Model, info *artifact.ModelInfo) string {
	switch {
	case m.Features != nil:
		return fmt.Sprintf("of %d features, from tables of features", m.Features.U[0].Cols)
	case linear(m.Name) && info.Attachment == artifact.AttachFrozen:
		return "only in joint attachment: there are no tables of features"
	}
	return "yes"
}

func linear(model string) bool {
	a, err := architecture.Lookup(model)
	return err == nil && a.Linear()
}

// rowsByEntries returns how many rows of M have n entries, at place n, up to the longest row.
func rowsByEntries(b *artifact.Bundle) ([]int, error) {
	var count []int
	for p, err := range b.Pieces() {
		if err != nil {
			return nil, err
		}
		for i := range p.Rows.Rows {
			n := p.Rows.RowLen(i)
			for len(count) <= n {
				count = append(count, 0)
			}
			count[n]++
		}
	}
	return count, nil
}

// sparsity describes the lengths of M's rows.
func sparsity(m *artifact.Manifest, lengths []int) string {
	var parts []string
	for n, count := range lengths {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d: %d", n, count))
		}
	}
	of := m.Mapping
	dense := float64(of.Rows) * float64(m.SyntheticNodes)
	return fmt.Sprintf("%d×%d, %d entries (%.3f%% full); rows by entries %s", of.Rows, m.SyntheticNodes, of.Entries,
		100*float64(of.Entries)/dense, strings.Join(parts, ", "))
}

// classes lists the classes with their synthetic nodes.
func classes(b *artifact.Bundle) string {
	count := make([]int, len(b.Manifest.Data.Classes))
	for _, y := range b.Synthetic.Labels {
		count[y]++
	}
	parts := make([]string, len(count))
	for c, name := range b.Manifest.Data.Classes {
		parts[c] = fmt.Sprintf("%s (%d)", cli.Text(name), count[c])
	}
	return strings.Join(parts, ", ")
}

// metrics writes a figure of all rows, of graph and node batches side by side.
func metrics(w io.Writer, figure target.Metric, all []artifact.Metric) {
	type key struct {
		model, setting, calibration string
		shared, own, labels         bool
	}
	byMode := map[key]map[string]float64{}
	var order []key
	for _, x := range all {
		k := key{x.Model, x.Setting, x.Calibration, x.SharedM, x.Own, x.Labels}
		if byMode[k] == nil {
			byMode[k] = map[string]float64{}
			order = append(order, k)
		}
		byMode[k][x.Batch] = x.Figure(figure.Name)
	}
	fmt.Fprintf(w, "%s on the test nodes\tgraph batch\tnode batch\t\n", figure.Long)
	for _, k := range order {
		name := k.model + " " + k.setting
		if k.shared {
			name += " shared M"
		}
		if k.labels {
			name += " labels"
		}
		if k.own {
			name += " own features"
		}
		if k.calibration != "none" {
			name += " " + k.calibration
		}
		fmt.Fprintf(w, "%s\t%.2f%%\t%.2f%%\t\n", name, byMode[k]["graph"], byMode[k]["node"])
	}
}

// describeEdges names the tables of edges with types, directions or weights.
func describeEdges(s *graph.Slots) (lines [][2]string) {
	if len(s.Types) > 0 {
		lines = append(lines, [2]string{"types", fmt.Sprintf("edges have types: %s; tables of %d relations",
			strings.Join(s.Types, ", "), s.Len())})
	}
	if s.Directed {
		lines = append(lines, [2]string{"directions", "edges have directions; tables of both; read of arrivals: " +
			[]string{"both", "out", "in"}[s.Arriving]})
	}
	switch {
	case s.Weighted && s.Relational():
		lines = append(lines, [2]string{"weights", "edges have weights: each counts by its share of the edges of its type " +
			"and direction"})
	case s.Weighted:
		lines = append(lines, [2]string{"weights", fmt.Sprintf("edges have weights; tables of %d bins, up to %g", s.Len(),
			s.Upper)})
	}
	return lines
}
