// Package help prints the flags of a command under headings by their purpose, in place of one alphabetical list. Flags
// that few need, of connections, are printed by --help-all alone. It is a leaf: settings and commands both name
// headings.
package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of flags and commands.
const (
	headingOf = "rivulet_heading"
	rarely    = "rivulet_rarely"
	order     = "rivulet_order"
	showsAll  = "rivulet_help_all"
)

// allFlag is the name of the flag that prints all others.
const allFlag = "help-all"

// Group puts the flags that register adds under a heading. Headings stand in the order of their first flags, behind the
// flags without one. A flag keeps the heading that it has.
func Group(flags *pflag.FlagSet, heading string, register func()) {
	before := map[string]bool{}
	place := 0
	flags.VisitAll(func(f *pflag.Flag) {
		before[f.Name] = true
		if of := f.Annotations[order]; of != nil {
			place = max(place, placeOf(f)+1)
		}
	})
	register()
	flags.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] && f.Annotations[headingOf] == nil {
			Under(f, heading, place)
		}
	})
}

// Under puts a flag under a heading, whose place among the headings is given.
func Under(f *pflag.Flag, heading string, place int) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[headingOf], f.Annotations[order] = []string{heading}, []string{fmt.Sprintf("%06d", place)}
}

// Rarely leaves a flag to --help-all.
func Rarely(f *pflag.Flag) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[rarely] = []string{"true"}
}

func placeOf(f *pflag.Flag) (place int) {
	_, _ = fmt.Sscanf(strings.Join(f.Annotations[order], ""), "%d", &place)
	return place
}

// Install has a program's commands print their flags so, and adds --help-all where a command has flags for it.
func Install(root *cobra.Command) {
	cobra.AddTemplateFunc("flagsByHeading", usages)
	root.SetUsageTemplate(strings.NewReplacer(
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagsByHeading .}}").Replace(root.UsageTemplate()))
	install(root)
}

func install(cmd *cobra.Command) {
	rare := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) { rare = rare || f.Annotations[rarely] != nil })
	if rare && cmd.Flags().Lookup(allFlag) == nil {
		cmd.Flags().VarPF(&all{cmd}, allFlag, "", "help for "+cmd.Name()+
			" with all flags, also those of connections").NoOptDefVal = "true"
	}
	for _, c := range cmd.Commands() {
		install(c)
	}
}

// all is the value of --help-all: setting it asks for help, which then shows all flags.
type all struct{ cmd *cobra.Command }

func (*all) String() string { return "" }
func (*all) Type() string   { return "bool" }

// Set has the command's help show all flags, and asks for it.
func (a *all) Set(string) error {
	if a.cmd.Annotations == nil {
		a.cmd.Annotations = map[string]string{}
	}
	a.cmd.Annotations[showsAll] = "true"
	return pflag.ErrHelp
}

// usages are the usages of a command's own flags, under their headings.
func usages(cmd *cobra.Command) string {
	type group struct {
		place   int
		heading string
		flags   *pflag.FlagSet
	}
	groups, left := []group{{-1, "Flags", pflag.NewFlagSet("", pflag.ContinueOnError)}}, 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if f.Annotations[rarely] != nil && cmd.Annotations[showsAll] == "" {
			left++
			return
		}
		heading, place := groups[0].heading, groups[0].place
		if of := f.Annotations[headingOf]; of != nil {
			heading, place = of[0], placeOf(f)
		}
		at := slices.IndexFunc(groups, func(g group) bool { return g.heading == heading })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{place, heading, pflag.NewFlagSet("", pflag.ContinueOnError)})
		}
		groups[at].place = min(groups[at].place, place)
		groups[at].flags.AddFlag(f)
	})
	slices.SortStableFunc(groups, func(a, b group) int { return a.place - b.place })
	var out strings.Builder
	for _, g := range groups {
		if text := strings.TrimRight(g.flags.FlagUsages(), " \n"); text != "" {
			fmt.Fprintf(&out, "%s:\n%s\n\n", g.heading, text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&out, "More flags (%d) set how connections are made: %s --%s\n", left, cmd.CommandPath(), allFlag)
	}
	return strings.TrimRight(out.String(), "\n")
}
