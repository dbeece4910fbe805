// Package clitest checks the helps of the programs.
package clitest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
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
		check(t, c.CommandPath()+": the example", name, c.Example, root)
	})
}

// Pages checks the program's own command lines in the pages of the repository, whose root is a directory, as Examples
// checks those of helps: those of blocks of the language sh. A mark … stands for flags that are left out.
func Pages(t *testing.T, root func() *cobra.Command, directory string) {
	t.Helper()
	name, checked := root().Name(), 0
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		pages, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range Blocks(string(text), "sh") {
				checked += check(t, page+": the line", name, block, root)
			}
		}
	}
	if checked == 0 {
		t.Errorf("no page below %s has a command of %s", directory, name)
	}
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")

// Blocks returns the blocks of code of a language in a page.
func Blocks(page, language string) (blocks []string) {
	for _, of := range fence.FindAllStringSubmatch(page, -1) {
		if of[1] == language {
			blocks = append(blocks, of[2])
		}
	}
	return blocks
}

// check checks the command lines of a text and returns how many are the program's.
func check(t *testing.T, what, name, text string, root func() *cobra.Command) (checked int) {
	t.Helper()
	for _, words := range commandLines(text) {
		if words[0] == "curl" && postsUntyped(words) {
			t.Errorf("%s %q is answered with 415: want --json, or a header content-type", what, strings.Join(words, " "))
		}
		if path.Base(words[0]) != name || strings.Contains(strings.Join(words, " "), "…") ||
			slices.Contains(words, "--version") { // cli adds the flag
			continue
		}
		checked++
		command := root()
		command.InitDefaultHelpFlag()
		found, rest, err := command.Find(words[1:])
		if err == nil {
			found.InitDefaultHelpFlag()
			err = found.ParseFlags(rest)
		}
		if help, _ := found.Flags().GetBool("help"); help && err == nil {
			continue
		}
		if err == nil {
			err = found.ValidateArgs(found.Flags().Args())
		}
		if err == nil {
			err = found.ValidateRequiredFlags()
		}
		if err != nil {
			t.Errorf("%s %q cannot be run: %v", what, strings.Join(words, " "), err)
		}
	}
	return checked
}

// postsUntyped reports whether a command line of curl sends arrivals with the content-type of forms.
func postsUntyped(words []string) bool {
	line := strings.ToLower(strings.Join(words, " "))
	asks := strings.Contains(line, "/predict") || strings.Contains(line, "/explain")
	return asks && strings.Contains(line, " --data") && !strings.Contains(line, "content-type")
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

var setting = regexp.MustCompile(`^[A-Z_]+=`)

// commandLines returns the words of each command of an example, without comments, redirections and pipes.
func commandLines(example string) [][]string {
	var all [][]string
	for line := range strings.Lines(strings.ReplaceAll(example, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, " # ")
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
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
		for len(words) > 1 && setting.MatchString(words[0]) { // NAME=value before the command
			words = words[1:]
		}
		if len(words) > 2 && words[0] == "go" && words[1] == "run" {
			words = words[2:]
		}
		all[i] = words
		if k := slices.IndexFunc(words, func(w string) bool { return w == "<" || w == ">" || w == "2>&1" }); k >= 0 {
			all[i] = words[:k]
		}
	}
	return slices.DeleteFunc(all, func(words []string) bool { return len(words) == 0 })
}
