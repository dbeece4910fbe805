package versions

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rivulet/artifact"
	"rivulet/artifact/remote"
	"rivulet/artifact/signature"
	"rivulet/config"
	"rivulet/internal/cli"
	"rivulet/run/connect"
	"rivulet/serving"
)

func publishCommand() *cobra.Command {
	var keep int
	var expect, key string
	var otherData, activate bool
	cmd := &cobra.Command{
		Use:   "publish --artifact DIR",
		Short: "Publish an artifact to Redis and point CURRENT at it",
		Long: "publish writes the rows of M, then the serving part of the artifact, then a complete marker, and last sets\n" +
			"CURRENT if nobody else has moved it. After an interruption run it again, and it continues where it stopped.\n" +
			"Versions that are older than the --keep last ones and that no consumer uses are removed. An artifact is\n" +
			"refused that predicts no finite numbers for its own synthetic nodes and, unless --other-data is given, one\n" +
			"of other data than the version that serves: other features, classes or ids. With --activate=false CURRENT\n" +
			"stays: consumers whose setting version names the new version try it beside the one that serves, and\n" +
			"trainer activate makes it CURRENT. If nobody serves it, prune removes it after a day.\n" +
			"An M of more than 262,144 rows is not read into memory: it takes temporary files of the size of its rows in\n" +
			"Redis, in the directory that TMPDIR names.",
		Args: cobra.NoArgs,
		Example: "  trainer publish --artifact out/small --redis redis://localhost:6379/0\n" +
			"  trainer publish --artifact out/next --activate=false",
	}
	flags := cmd.Flags()
	config.Flags[config.Publish](flags)
	config.Alias(flags, map[string]string{"redis": "redis.url"})
	flags.IntVar(&keep, "keep", 1,
		"older versions to keep for rolling back; -1: all. With --activate=false none is removed, whatever this says")
	flags.StringVar(&expect, "expect", "",
		"version that CURRENT must name now, or - for none; empty: the one that it names at the start")
	flags.BoolVar(&otherData, "other-data", false, otherDataUsage)
	flags.StringVar(&key, "sign", "",
		"PEM file of a private key of Ed25519 that signs the manifest, for consumers with verify_key_file")
	flags.BoolVar(&activate, "activate", true, "make it CURRENT; false: CURRENT stays, and no older version is removed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Publish](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		var bundle *artifact.Bundle
		var remove func() error
		if err := cli.During("reading the artifact", func() (err error) {
			bundle, remove, err = read(cmd.Context(), cfg.Artifact)
			return err
		}); err != nil {
			return err
		}
		defer func() { _ = remove() }()
		lines := cli.Stderr()
		o := serving.PublishOptions{Keep: keep, OtherData: otherData, Inactive: !activate,
			Progress: func(done, total int) { lines.Step("publishing rows of M", done, total) }}
		o.Warn = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "warning:", text) }
		if key != "" {
			if o.Sign, err = signature.PrivateKeyOf(key); err != nil {
				return fmt.Errorf("--sign %s: %w", key, err)
			}
		}
		switch {
		case keep < -1:
			return fmt.Errorf("--keep is %d, want 1 or more, or -1 for all", keep)
		case keep == 0 && activate:
			return fmt.Errorf("--keep is 0, want 1 or more, or -1 for all: there would be nothing to roll back to")
		}
		switch expect {
		case "":
		case "-":
			o.Expect = new(string)
		default:
			o.Expect = &expect
		}
		return connect.WithPublisher(cfg.Redis, func(p *serving.Publisher) error {
			if err := p.Publish(cmd.Context(), bundle, o); err != nil {
				return withOtherData(err)
			}
			said := "is CURRENT"
			if !activate {
				said = "is published, and CURRENT stays as it is,"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s under prefix %s\n", bundle.Manifest.Version, said,
				cfg.Redis.Prefix)
			return err
		})
	}
	return cmd
}

// read reads an artifact from a directory or an address. An M in parts stays in its files until remove is called.
func read(ctx context.Context, location string) (b *artifact.Bundle, remove func() error, err error) {
	from, err := remote.Open(ctx, location)
	if err != nil {
		return nil, nil, err
	}
	if err = from.Complete(ctx); err == nil {
		b, err = artifact.Read(from.Dir)
	}
	if err != nil {
		return nil, nil, errors.Join(err, from.Remove())
	}
	return b, from.Remove, nil
}

// otherDataUsage is the help of --other-data.
const otherDataUsage = "let the version follow one that was made of other data: other features, classes or ids"

// withOtherData adds to an error about other data how that is allowed.
func withOtherData(err error) error {
	if errors.As(err, new(*serving.OtherDataError)) {
		return fmt.Errorf("%w. Give --other-data if that is meant", err)
	}
	return err
}
