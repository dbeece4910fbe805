package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"rivulet/dataset"
	"rivulet/dataset/leaks"
	_ "rivulet/dataset/parquet" // the format is registered
	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/internal/preflight"
	"rivulet/trainer"
)

func dataCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "data", Short: "Describe the tables of a data set, and check them"}
	cmd.AddCommand(dataInitCommand(), dataCheckCommand(), dataArraysCommand())
	return cmd
}

func dataInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write data.yaml: which tables there are, and what their columns mean",
		Long: "init looks for tables of nodes, edges and labels in a directory, or takes those of --nodes and --edges,\n" +
			"and writes DIR/data.yaml with what it finds. It says of each file what it is used as, or why it is left out.\n" +
			"What it guesses it says; flags say it instead. Where a wrong guess would change what is learned it asks: all\n" +
			"questions come at once, each with the flags that answer it, nothing is written, and the exit status is 1.\n" +
			"Correct the file by hand, and give its directory as --data.",
		Args: cobra.MaximumNArgs(1),
		Example: "  trainer data init out/shop\n" +
			"  trainer data init . --nodes users.parquet --edges follows.parquet --label churned\n" +
			"  trainer data init . --nodes user=users.csv,item=items.csv --edges purchases.csv --label segment",
	}
	data := dataFlags(cmd.Flags())
	var force bool
	cmd.Flags().BoolVar(&force, "force", false, "replace the data.yaml that is there")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if data.Dir != "" || data.Preset != "" {
			return errors.New("init takes a directory as its argument, and tables by --nodes and --edges; --data and " +
				"--preset are for check")
		}
		file := filepath.Join(dir, table.SettingsFile)
		if _, err := os.Lstat(file); err == nil && !force {
			return fmt.Errorf("%s is there already, and nothing was looked at: keep it ( trainer data check --data %s  reads "+
				"it), or guess anew (--force)", file, dir)
		}
		found, err := table.Find(dir, data.Tables, dataset.Kinds())
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		for _, line := range slices.Concat(found.Files, found.Guesses) {
			fmt.Fprintln(out, line)
		}
		if n := len(found.Questions); n > 0 {
			printQuestions(out, found.Questions)
			return fmt.Errorf("nothing is written: answer the questions above (%d) by their flags", n)
		}
		if err := writeTables(file, found, force); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s is written: look through it, then  trainer data check --data %s\n", file, dir)
		return err
	}
	return cmd
}

// printQuestions writes questions with the flags that answer them.
func printQuestions(w io.Writer, questions []table.Question) {
	for _, q := range questions {
		fmt.Fprintf(w, "question: %s\n  answer: %s\n", q.Text, q.Answer)
	}
}

// writeTables writes the settings to a new data.yaml, with a comment for each column: its type and some values. It
// returns an error if the file exists, unless it is to be replaced.
func writeTables(file string, found *table.Found, force bool) error {
	t := found.Settings
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return err
	}
	t.MapPaths(func(path string) string {
		if absolute, err := filepath.Abs(path); err == nil && path != "" {
			if relative, err := filepath.Rel(dir, absolute); err == nil {
				return relative
			}
		}
		return path
	})
	text := &bytes.Buffer{}
	fmt.Fprintln(text, "# The tables and what their columns mean; trainer --help lists the same as flags. Columns of "+
		"nodes:")
	for _, line := range found.Files {
		fmt.Fprintf(text, "# %s\n", strings.Join(strings.Fields(line), " "))
	}
	for _, column := range found.Columns {
		fmt.Fprintf(text, "#   %s\n", strings.Join(strings.Fields(column), " "))
	}
	for _, guess := range found.Guesses {
		fmt.Fprintf(text, "# Guessed: %s\n", strings.Join(strings.Fields(guess), " "))
	}
	if err := yaml.NewEncoder(text).Encode(t); err != nil {
		return err
	}
	mode := os.O_CREATE | os.O_EXCL | os.O_WRONLY
	if force {
		mode = os.O_CREATE | os.O_TRUNC | os.O_WRONLY
	}
	f, err := os.OpenFile(file, mode, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text.Bytes())
	return errors.Join(err, f.Close())
}

func dataCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check --data DIR",
		Short: "Count what is in a data set, what is wrong with it, and what gives its labels away",
		Long: "check reads a data set as train does and goes on where train would stop: it counts every kind of fault of\n" +
			"tables. It shows how many nodes of each class each role has, and measures how well simple rules tell the\n" +
			"class from one column, the id, the order of the rows or the edges alone: half of the labelled nodes, at\n" +
			"random, teach the rule, the other half measure it. A rule that makes at most a twentieth of the errors of\n" +
			"always saying the most frequent class is a suspect: such a column often holds what became known with the\n" +
			"label. Ten nodes of each role are sent through the consumers' path, to a model that is trained on a sample,\n" +
			"and the answers compared with the trainer's. check fails if train would.",
		Args:    cobra.NoArgs,
		Example: "  trainer data check --data out/shop",
	}
	data := dataFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		data.Faults = &table.Faults{}
		d, err := data.Open("")
		if errors.Is(err, dataset.ErrUnknown) {
			err = undescribed(cmd.OutOrStdout(), data.Dir, err)
		}
		if err != nil {
			return err
		}
		if err := printCheck(cmd.OutOrStdout(), d, data.Faults, data.SplitSeed); err != nil {
			return err
		}
		if n := len(data.Faults.Kinds); n > 0 {
			return fmt.Errorf("train refuses these tables: they have %d kinds of faults", n)
		}
		sent, err := preflight.Sample(cmd.Context(), d, trainer.Defaults(), usual)
		if errors.Is(err, preflight.ErrNoSample) {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "no node is sent to a consumer: %v\n", err)
		} else if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"a small model was trained on a sample: consumers read and answer %d nodes as arrivals\n", sent)
		}
		return err
	}
	return cmd
}

