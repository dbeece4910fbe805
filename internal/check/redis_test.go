package check

import (
	"context"
	"errors"
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
	const skipped = "skipped version: Redis cannot be asked"
	for name, c := range map[string]struct {
		url  string
		load func(context.Context) (string, error)
		want []string
	}{
		"well": {"redis://" + open.Addr(), well, []string{"ok redis", "ok noeviction", "ok v1 can be served"}},
		"no version": {"redis://" + open.Addr(), missing,
			[]string{"ok redis", "ok noeviction", "FAILED no version is published -> publish a version"}},
		"missing ACL": {"redis://" + open.Addr(), forbidden,
			[]string{"ok redis", "ok noeviction", "FAILED missing ACL: reading CURRENT: NOPERM"}},
		"logged in": {"redis://me:word@" + locked.Addr(), well, []string{"ok redis", "ok noeviction", "ok v1"}},
		"wrong password": {"redis://me:other@" + locked.Addr(), well,
			[]string{"FAILED wrong password or unknown user", skipped}},
		"no password": {"redis://" + locked.Addr(), well, []string{"FAILED it wants a password", skipped}},
		"refused": {"redis://" + unused(t), well, []string{"FAILED unreachable: the connection is refused",
			skipped}},
		"unknown host": {"redis://no-such-host.invalid:6379", well, []string{"FAILED unreachable: ", skipped}},
		"foreign": {"rediss://" + secure.Addr(), well,
			[]string{"FAILED which is not trusted here -> set redis.tls.ca_file", skipped}},
		"TLS to plaintext": {"rediss://" + open.Addr(), well,
			[]string{"FAILED it closes the connection: EOF -> look whether this port speaks TLS", skipped}},
		"plaintext to TLS": {"redis://" + secure.Addr(), well,
			[]string{"FAILED whether this port speaks TLS where TLS is tried", skipped}},
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
			}, Load: c.load, Advice: func(error) string { return "" }, Timeout: 3 * time.Second}
			r.Run(t.Context(), func(r Result) { got = append(got, r.String()) })
			expect(t, got, c.want...)
		})
	}
}
