package forget

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// name is an id that will be forgotten, wherever it stands in a key or a value.
var name = regexp.MustCompile(`[\w-]*` + mark + `[a-z-]+-\d+`)

// Find returns the ids of this package in all keys and values of a Redis. Keys that expire meanwhile are passed over.
func Find(ctx context.Context, client *redis.Client) (ids []string, err error) {
	var text strings.Builder
	for keys := client.Scan(ctx, 0, "", 1000).Iterator(); ; {
		if !keys.Next(ctx) {
			err = keys.Err()
			break
		}
		key := keys.Val()
		all, failed := values(ctx, client, key)
		if failed != nil && !errors.Is(failed, redis.Nil) {
			return nil, failed
		}
		text.Reset()
		for _, part := range append(all, key) {
			text.WriteString(part)
			text.WriteByte(0)
		}
		if strings.Contains(text.String(), mark) {
			ids = append(ids, name.FindAllString(text.String(), -1)...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// values returns all values below a key.
func values(ctx context.Context, client *redis.Client, key string) (all []string, err error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "string":
		one, err := client.Get(ctx, key).Result()
		return []string{one}, err
	case "hash":
		fields, err := client.HGetAll(ctx, key).Result()
		for field, value := range fields {
			all = append(all, field, value)
		}
		return all, err
	case "set":
		return client.SMembers(ctx, key).Result()
	case "zset":
		return client.ZRange(ctx, key, 0, -1).Result()
	case "list":
		return client.LRange(ctx, key, 0, -1).Result()
	case "none": // it has expired
		return nil, nil
	}
	return nil, errors.New("a key of type " + kind + ": " + key)
}
