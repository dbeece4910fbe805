package featurestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/mapping"
)

// Bounds of one request: of ids, of their bytes, and of the bytes of its answer.
const (
	idsPerRequest = 1024
	idBytes       = 1 << 20
	answerBytes   = 16 << 20
)

// Options describe a store.
type Options struct {
	Client mapping.Client   // the caller's to close
	Prefix string           // before each id
	Form   read.FeatureForm // of all values
	// MaxBytes is the longest value that is read; 0: no limit. A longer one is a fault of its id.
	MaxBytes int
	Timeout  time.Duration // of one request, its repetitions included
}

// Store reads features by id. It may be used by many goroutines at once.
type Store struct{ o Options }

// New returns a store. It opens no connection.
func New(o Options) (*Store, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("featurestore: a store needs a client")
	case o.Form != read.FeaturesFloat32 && o.Form != read.FeaturesJSON:
		return nil, fmt.Errorf("the form of stored features is %q, want %s or %s", o.Form, read.FeaturesFloat32,
			read.FeaturesJSON)
	case o.MaxBytes < 0 || o.Timeout <= 0:
		return nil, fmt.Errorf("featurestore: values of %d bytes within %s, want 0 or more bytes and a time above 0",
			o.MaxBytes,
			o.Timeout)
	}
	return &Store{o}, nil
}

// Read sets into[i] to the features of ids[i], or faults[i] to why it has none. An error says that the store could not
// be asked.
func (s *Store) Read(ctx context.Context, ids []string, into []*event.Features, faults []*event.FieldError) error {
	for from := 0; from < len(ids); {
		to := from + portion(ids[from:])
		if err := s.readPortion(ctx, ids[from:to], into[from:to], faults[from:to]); err != nil {
			return fmt.Errorf("the features of %d ids: %w", len(ids), mapping.Final(s.o.Client, err))
		}
		from = to
	}
	return nil
}

// portion returns how many of the first ids go into one request, at least one.
func portion(ids []string) int {
	size := 0
	for n := range ids {
		if size += len(ids[n]); n > 0 && (n == idsPerRequest || size > idBytes) {
			return n
		}
	}
	return len(ids)
}

// readPortion reads the features of the ids of one request. Values that are longer than their share of the answer are
// asked for again.
func (s *Store) readPortion(ctx context.Context, ids []string, into []*event.Features,
	faults []*event.FieldError) error {
	share := answerBytes / len(ids)
	values, err := s.values(ctx, ids, share)
	if err != nil {
		return err
	}
	var longer []int
	for i, v := range values {
		if v.bad == nil && len(v.text) > share {
			longer = append(longer, i)
			continue
		}
		faults[i] = s.decode(ids[i], v, into[i])
	}
	for limit := cmp.Or(s.o.MaxBytes, maxString); len(longer) > 0; {
		some := longer[:min(len(longer), max(1, answerBytes/limit))]
		longer = longer[len(some):]
		again := make([]string, len(some))
		for k, i := range some {
			again[k] = ids[i]
		}
		if values, err = s.values(ctx, again, limit); err != nil {
			return err
		}
		for k, i := range some {
			faults[i] = s.decode(ids[i], values[k], into[i])
		}
	}
	return nil
}

// maxString is the length of the longest string of Redis.
const maxString = 512 << 20

// value is a key's value: a text, empty if there is none, or the fault of another type.
type value struct {
	text string
	bad  error
}

// values asks for the first bytes of the values of ids, and for one byte more, which tells that there are more.
func (s *Store) values(ctx context.Context, ids []string, bytes int) ([]value, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	pipe := s.o.Client.Pipeline()
	answers := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		answers[i] = pipe.GetRange(ctx, s.o.Prefix+id, 0, int64(bytes))
	}
	// Where no connection could be made, commands have no error of their own, and empty answers.
	if _, err := pipe.Exec(ctx); err != nil && !otherType(err) {
		return nil, err
	}
	values := make([]value, len(ids))
	for i, answer := range answers {
		text, err := answer.Result()
		switch {
		case err == nil:
		case otherType(err):
			values[i].bad = err
		default:
			return nil, err
		}
		values[i].text = text
	}
	return values, nil
}

// otherType reports whether the value of a key is no string.
func otherType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE ") }

// decode reads a value, or names its fault.
func (s *Store) decode(id string, v value, into *event.Features) *event.FieldError {
	place := "the value of " + s.o.Prefix + short(id)
	switch {
	case v.bad != nil:
		return &event.FieldError{Reason: event.ReasonFeaturesStored, Field: "features", Detail: place + ": " + v.bad.Error()}
	case v.text == "":
		return &event.FieldError{Reason: event.ReasonFeaturesAbsent, Field: "features",
			Detail: "the record brings none, and there is no value of " + s.o.Prefix + short(id)}
	case s.o.MaxBytes > 0 && len(v.text) > s.o.MaxBytes:
		return &event.FieldError{Reason: event.ReasonFeaturesStored, Field: "features",
			Detail: fmt.Sprintf("%s has more than %d bytes", place, s.o.MaxBytes)}
	}
	err := s.o.Form.Decode([]byte(v.text), into)
	if err == nil {
		return nil
	}
	fault := event.FieldError{Reason: event.ReasonFeaturesStored, Field: "features", Detail: err.Error()}
	if own, ok := errors.AsType[*event.FieldError](err); ok {
		fault = *own
		if fault.Reason == event.ReasonUnparsable {
			fault.Reason = event.ReasonFeaturesStored
		}
	}
	fault.Detail += " (" + place + ")"
	return &fault
}

// short is an id as a message repeats it.
func short(id string) string { return fmt.Sprintf("%.80s", id) }
