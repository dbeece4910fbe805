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
	"rivulet/internal/app"
	"rivulet/internal/cli"
	"rivulet/serving"
)

func publishCommand() *cobra.Command {
	var keep int
	var expect, key string
	var otherData, candidate bool
	cmd := &cobra.Command{
		Use:   "publish --artifact DIR",
		Short: "Publish an artifact to Redis and point CURRENT at it",
		Long: "publish writes the rows of M, then the serving part of the artifact, then a complete marker, and last sets\n" +
			"CURRENT if nobody else has moved it. After an interruption run it again, and it continues where it stopped.\n" +
			"Versions that are older than the --keep last ones and that no consumer uses are removed. An artifact is\n" +
			"refused that predicts no finite numbers for its own synthetic nodes and, unless --other-data is given, one\n" +
			"of other data than the version that serves: other features, classes or ids. With --candidate CANDIDATE is\n" +
			"set in place of CURRENT: consumers try the version beside the one that serves, and trainer promote or abort\n" +
			"ends that.\n" +
			"An M of more than 262,144 rows is not read into memory: it takes temporary files of the size of its rows in\n" +
			"Redis, in the directory that TMPDIR names.",
		Args: cobra.NoArgs,
		Example: "  trainer publish --artifact out/small --redis redis://localhost:6379/0\n" +
			"  trainer publish --artifact out/next --candidate",
	}
	flags := cmd.Flags()
	config.Flags[config.Publish](flags)
	config.Alias(flags, map[string]string{"redis": "redis.url"})
	flags.IntVar(&keep, "keep", 1, "older versions to keep for rolling back; -1: all")
	flags.StringVar(&expect, "expect", "",
		"version that CURRENT must name now, or - for none; empty: the one that it names at the start")
	flags.BoolVar(&otherData, "other-data", false, otherDataUsage)
	flags.StringVar(&key, "sign", "",
		"PEM file of a private key of Ed25519 that signs the manifest, for consumers with verify_key_file")
	flags.BoolVar(&candidate, "candidate", false, "make it a candidate in place of CURRENT, beside those that there are")
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
		o := serving.PublishOptions{Keep: keep, OtherData: otherData, Candidate: candidate,
			Progress: func(done, total int) { lines.Step("publishing rows of M", done, total) }}
		o.Warn = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "warning:", text) }
		if key != "" {
			if o.Sign, err = signature.PrivateKeyOf(key); err != nil {
				return fmt.Errorf("--sign %s: %w", key, err)
			}
		}
		if keep == 0 {
			return fmt.Errorf("--keep is 0, want 1 or more, or -1 for all: there would be nothing to roll back to")
		}
		if candidate && cmd.Flags().Changed("keep") {
			return errors.New("--keep is given with --candidate, which removes no version: old ones stay until one is CURRENT")
		}
		switch expect {
		case "":
		case "-":
			o.Expect = new(string)
		default:
			o.Expect = &expect
		}
		return app.WithPublisher(cfg.Redis, func(p *serving.Publisher) error {
			if err := p.Publish(cmd.Context(), bundle, o); err != nil {
				return withOtherData(err)
			}
			place := "CURRENT"
			if candidate {
				place = "CANDIDATE"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is %s under prefix %s\n", bundle.Manifest.Version, place,
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

func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify --artifact DIR",
		Short: "Compare a published version with its artifact, byte by byte",
		Long: "verify reads the rows of M and the files of a complete version from Redis, compares them with the\n" +
			"artifact, and names the first one that is missing or damaged. It changes nothing; trainer publish with\n" +
			"the same artifact mends a version.",
		Args:    cobra.NoArgs,
		Example: "  trainer verify --artifact out/small --redis redis://localhost:6379/0",
	}
	config.Flags[config.Publish](cmd.Flags())
	config.Alias(cmd.Flags(), map[string]string{"redis": "redis.url"})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Publish](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		bundle, remove, err := read(cmd.Context(), cfg.Artifact)
		if err != nil {
			return err
		}
		defer func() { _ = remove() }()
		lines := cli.Stderr()
		o := serving.PublishOptions{Progress: func(done, total int) { lines.Step("comparing rows of M", done, total) }}
		return app.WithPublisher(cfg.Redis, func(p *serving.Publisher) error {
			if err := p.Verify(cmd.Context(), bundle, o); err != nil {
				return err
			}
			m := &bundle.Manifest
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is in Redis as in the artifact: %d rows of M and all files\n",
				m.Version, m.Mapping.Rows)
			return err
		})
	}
	return cmd
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
