package run

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/remote"
	"rivulet/artifact/signature"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/infer/target"
	"rivulet/internal/monitor"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/run/connect"
	"rivulet/serving"
)

// source gives versions: a [serving.Watcher], or a [serving.Pin], which has no Redis to report on.
type source interface {
	Current() *serving.Version
	Trouble() error
	StartOver()
	Losses() mapping.LossStats
	Forget(ctx context.Context, ids []string, known []bool) error
}

// versions is a source as the consumer asks for it; a nil *Version must not become a Version.
type versions struct{ source }

func (v versions) Current() consumer.Version {
	if current := v.source.Current(); current != nil {
		return current
	}
	return nil
}

// Trouble is the reason why there is no version yet, and what to do.
func (v versions) Trouble() error {
	err := v.source.Trouble()
	if v.source.Current() != nil {
		return nil
	}
	if errors.Is(err, serving.ErrNothingPublished) {
		err = fmt.Errorf("%w: trainer publish --artifact DIRECTORY with the same redis.url and redis.prefix", err)
	}
	return err
}

// name is the version that is served, "" before the first.
func (v versions) name() string {
	if current := v.source.Current(); current != nil {
		return current.ID()
	}
	return ""
}

// classes are the names of the serving version's classes, none before the first version.
func (v versions) classes() []string {
	if current := v.source.Current(); current != nil && current.Info().Task.Truth() == target.OneClass {
		return current.Info().Classes
	}
	return nil
}

// reference has training's measures of a version's data; false if another version serves or nothing was measured.
func (v versions) reference(version string) (monitor.Reference, bool) {
	current := v.source.Current()
	if current == nil || current.ID() != version {
		return monitor.Reference{}, false
	}
	r := monitor.Reference{Reference: current.Manifest().Reference, Model: current.Model()}
	return r, r.Nodes > 0
}

// cache has the counts of the serving version's cache.
func (v versions) cache() mapping.CacheStats {
	if current := v.source.Current(); current != nil {
		return current.RowStats()
	}
	return mapping.CacheStats{}
}

// arrivals counts the rows of arrivals of the version that is served; ok is false where they get none.
func (v versions) arrivals() (stats arrivals.Stats, ok bool) {
	if current := v.source.Current(); current != nil {
		return current.ArrivalStats()
	}
	return stats, false
}

// Pinned serves the artifact of a directory or an address, with M in this process's memory.
func Pinned(ctx context.Context, location string, choice serving.Options, log *slog.Logger) (consumer.Versions, error) {
	return pinned(ctx, location, "", choice, log)
}

// pinnedBy returns the artifact that the settings pin, with the model and the outputs that they choose.
func pinnedBy(
	ctx context.Context, cfg config.Consumer, log *slog.Logger, capabilities ...*target.Capability,
) (versions, error) {
	o, err := choice(cfg, capabilities...)
	if err != nil {
		return versions{}, err
	}
	return pinned(ctx, cfg.Artifact, cfg.Cache.Directory, o, log)
}

// pinned serves an artifact with M in memory, or in a file of a directory if one is named.
func pinned(ctx context.Context, location, directory string, choice serving.Options,
	log *slog.Logger) (versions, error) {
	from, err := remote.Open(ctx, location)
	if err != nil {
		return versions{}, err
	}
	var b *artifact.Bundle
	var rows *mapping.Memory
	if choice.Signers != nil {
		if err = signature.CheckDirectory(from.Dir, choice.Signers); err != nil {
			err = fmt.Errorf("artifact %s: %w", remote.Shown(location), err)
		}
	}
	if err == nil {
		b, rows, err = readPinned(ctx, from, directory, log)
	}
	if err = errors.Join(err, from.Remove()); err != nil {
		return versions{}, err
	}
	v, warnings, err := serving.New(b, rows.Shared(b.Manifest.MappingContent()), choice)
	if err != nil {
		return versions{}, err
	}
	for _, text := range warnings {
		log.Warn("serving an artifact in a way for which it was not made", "version", v.ID(), "reason", text)
	}
	return versions{serving.Pinned(v)}, nil
}

// readPinned reads an artifact, with its M in memory, or in a file of a directory. Where that file is there, M is not
// fetched.
func readPinned(ctx context.Context, from *remote.Artifact, directory string, log *slog.Logger) (b *artifact.Bundle,
	rows *mapping.Memory, err error) {
	if directory == "" {
		if err = from.Complete(ctx); err != nil {
			return nil, nil, err
		}
		if b, err = artifact.ReadAll(from.Dir); err == nil {
			rows = mapping.FromArtifact(b.Mapping)
		}
		return b, rows, err
	}
	if b, err = artifact.ReadServing(from.Dir); err == nil {
		rows, err = mapping.FromFile(ctx, directory, b.Manifest.MappingContent(), func() (*artifact.Bundle, error) {
			if err := from.Complete(ctx); err != nil {
				return nil, err
			}
			return artifact.Read(from.Dir)
		}, log)
	}
	return b, rows, err
}

