package mapping

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// incomplete is the error of a lookup that could not read some of its rows: Redis answered, but their bytes are
// damaged or their bucket was lost. The other rows of the call are filled as always.
type incomplete struct {
	damaged []damagedRow
	evicted []evictedBucket
}

// damagedRow is a row whose bytes [DecodeRow] refuses.
type damagedRow struct {
	at int32 // position in the call
	id string
	// reason is DecodeRow's error.
	reason error
}

// evictedBucket is a bucket that is missing although the version's marker stands. A complete table has all of its
// buckets, so Redis lost it: by eviction, or because a node of a cluster came back without its data.
type evictedBucket struct {
	key, marker string
	at          []int32 // positions in the call of the ids that belong to it
}

// failure returns i as an error, nil if nothing is missing.
func (i *incomplete) failure() error {
	if len(i.damaged)+len(i.evicted) == 0 {
		return nil
	}
	return i
}

func (i *incomplete) Error() string {
	var parts []string
	if len(i.evicted) > 0 {
		b := i.evicted[0]
		text := fmt.Sprintf("%v: marker %s stands, bucket %s is missing, probably by eviction (maxmemory-policy): trainer "+
			"publish with the same artifact writes it again", ErrVanished, b.marker, b.key)
		if more := len(i.evicted) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more buckets", more)
		}
		parts = append(parts, text)
	}
	if len(i.damaged) > 0 {
		d := i.damaged[0]
		text := fmt.Sprintf("%v: id %q: %v", ErrDamaged, shown(d.id), d.reason)
		if more := len(i.damaged) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more rows", more)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Is reports whether rows are damaged (ErrDamaged) or buckets were lost (ErrVanished).
func (i *incomplete) Is(target error) bool {
	return target == ErrDamaged && len(i.damaged) > 0 || target == ErrVanished && len(i.evicted) > 0
}

// shown cuts an id for messages.
func shown(id string) string {
	const longest = 100
	if len(id) <= longest {
		return id
	}
	return strings.ToValidUTF8(id[:longest], "") + "…"
}

// LossStats counts rows and buckets that could not be used although Redis answered. They count each time that they are
// asked for, so the counts grow until the version is published again.
type LossStats struct {
	DamagedRows    uint64 // rows whose bytes could not be decoded
	EvictedBuckets uint64 // buckets that Redis lost while the version was complete
}

// losses counts them, and logs some.
type losses struct {
	log              *slog.Logger
	degrade          bool // as [GuardOptions] has it
	damaged, evicted atomic.Uint64

	mu                      sync.Mutex
	saidDamaged, saidBucket time.Time
}

// lossesEvery is the least time between two lines in the log about damaged rows, and about lost buckets.
const lossesEvery = 10 * time.Second

func (l *losses) count(i *incomplete) {
	damaged, evicted := l.damaged.Add(uint64(len(i.damaged))), l.evicted.Add(uint64(len(i.evicted)))
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if len(i.damaged) > 0 && now.Sub(l.saidDamaged) >= lossesEvery {
		l.saidDamaged = now
		d := i.damaged[0]
		l.log.Warn("a row of M is damaged: predictions are made without it and marked as degraded; publish the artifact "+
			"again", "id", shown(d.id), "error", d.reason, "so_far", damaged)
	}
	if len(i.evicted) > 0 && now.Sub(l.saidBucket) >= lossesEvery {
		l.saidBucket = now
		then := "arrivals that need it wait"
		if l.degrade {
			then = "predictions that need it are made without it and marked as degraded"
		}
		l.log.Warn("Redis lost a bucket of M, probably by eviction (maxmemory-policy): "+then+"; publish the artifact again",
			"bucket", i.evicted[0].key, "so_far", evicted)
	}
}
