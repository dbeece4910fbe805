package mapping

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Unavailable reports whether rows could not be read because Redis could not be reached, did not answer
// in time, or answered that it cannot serve now. Other errors do not count: missing rights, a version
// that vanished, a damaged row.
func Unavailable(err error) bool {
	var answer redis.Error
	switch {
	case err == nil, errors.Is(err, ErrVanished), errors.Is(err, ErrDamaged), Refused(err):
		return false
	case errors.As(err, &answer):
		return startsWith(err, notNow)
	}
	return true
}

// notNow lists the beginnings of answers of a server that cannot serve now. Redirections are among them, because one
// may be left after the last retry.
var notNow = []string{"LOADING ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ", "READONLY ", "BUSY ", "MOVED ",
	"ASK ", "max number of clients"}

// Refused reports whether Redis refuses this client: rights are missing, user or password are wrong, or the client uses
// something that this server lacks. Waiting does not help; somebody must change a setting or the server's ACL. A client
// that was closed while it was needed counts, too.
func Refused(err error) bool { return never(err) || startsWith(err, badLogin) }

// never is Refused without refused logins.
func never(err error) bool {
	return errors.As(err, new(Refusal)) || errors.Is(err, redis.ErrClosed) || startsWith(err, notEver)
}

// notEver lists the beginnings of answers that no waiting changes, without a leading "ERR ".
var notEver = []string{"NOPERM ", "ACL failure in script", "The user executing the script", "DENIED ",
	"CROSSSLOT ", "unknown command",
	"DB index is out of range", "invalid DB index", "SELECT is not allowed",
	"This instance has cluster support disabled"}

// otherType begins the answer if a key that belongs to a version is of another type: it was overwritten.
var otherType = []string{"WRONGTYPE "}

// badLogin lists the beginnings of answers to a wrong user or password.
var badLogin = []string{"NOAUTH ", "WRONGPASS ", "AUTH ", "Client sent AUTH", "invalid password"}

func startsWith(err error, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// Refusal is an error that another attempt would not cure.
type Refusal struct{ Reason error }

func (r Refusal) Error() string { return r.Reason.Error() }

// Unwrap returns the error itself.
func (r Refusal) Unwrap() error { return r.Reason }

// Permanent reports that waiting for rows does not help.
func (Refusal) Permanent() bool { return true }

// Permanent returns err, marked as permanent if Redis refuses the client's requests, or if data of arrivals are
// damaged. A refused login is not marked: while a password is being changed, requests are tried again, and the watcher
// of package serving decides how long that may last.
func Permanent(err error) error {
	if errors.Is(err, ErrDamaged) || never(err) || startsWith(err, otherType) {
		return Refusal{err}
	}
	return err
}

// Final returns err, marked as permanent if Redis refuses this client, a wrong login included: for clients whose
// login nobody else looks after.
func Final(client Client, err error) error {
	if err = Misdirected(client, err); Refused(err) {
		return Refusal{err}
	}
	return err
}

// Misdirected returns err, marked as a refusal ([Refused]) if a client that knows no cluster was sent to another
// node: it does not follow, now or later.
func Misdirected(client Client, err error) error {
	if _, one := client.(*redis.Client); one && startsWith(err, []string{"MOVED ", "ASK "}) {
		return Refusal{err}
	}
	return err
}

// TakesNoWrites reports whether Redis answered that it takes no writes now: its memory is full, it cannot save to
// its disk, it has too few replicas, or it is one itself. It may answer reads all the same.
func TakesNoWrites(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return errors.Is(err, ErrFull)
	}
	text := answer.Error()
	// Before 7.0 the reason stands within the error of the script.
	if i := strings.Index(text, ": -"); i >= 0 && strings.HasPrefix(text, "ERR Error running script") {
		text = text[i+len(": -"):]
	}
	return slices.ContainsFunc(noWrites, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// noWrites lists the beginnings of answers of a server that takes no writes now.
var noWrites = []string{"OOM ", "MISCONF ", "NOREPLICAS ", "READONLY "}
