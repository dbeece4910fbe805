package arrivals

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/mapping"
)

// settings are the values that all consumers of a version must share to find each other's rows.
type settings struct {
	ttl     time.Duration // whole milliseconds; 0: rows live as long as the version
	buckets int
}

// Fields of the hash at Table.Keys. A hash of an older release has no seal, and gets one.
const (
	fieldTTL     = "ttl_ms"
	fieldBuckets = "buckets"
	fieldSeal    = "seal"
)

// agree writes the settings that are missing, in one step, and returns all of them.
//
//	KEYS  the hash
//	ARGV  field, value, field, value, …
//	->    the values of these fields
var agree = redis.NewScript(`
local values = {}
for i = 1, #ARGV, 2 do
  redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1])
  values[#values + 1] = redis.call('HGET', KEYS[1], ARGV[i])
end
return values
`)

// fields are the texts of settings as they are stored.
func (s settings) fields(t *Table) [3]string {
	ttl, buckets := strconv.FormatInt(s.ttl.Milliseconds(), 10), strconv.Itoa(s.buckets)
	return [3]string{ttl, buckets, sealOf(t, ttl, buckets)}
}

func sealOf(t *Table, ttl, buckets string) string {
	return fmt.Sprintf("%08x", sum(t.rowSeed(), fieldSeal, []byte(ttl+" "+buckets)))
}

// agree takes the settings that the version's consumers have agreed on; the first consumer's are its own.
func (a *Rows) agree(ctx context.Context) error {
	at, err := a.standing(ctx, growth.Fence{})
	if err != nil {
		return err
	}
	own := settings{a.o.TTL.Truncate(time.Millisecond), bucketsFor(a.o.MaxRows)}
	stored, err := storedSettings(ctx, a.client, &a.table)
	if err != nil {
		return fmt.Errorf("reading their settings: %w", err)
	}
	ours := own.fields(&a.table)
	if none := stored == [3]string{}; none || stored[2] == "" && stored[0] != "" && stored[1] != "" {
		next := ours
		if !none { // HSETNX leaves them as they are
			next[2] = sealOf(&a.table, stored[0], stored[1])
		}
		answer, err := runScript(ctx, a.client, agree, []string{a.table.Keys}, []any{fieldTTL, next[0], fieldBuckets,
			next[1], fieldSeal, next[2]}).StringSlice()
		switch {
		case err == nil:
			stored = [3]string(answer)
		case none || !mapping.TakesNoWrites(err):
			return fmt.Errorf("writing their settings: %w", err)
		}
	}
	agreed, err := parseSettings(stored, &a.table)
	if errors.Is(err, mapping.ErrDamaged) && stored[2] == ours[2] { // they were the same as this one's
		a.damage(&a.saidRow, "the settings of the rows of arrivals were damaged, and are written again", "error", err)
		agreed, err = own, a.client.HSet(ctx, a.table.Keys, fieldTTL, ours[0], fieldBuckets, ours[1]).Err()
		if mapping.TakesNoWrites(err) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if agreed.ttl != own.ttl {
		a.o.Log.Warn("rows of arrivals of this version expire by the TTL of its first consumer", "ttl", agreed.ttl,
			"configured", a.o.TTL)
	}
	a.settings = agreed
	a.epoch.Store(epochAt(at.now, a.ttl))
	a.forgotten.Store(at.forgotten)
	return nil
}

// storedSettings returns the fields of a version's settings, "" for a missing one.
func storedSettings(ctx context.Context, client mapping.Client, t *Table) (fields [3]string, err error) {
	values, err := client.HMGet(ctx, t.Keys, fieldTTL, fieldBuckets, fieldSeal).Result()
	for k, value := range values {
		fields[k], _ = value.(string)
	}
	return fields, err
}

// maxBuckets bounds the work that a damaged key can cause.
const maxBuckets = 1 << 28

// parseSettings reads stored settings and compares them with their seal, if they have one.
func parseSettings(fields [3]string, t *Table) (s settings, err error) {
	damaged := func(format string, args ...any) (settings, error) {
		return settings{}, mapping.Damaged{Reason: fmt.Errorf("%s: "+format, append([]any{t.Keys}, args...)...)}
	}
	var numbers [2]int64
	const longest = int64(1<<63-1) / int64(2*time.Millisecond)
	for k, name := range []string{fieldTTL, fieldBuckets} {
		least, most := int64(k), []int64{longest, maxBuckets}[k]
		if numbers[k], err = strconv.ParseInt(fields[k], 10, 64); err != nil || numbers[k] < least || numbers[k] > most {
			return damaged("%s is %q, want a number from %d to %d", name, fields[k], least, most)
		}
	}
	if want := sealOf(t, fields[0], fields[1]); fields[2] != "" && fields[2] != want {
		return damaged("%s %s and %s %s have the checksum %s, their seal says %q", fieldTTL, fields[0], fieldBuckets,
			fields[1], want, fields[2])
	}
	return settings{time.Duration(numbers[0]) * time.Millisecond, int(numbers[1])}, nil
}