// servedVersions returns the versions that a program serves: of Redis, followed in the background, or a pinned
// artifact. failed is told if following them fails. acl is the line of deploy/redis.acl with the program's rights.
// capabilities names the capabilities that the program needs beyond its settings'. end closes the connections.
func servedVersions(ctx context.Context, cfg config.Consumer, acl string, log *slog.Logger, background *services,
	failed context.CancelCauseFunc, capabilities ...*target.Capability) (from versions, end func(), err error) {
	if cfg.Artifact != "" {
		if from, err = pinnedBy(ctx, cfg, log, capabilities...); err != nil {
			return from, nil, err
		}
		log.Info("serving a pinned artifact", "version", from.name(), "artifact", remote.Shown(cfg.Artifact))
		return from, func() {}, nil
	}
	watcher, closeClient, err := follower(cfg, log, capabilities...)
	if err != nil {
		return from, nil, err
	}
	end = func() { _ = closeClient() }
	// A published version serves at once. For one that is not there or not reachable yet the watcher waits, and logs so
	// once; meanwhile nothing is predicted, and requests are answered 503.
	if err := watcher.Load(ctx); ctx.Err() == nil && mapping.Refused(err) {
		end()
		return from, nil, connect.Advised(err, acl)
	}
	background.startVital(ctx, failed, watcher.Run)
	return versions{watcher}, end, nil
}

// capabilities returns the capabilities that the settings ask for, and that some tasks lack ([target.Task.Require]).
func capabilities(cfg config.Consumer) (used []*target.Capability) {
	for _, of := range []struct {
		capability *target.Capability
		used       bool
	}{
		{target.TopK, cfg.Output.TopK > 0}, {target.Probabilities, cfg.Output.Probabilities},
		{target.LabelsTopic, cfg.Labels.Topic != ""},
	} {
		if of.used {
			used = append(used, of.capability)
		}
	}
	return used
}

// choice returns the model, attachment and outputs that the settings choose. more are capabilities that a program needs
// beside them.
func choice(cfg config.Consumer, more ...*target.Capability) (serving.Options, error) {
	signers, err := signersOf(cfg.VerifyKey)
	return serving.Options{Signers: signers, Model: cfg.Model, Attachment: cfg.Attachment,
			Calibration:    cfg.Calibration,
			Representation: cfg.Output.Representation, Coverage: cfg.Output.Coverage, Explain: cfg.Output.Explain > 0,
			Capabilities: append(more, capabilities(cfg)...),
			Growth: serving.GrowthOptions{On: cfg.Attach.Arrivals == config.On, TTL: cfg.Attach.TTL, MaxRows: cfg.Attach.MaxRows,
				MaxBytes: int64(cfg.Attach.MaxBytes), Degrade: cfg.Redis.Outage == config.Degrade}},
		err
}

// signersOf reads a file of public keys ([serving.Options.Signers]); nil: no file is named.
func signersOf(file string) ([]ed25519.PublicKey, error) {
	if file == "" {
		return nil, nil
	}
	text, err := connect.ReadSmall(file)
	if err != nil {
		return nil, fmt.Errorf("verify_key_file: %w", err)
	}
	keys, err := signature.PublicKeys(text)
	if err != nil {
		return nil, fmt.Errorf("verify_key_file is %q: %w", file, err)
	}
	return keys, nil
}

// output returns the fields of predictions that the settings ask for.
func output(cfg config.Output) consumer.Output {
	return consumer.Output{TopK: cfg.TopK, Probabilities: cfg.Probabilities, Logits: cfg.Logits,
		Representation: cfg.Representation, Explain: cfg.Explain, ExplainIDs: cfg.ExplainIDs}
}

// follower makes the watcher of a consumer, which follows CURRENT unless the settings name a version.
func follower(
	cfg config.Consumer, log *slog.Logger, capabilities ...*target.Capability,
) (*serving.Watcher, func() error, error) {
	serve, err := choice(cfg, capabilities...)
	if err != nil {
		return nil, nil, err
	}
	client, err := connect.Redis(cfg.Redis.RedisServer)
	if err != nil {
		return nil, nil, err
	}
	guard := mapping.NewGuard(mapping.GuardOptions{Failures: cfg.Redis.Breaker.Failures,
		OpenFor: cfg.Redis.Breaker.OpenFor,
		Degrade: cfg.Redis.Outage == config.Degrade, Log: log})
	w, err := serving.NewWatcher(client, serving.WatcherOptions{Prefix: cfg.Redis.Prefix, Consumer: instance(),
		Version:  cfg.Version,
		Interval: cfg.Redis.PollInterval, HoldFor: cfg.Redis.HeartbeatTTL, CacheBytes: int64(cfg.Cache.Bytes),
		LookupTimeout: cfg.Redis.LookupTimeout, Guard: guard, Serve: serve, Clock: consumer.SystemClock{}, Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("following CURRENT: %w", err)
	}
	return w, client.Close, nil
}

// instance names this process among others on this and other hosts.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return net.JoinHostPort(host, strconv.Itoa(os.Getpid())) + "@" + strconv.FormatInt(time.Now().UnixNano(), 36)
}
