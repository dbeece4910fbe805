package serving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// State is the stage of a version's life.
type State string

// The states.
const (
	Writing  State = "writing"  // being published, or interrupted while it was
	Complete State = "complete" // has its marker: may be served
	Deleting State = "deleting" // out of use, its data are being removed
)

// VersionInfo is one version in Redis.
type VersionInfo struct {
	Version    string
	State      State
	Serial     int64
	Content    string // SHA-256 of its files, hex; "" while it is deleted
	Current    bool   // CURRENT names it
	Rows       int    // rows of M
	Synthetic  int    // N'
	FileBytes  int64  // size of the files except M
	Holders    []string
	Begun      time.Time // all by Redis' clock; zero if it has not happened
	Published  time.Time
	LastServed time.Time // when it last became CURRENT, or stopped being it

	id   string
	meta keyspace.Meta
}

// Versions lists the versions in Redis, oldest first. Only holders with a live heartbeat are listed.
func (p *Publisher) Versions(ctx context.Context) ([]VersionInfo, error) {
	infos, err := p.versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing versions: %w", err)
	}
	slices.SortFunc(infos, func(a, b VersionInfo) int { return cmp.Compare(a.Serial, b.Serial) })
	return infos, nil
}

func (p *Publisher) versions(ctx context.Context) (infos []VersionInfo, err error) {
	current, err := p.Current(ctx)
	if err != nil {
		return nil, err
	}
	holders, err := p.liveHolders(ctx)
	if err != nil {
		return nil, err
	}
	names, err := p.client.SMembers(ctx, p.keys.Versions).Result()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		info, err := p.version(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", name, err)
		}
		if info == nil {
			continue // removed since
		}
		info.Current, info.Holders = name == current, holders[name]
		infos = append(infos, *info)
	}
	return p.appendDeleting(ctx, infos)
}

func (p *Publisher) appendDeleting(ctx context.Context, infos []VersionInfo) ([]VersionInfo, error) {
	left, err := p.client.HGetAll(ctx, p.keys.Deleting).Result()
	if err != nil {
		return nil, err
	}
	for field, text := range left {
		version, serial, err := keyspace.SplitPending(field)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.keys.Deleting, err)
		}
		m, err := keyspace.ParseMeta(text)
		if err != nil {
			return nil, fmt.Errorf("%s: field %q: %w", p.keys.Deleting, field, err)
		}
		infos = append(infos, newInfo(version, Deleting, keyspace.Publication{Serial: serial, Meta: m}))
	}
	return infos, nil
}

// version reads one version's key and returns nil if there is none.
func (p *Publisher) version(ctx context.Context, name string) (*VersionInfo, error) {
	for _, at := range []struct {
		state State
		key   string
		// in this order, so that a version that completes meanwhile is not missed
	}{{Writing, p.keys.Writing(name)}, {Complete, p.keys.Complete(name)}} {
		f, err := p.client.HGetAll(ctx, at.key).Result()
		if err != nil {
			return nil, err
		}
		if len(f) == 0 {
			continue
		}
		found, err := keyspace.Parse(f["generation"], f["content"], f["meta"])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at.key, err)
		}
		info := newInfo(name, at.state, found)
		info.Begun, info.Published, info.LastServed = millis(f["begun_ms"]), millis(f["published_ms"]),
			millis(f["current_ms"])
		return &info, nil
	}
	return nil, nil
}

func newInfo(version string, state State, p keyspace.Publication) VersionInfo {
	info := VersionInfo{
		Version: version, State: state, Serial: p.Serial, Content: p.Content,
		Rows: p.Meta.Rows, Synthetic: p.Meta.Synthetic, id: p.ID(), meta: p.Meta,
	}
	for _, f := range p.Meta.Files {
		info.FileBytes += f.Bytes
	}
	return info
}

// millis reads a time that is shown to people and orders versions; an unreadable one counts as never.
func millis(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// liveHolders returns the holders with a live heartbeat by version.
func (p *Publisher) liveHolders(ctx context.Context) (map[string][]string, error) {
	members, err := script.Living.Run(ctx, p.client, []string{p.keys.Holders}).StringSlice()
	if err != nil {
		return nil, err
	}
	holders := map[string][]string{}
	for _, member := range members {
		version, by := keyspace.SplitHolder(member)
		holders[version] = append(holders[version], by)
	}
	for _, by := range holders {
		slices.Sort(by)
	}
	return holders, nil
}
