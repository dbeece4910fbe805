package connect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"rivulet/consumer"
	"rivulet/mapping"
)

// Names of the lines of deploy/redis.acl.
const (
	ConsumerACL = "rivulet-consumer"
	TrainerACL  = "rivulet-trainer"
	ServeACL    = "rivulet-serve"
	PageACL     = "rivulet-page"
	featuresACL = "rivulet-features" // reads features by id
	fillACL     = "rivulet-fill"     // writes them
	forgetACL   = "rivulet-forget"   // reads and removes them
)

// Advised adds advice to an error by which Redis refuses this client ([mapping.Refused]); it returns any other error
// unchanged. line is the line of deploy/redis.acl with the rights that the program needs.
func Advised(err error, line string) error {
	if errors.Is(err, consumer.ErrFeatures) { // another Redis, whose client has Advised
		return err
	}
	return withAdvice(err, RedisAdvice(err, line))
}

// withAdvice adds advice to an error, if there is any.
func withAdvice(err error, do string) error {
	if do == "" {
		return err
	}
	return fmt.Errorf("%w -> %s", err, do)
}

// command finds the command that an ACL does not allow.
var command = regexp.MustCompile(`run the '([^']+)' command`)

// RedisAdvice returns the advice for a refusal by Redis, "" if err is none.
func RedisAdvice(err error, line string) string {
	return redisServer{"redis.url", "under redis.prefix, ~PREFIX:* and ~{PREFIX}:*", line}.advice(err)
}

// redisServer names a Redis in advice: the setting of its URL, the keys that a user needs, and the line of
// deploy/redis.acl with the rights.
type redisServer struct{ url, keys, line string }

// advice returns the advice for a refusal by this Redis, "" if err is none.
func (r redisServer) advice(err error) string {
	switch {
	case errors.Is(err, mapping.ErrFull), mapping.TakesNoWrites(err) && strings.Contains(err.Error(), "OOM"):
		return "give Redis more memory (maxmemory), or remove versions: trainer prune"
	case mapping.TakesNoWrites(err):
		return "let Redis take writes again: INFO persistence and INFO replication say why it does not"
	case !mapping.Refused(err):
		return ""
	}
	text := err.Error()
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case errors.Is(err, mapping.ErrEvicts):
		return "set it to noeviction (maxmemory-policy in redis.conf, CONFIG SET, or the parameters of a managed " +
			"service), or use another Redis: one that is a cache would lose rows without a word"
	case has("WRONGTYPE"):
		return "another program has written this key: remove the version (trainer prune) and publish the artifact again"
	case errors.Is(err, mapping.ErrDamaged):
		return "publish the artifact again, under a new version where arrivals have rows"
	case errors.Is(err, redis.ErrClosed):
		return "this is a mistake in the program: it closed its client of Redis while it was in use"
	case has("NOAUTH"):
		return "set redis.password or redis.password_file, and redis.username unless the user is the default one; or " +
			"give both in " + r.url
	case has("WRONGPASS", "invalid password", "AUTH "):
		return "correct redis.username and redis.password (or redis.password_file, or both in " + r.url +
			"); this is not about ACLs. " +
			"Where a password is changed, let Redis take both until all clients have the new one (ACL SETUSER user >new)"
	case has("NOPERM", "ACL failure", "executing the script"):
		allow := "let its user use all keys " + r.keys
		if found := command.FindStringSubmatch(text); found != nil {
			allow = "allow it: ACL SETUSER user +" + found[1]
		}
		return allow + "; the line of " + r.line + " in deploy/redis.acl has all rights that are needed"
	case has("MOVED ", "ASK "):
		return "the server is a node of a cluster: set redis.cluster"
	case has("CROSSSLOT", "cluster support disabled", "SELECT is not allowed"):
		return "set redis.cluster to whether the server is a node of a cluster; a cluster has database 0 alone"
	case has("DB index"):
		return "correct the number of the database at the end of " + r.url
	case has("DENIED"):
		return "give Redis a password, or turn its protected mode off"
	}
	return "this Redis does not take the command: it is too old, or its operator took the command away"
}