// shownGuesses are the guesses about undescribed tables that are shown.
const shownGuesses = 3

// undescribed prints the settings that data init would write for the tables of a directory, and returns advice; if
// there are no tables with names that it knows, it returns unknown.
func undescribed(w io.Writer, dir string, unknown error) error {
	found, err := table.Find(dir, table.Settings{}, dataset.Kinds())
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !slices.ContainsFunc(found.Files, func(line string) bool {
		return !strings.Contains(line, ": left out")
	}):
		return unknown // it lists the formats that were looked for
	case err != nil:
		return fmt.Errorf("nothing is checked: %s has no %s, and  trainer data init %s  needs help to write it: %w", dir,
			table.SettingsFile, dir, err)
	}
	fmt.Fprintf(w, "%s has no %s. Of its files:\n", dir, table.SettingsFile)
	for _, line := range found.Files {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(found.Questions) > 0 {
		printQuestions(w, found.Questions)
		return fmt.Errorf("nothing is checked: trainer data init %s  writes %s with answers to these questions (%d)", dir,
			table.SettingsFile, len(found.Questions))
	}
	for _, guess := range found.Guesses[:min(len(found.Guesses), shownGuesses)] {
		fmt.Fprintf(w, "  %s\n", guess)
	}
	if more := len(found.Guesses) - shownGuesses; more > 0 {
		fmt.Fprintf(w, "  and %d more guesses\n", more)
	}
	return fmt.Errorf("nothing is checked yet: trainer data init %s writes %s with this, to be looked through", dir,
		table.SettingsFile)
}

// shownRules is the number of rules beside the suspects that are shown.
const shownRules = 8

func printCheck(w io.Writer, d *dataset.Dataset, faults *table.Faults, seed uint64) error {
	fmt.Fprintf(w, "%s: %d nodes, %d edges, ", d.Name, d.Nodes(), d.Adj.NNZ()/2)
	if len(d.Classes) > 0 {
		fmt.Fprintf(w, "%d %s; ", len(d.Classes), d.Task.Outputs())
	}
	fmt.Fprintf(w, "%d nodes have no edge\n", d.Isolated())
	for _, kind := range faults.Kinds {
		fmt.Fprintf(w, "fault: %d %s; the first: %s\n", faults.Counts[kind], kind, faults.First[kind])
	}
	printLabels, ok := labelPrinters[d.Task.Truth()]
	if !ok {
		panic(fmt.Sprintf("labels of task %s have a form that is not printed", d.Task))
	}
	return printLabels(w, d, seed)
}

// labelPrinters print the labels of a data set, by their form.
var labelPrinters = map[target.Truth]func(w io.Writer, d *dataset.Dataset, seed uint64) error{
	target.OneClass: printClasses,
	target.LabelSet: func(w io.Writer, d *dataset.Dataset, _ uint64) error {
		return printOutputs(w, d, labelsWithCounts(d))
	},
	target.NumberEach: func(w io.Writer, d *dataset.Dataset, _ uint64) error { return printOutputs(w, d, d.Classes) },
	target.Neighbours: printCandidates,
}

func printCandidates(w io.Writer, d *dataset.Dataset, _ uint64) error {
	candidates := len(d.Train)
	if d.Candidates != nil {
		candidates = 0
		for _, i := range d.Train {
			if d.Candidates[i] {
				candidates++
			}
		}
	}
	_, err := fmt.Fprintf(w, "task %s: %d candidates among %d train nodes; %d val and %d test nodes\n", d.Task,
		candidates, len(d.Train), len(d.Validation), len(d.Test))
	return err
}

func printOutputs(w io.Writer, d *dataset.Dataset, names []string) error {
	_, err := fmt.Fprintf(w, "task %s: %s of %d train, %d val and %d test nodes; %d nodes are unlabelled\n", d.Task,
		strings.Join(names, ", "), len(d.Train), len(d.Validation), len(d.Test), len(d.Unlabelled))
	return err
}

// printClasses prints how many nodes of each role each class has, and how far single columns tell the class.
func printClasses(w io.Writer, d *dataset.Dataset, seed uint64) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "class\ttrain\tval\ttest\t")
	for c, name := range d.Classes {
		fmt.Fprintf(table, "%s\t", name)
		for _, nodes := range [][]int32{d.Train, d.Validation, d.Test} {
			n := 0
			for _, i := range nodes {
				if int(d.Labels[i]) == c {
					n++
				}
			}
			fmt.Fprintf(table, "%d (%.1f%%)\t", n, 100*float64(n)/float64(max(len(nodes), 1)))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d nodes are unlabelled, %d have a class and no role\n"+
		"One rule alone, right on held-out nodes (seed %d):\n", len(d.Unlabelled), len(d.Withheld()), seed)
	for k, p := range leaks.Measure(d, seed) {
		if !p.Suspect() && k >= shownRules {
			break
		}
		fmt.Fprintf(w, "  %s\n", p)
	}
	return nil
}

// labelsWithCounts returns the names of labels, and behind each how many training nodes have it.
func labelsWithCounts(d *dataset.Dataset) []string {
	names := slices.Clone(d.Classes)
	for k := range names {
		has := 0
		for _, i := range d.Train {
			has += int(d.Targets.Row(int(i))[k])
		}
		names[k] = fmt.Sprintf("%s (%d)", names[k], has)
	}
	return names
}
