// Package clitest checks the helps of the programs.
package clitest

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Examples checks that each command that does something has an example in its help, that the example names no folder
// outside of the user's own, and that the programs' own command lines in it name commands and flags that exist. root
// returns a new tree of commands of the program.
func Examples(t *testing.T, root func() *cobra.Command) {
	t.Helper()
	name := root().Name()
	each(root(), func(c *cobra.Command) {
		if c.Runnable() && c.Example == "" {
			t.Errorf("%s: its help has no example", c.CommandPath())
		}
		if strings.Contains(c.Example, "../") {
			t.Errorf("%s: the example names a folder that users do not have:\n%s", c.CommandPath(), c.Example)
		}
		for _, words := range commandLines(c.Example) {
			if words[0] != name {
				continue
			}
			found, rest, err := root().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err == nil {
				err = found.ValidateRequiredFlags()
			}
			if err != nil {
				t.Errorf("%s: the example %q cannot be run: %v", c.CommandPath(), strings.Join(words, " "), err)
			}
		}
	})
}

// each calls do for a command and all commands below it, except those that cobra adds.
func each(c *cobra.Command, do func(*cobra.Command)) {
	if c.Name() == "help" || c.Name() == "completion" {
		return
	}
	do(c)
	for _, below := range c.Commands() {
		each(below, do)
	}
}

// commandLines returns the words of each command of an example, without comments, redirections and pipes.
func commandLines(example string) [][]string {
	var all [][]string
	for line := range strings.Lines(strings.ReplaceAll(example, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, " # ")
		var words []string
		for _, word := range strings.Fields(line) {
			if slices.Contains([]string{"|", "&", "&&"}, word) {
				all, words = append(all, words), nil
				continue
			}
			words = append(words, strings.Trim(word, "'"))
		}
		all = append(all, words)
	}
	for i, words := range all {
		if k := slices.IndexFunc(words, func(w string) bool { return w == "<" || w == ">" }); k >= 0 {
			all[i] = words[:k]
		}
	}
	return slices.DeleteFunc(all, func(words []string) bool { return len(words) == 0 })
}
