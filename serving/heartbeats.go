package serving

import (
	"context"
	"fmt"
	"slices"
	"time"
	"weak"

	"rivulet/mapping"
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// heartbeats holds the versions that this process may still read from, with their heartbeats. The pointers are
// weak: a version is in use as long as the watcher refers to it as the current one, or a batch that
// began before a switch does.
type heartbeats struct {
	client  mapping.Client
	keys    keyspace.Keys
	by      string
	holdFor time.Duration

	versions []use
	held     []string // versions that have, or may have, a heartbeat of this process
}

type use struct {
	version string
	pointer weak.Pointer[Version]
}

func (u *heartbeats) add(v *Version) {
	u.versions = append(u.versions, use{v.ID(), weak.Make(v)})
}

// names returns the versions in use, each once.
func (u *heartbeats) names() (names []string) {
	u.versions = slices.DeleteFunc(u.versions, func(of use) bool { return of.pointer.Value() == nil })
	for _, of := range u.versions {
		if !slices.Contains(names, of.version) {
			names = append(names, of.version)
		}
	}
	return names
}

// beat sends the heartbeats of all versions in use, and of wanted if it is not "", and releases versions that are no
// longer in use. It returns the id of wanted's marker, "" if it has none. If Redis takes no writes, so that versions
// are not removed either, it returns the id with an error ([mapping.TakesNoWrites]).
func (u *heartbeats) beat(ctx context.Context, wanted string) (id string, err error) {
	names := u.names()
	if wanted != "" && !slices.Contains(names, wanted) {
		names = append(names, wanted)
	}
	over := slices.DeleteFunc(slices.Clone(u.held), func(name string) bool { return slices.Contains(names, name) })
	if err := u.forget(ctx, over); err != nil && !mapping.TakesNoWrites(err) {
		return "", err
	}
	if len(names) == 0 {
		return "", nil
	}
	u.held = names // set before the attempt, because its answer may be lost
	keysOf, args := []string{u.keys.Holders}, []any{u.holdFor.Milliseconds()}
	for _, name := range names {
		keysOf = append(keysOf, u.keys.Complete(name))
		args = append(args, keyspace.Holder(name, u.by))
	}
	ids, err := script.Hold.Run(ctx, u.client, keysOf, args...).StringSlice()
	if mapping.TakesNoWrites(err) && wanted != "" {
		found, failed := u.client.HGet(ctx, u.keys.Complete(wanted), mapping.MarkerField).Result()
		if !mapping.Failed(failed) {
			return found, fmt.Errorf("sending the heartbeat: %w", err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("sending the heartbeat: %w", err)
	}
	if at := slices.Index(names, wanted); at >= 0 {
		id = ids[at]
	}
	return id, nil
}

func (u *heartbeats) forget(ctx context.Context, versions []string) error {
	if len(versions) == 0 {
		return nil
	}
	var members []any
	for _, version := range versions {
		members = append(members, keyspace.Holder(version, u.by))
	}
	if err := u.client.ZRem(ctx, u.keys.Holders, members...).Err(); err != nil {
		return fmt.Errorf("releasing %v: %w", versions, err)
	}
	u.held = slices.DeleteFunc(slices.Clone(u.held), func(name string) bool { return slices.Contains(versions, name) })
	return nil
}
