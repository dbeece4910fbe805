package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/test/harness"
)

func TestRedis(t *testing.T) {
	open, locked, secure := miniredis.RunT(t), miniredis.RunT(t), miniredis.NewMiniRedis()
	locked.RequireUserAuth("me", "word")
	if err := secure.StartTLS(harness.NewAuthority(t).Server()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(secure.Close)
	well := func(context.Context) (string, error) { return "v1 can be served", nil }
	missing := func(context.Context) (string, error) { return "", errors.New("no version is published") }
	forbidden := func(context.Context) (string, error) {
		return "", errors.New("reading CURRENT: NOPERM User me has no permissions to access one of the keys")
	}
	const skipped = "skipped redis version: Redis cannot be asked"
	for name, c := range map[string]struct {
		url  string
		load func(context.Context) (string, error)
		want []string
	}{
		"well": {"redis://" + open.Addr(), well, []string{"ok redis", "ok noeviction", "ok v1 can be served"}},
		"no version": {"redis://" + open.Addr(), missing,
			[]string{"ok redis", "ok noeviction", "FAILED no version is published -> publish a version"}},
		"missing ACL": {"redis://" + open.Addr(), forbidden,
			[]string{"ok redis", "ok noeviction", "FAILED reading CURRENT: NOPERM User me has no permissions to access one of " +
				"the keys -> advice"}},
		"logged in": {"redis://me:word@" + locked.Addr(), well, []string{"ok redis", "ok noeviction", "ok v1"}},
		"wrong password": {"redis://me:other@" + locked.Addr(), well,
			[]string{"FAILED WRONGPASS invalid username-password pair -> advice", skipped}},
		"no password": {"redis://" + locked.Addr(), well, []string{"FAILED NOAUTH Authentication required. -> advice", skipped}},
		"refused": {"redis://" + unused(t), well, []string{"FAILED connection refused -> start it, or correct the address",
			skipped}},
		"unknown host": {"redis://no-such-host.invalid:6379", well, []string{"FAILED -> correct the name, or make it known",
			skipped}},
		"foreign": {"rediss://" + secure.Addr(), well,
			[]string{"FAILED signed by unknown authority -> set redis.tls.ca_file", skipped}},
		"TLS to plaintext": {"rediss://" + open.Addr(), well,
			[]string{"FAILED whether it speaks TLS: redis.url begins with rediss:// then", skipped}},
		"plaintext to TLS": {"redis://" + secure.Addr(), well,
			[]string{"FAILED whether it speaks TLS: redis.url begins with rediss:// then", skipped}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := redis.ParseURL(c.url)
			if err != nil {
				t.Fatal(err)
			}
			o.MaxRetries, o.ReadTimeout = -1, time.Second
			client := redis.NewClient(o)
			defer client.Close()
			var got []string
			r := Redis{Client: client, Address: c.url, Memory: func(context.Context) (string, error) {
				return "noeviction", nil
			}, Load: c.load, Advice: func(err error) string {
				if slices.ContainsFunc([]string{"WRONGPASS", "NOAUTH", "NOPERM"}, func(code string) bool {
					return strings.Contains(err.Error(), code)
				}) {
					return "advice"
				}
				return ""
			}, Timeout: 3 * time.Second}
			r.Run(t.Context(), func(r Result) { got = append(got, r.String()) })
			expectLines(t, got, c.want...)
		})
	}
}
