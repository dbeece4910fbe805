package help

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Flags stand under their headings, in the order of these; --help-all shows those of connections, too, also where an
// argument is missing, and their values count without it.
func TestFlagsStandUnderHeadings(t *testing.T) {
	ask := func(args ...string) string {
		t.Helper()
		root := &cobra.Command{Use: "program"}
		cmd := &cobra.Command{Use: "work FILE", Args: cobra.ExactArgs(1), Run: func(*cobra.Command, []string) {}}
		flags := cmd.Flags()
		flags.String("out", "", "where to")
		Group(flags, "Zebras", func() { flags.Int("stripes", 0, "how many") })
		Group(flags, "Apes", func() {
			flags.Int("hands", 0, "how many")
			flags.String("apes.tls", "", "a certificate")
			Rarely(flags.Lookup("apes.tls"))
		})
		Group(flags, "Zebras", func() { flags.Int("age", 0, "years") })
		root.AddCommand(cmd)
		Install(root)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append([]string{"work"}, args...))
		if err := root.Execute(); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out.String()
	}
	inOrder := func(text string, words ...string) {
		t.Helper()
		rest := text
		for _, w := range words {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Fatalf("no %q, in this order, in:\n%s", w, text)
			}
			rest = after
		}
	}
	plain := ask("--help")
	inOrder(plain, "\nFlags:\n", "--help-all", "--out", "\nZebras:\n", "--age", "--stripes", "\nApes:\n", "--hands",
		"More flags (1) set how connections are made: program work --help-all")
	if strings.Contains(plain, "apes.tls") {
		t.Errorf("a flag of a connection is in the short help:\n%s", plain)
	}
	inOrder(ask("--help-all"), "\nApes:\n", "--apes.tls", "--hands")
	if text := ask("--apes.tls", "file", "here"); text != "" {
		t.Errorf("a flag that is left to --help-all asks for help:\n%s", text)
	}
}
