package versions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/internal/spelling"
	"rivulet/run/connect"
	"rivulet/serving"
)

// withVersions makes a command of work on the versions in Redis.
func withVersions(cmd *cobra.Command, work func(cmd *cobra.Command, args []string,
	p *serving.Publisher) error) *cobra.Command {
	config.Flags[config.Versions](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := config.Load[config.Versions](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		return connect.WithPublisher(cfg.Redis, func(p *serving.Publisher) error { return work(cmd, args, p) })
	}
	return cmd
}

func versionsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "versions", Short: "List the versions in Redis", Args: cobra.NoArgs,
		Example: "  trainer versions --redis.url redis://localhost:6379/0"}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list; the fields are in docs/operate.md")
	return withVersions(cmd, func(cmd *cobra.Command, _ []string, p *serving.Publisher) error {
		infos, err := p.Versions(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return writeVersions(cmd.OutOrStdout(), infos)
		}
		return printVersions(cmd.OutOrStdout(), infos)
	})
}

func activateCommand() *cobra.Command {
	var otherData bool
	cmd := &cobra.Command{
		Use:     "activate VERSION",
		Short:   "Point CURRENT at a version that is in Redis already: roll back or forward",
		Args:    cobra.ExactArgs(1),
		Example: "  trainer versions\n  trainer activate 20261121T053540Z-3f9c1a2b",
	}
	cmd.Flags().BoolVar(&otherData, "other-data", false, otherDataUsage)
	return withVersions(cmd, func(cmd *cobra.Command, args []string, p *serving.Publisher) error {
		err := withOtherData(p.SetCurrent(cmd.Context(), args[0], otherData))
		if errors.Is(err, serving.ErrIncomplete) || artifact.ValidVersion(args[0]) != nil {
			return withThoseThere(cmd.Context(), p, args[0], err)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is CURRENT\n", args[0])
		return err
	})
}

// withThoseThere adds to an error about a version the versions that could be activated, and a similar name.
func withThoseThere(ctx context.Context, p *serving.Publisher, version string, err error) error {
	infos, failed := p.Versions(ctx)
	if failed != nil {
		return errors.Join(err, failed)
	}
	var names, said []string
	for _, v := range infos {
		if v.State != serving.Complete {
			continue
		}
		names = append(names, v.Version)
		if v.Current {
			said = append(said, v.Version+" (CURRENT)")
		} else {
			said = append(said, v.Version)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%w; no complete version is there, see trainer versions", err)
	}
	return fmt.Errorf("%w%s; complete versions are %s", err, spelling.DidYouMean(version, names), strings.Join(said, ", "))
}

func pruneCommand() *cobra.Command {
	var keep int
	cmd := &cobra.Command{Use: "prune", Short: "Remove old versions that neither CURRENT nor a consumer uses",
		Args: cobra.NoArgs, Example: "  trainer prune --keep 2"}
	cmd.Flags().IntVar(&keep, "keep", 1, "older versions to keep for rolling back")
	return withVersions(cmd, func(cmd *cobra.Command, _ []string, p *serving.Publisher) error {
		if keep < 0 {
			return fmt.Errorf("--keep is %d, want 0 or more", keep)
		}
		removed, err := p.Prune(cmd.Context(), keep)
		for _, version := range removed {
			fmt.Fprintln(cmd.OutOrStdout(), "removed", version)
		}
		return err
	})
}

// printVersions writes a line a version.
func printVersions(w io.Writer, infos []serving.VersionInfo) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VERSION\tSTATE\tCURRENT\tROWS\tPUBLISHED\tHELD BY")
	for _, v := range infos {
		current, published := "", ""
		if v.Current {
			current = "yes"
		}
		if !v.Published.IsZero() {
			published = v.Published.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\n", v.Version, v.State, current, v.Rows, published, v.Holders)
	}
	return t.Flush()
}
