package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/tlsclient"
)

// Options say where the registry is and how to log in.
type Options struct {
	// URLs are the addresses of the registry, http or https. The next is tried where one cannot be reached, and where one
	// does not have a schema: a follower may not have read it yet.
	URLs []string
	// TLS is for https; nil means the system's certificate authorities.
	TLS tlsclient.Source
	// Login gives the name and the password for each request; nil: there is no login.
	Login Login
	// Timeout bounds the requests for one schema to one address; 0 means 5 s.
	Timeout time.Duration
	// Now is the clock by which answers are forgotten; nil means the machine's.
	Now func() time.Time
}

// Login is HTTP's basic authentication.
type Login interface {
	Credentials() (username, password string, err error)
}

// Bounds.
const (
	maxAnswer = 8 << 20     // bytes of an answer
	atOnce    = 4           // look-ups under way
	forget    = time.Minute // after which a bad id is asked for again
	maxBad    = 4096        // bad ids that are remembered, at least
)

// A schema that was registered a moment ago may be missing everywhere for a moment. An id that no address has is asked
// for again, a pause after the last time, until it was missing so many times; meanwhile its records wait. Random ids
// cannot hold up a stream for long: only so many ids a minute are waited for, the others are bad at once.
const (
	missingPause = time.Second
	missingTimes = 4
	maxPatient   = 4
)

// Registry knows the schemas that have been asked for. Many goroutines may use it.
type Registry struct {
	client  *sr.Client   // of all addresses
	each    []*sr.Client // of one address
	timeout time.Duration
	renew   func() // closes the connections that are not in use
	now     func() time.Time
	turns   chan struct{}

	mu   sync.RWMutex
	good map[read.SchemaID]read.Written
	// bad ids; late has the newer ones: when it is full it becomes early.
	late, early map[read.SchemaID]bad
	// missing ids, which are asked for again, at most maxPatient; the time of the first ends the minute.
	missing map[read.SchemaID]missing
}

// missing is the number of times that an id was not there, and when first and last.
type missing struct {
	times       int
	first, last time.Time
}

// bad is an id whose records cannot be read.
type bad struct {
	why   *event.FieldError
	until time.Time
}

// New returns a registry. It opens no connection.
func New(o Options) (*Registry, error) {
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	transport := tlsclient.Transport(o.TLS)
	opts := []sr.ClientOpt{sr.UserAgent("rivulet"), sr.HTTPClient(&http.Client{
		Transport: bounded{transport}, Timeout: o.Timeout,
		// A login goes to no other address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})}
	if o.Login != nil {
		opts = append(opts, sr.PreReq(func(req *http.Request) error {
			username, password, err := o.Login.Credentials()
			req.SetBasicAuth(username, password)
			return err
		}))
	}
	client, err := sr.NewClient(append(opts, sr.URLs(o.URLs...))...)
	if err != nil {
		return nil, err
	}
	r := &Registry{client: client, timeout: o.Timeout, renew: transport.CloseIdleConnections, now: o.Now,
		turns: make(chan struct{}, atOnce),
		good:  map[read.SchemaID]read.Written{}, late: map[read.SchemaID]bad{}, early: map[read.SchemaID]bad{},
		missing: map[read.SchemaID]missing{}}
	for _, url := range o.URLs {
		one, err := sr.NewClient(append(opts, sr.URLs(url))...)
		if err != nil {
			return nil, err
		}
		r.each = append(r.each, one)
	}
	return r, nil
}

// Renew has later requests open connections of their own, with the authorities and certificates of then.
func (r *Registry) Renew() { r.renew() }

// bounded refuses answers that are too long.
type bounded struct{ http.RoundTripper }

// RoundTrip sends a request.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read reads on, up to the bound.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the registry's answer has more than %d bytes", maxAnswer)
	}
	return n, err
}

// Schema returns the decoder for records of a schema, which [Registry.LearnSchema] has asked for.
func (r *Registry) Schema(id read.SchemaID) (read.Written, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if w := r.good[id]; w != nil {
		return w, nil
	}
	if b, is := r.bad(id); is {
		return nil, b.why
	}
	return nil, unknown(id) // it was bad, one of so many that it is forgotten
}

func (r *Registry) bad(id read.SchemaID) (bad, bool) {
	b, is := r.late[id]
	if !is {
		b, is = r.early[id]
	}
	return b, is
}

func unknown(id read.SchemaID) *event.FieldError {
	return &event.FieldError{Reason: event.ReasonUnparsable, Detail: fmt.Sprintf("the registry has no schema %v", id)}
}

// known reports whether there is an answer for an id.
func (r *Registry) known(id read.SchemaID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.good[id] != nil {
		return true
	}
	b, is := r.bad(id)
	return is && r.now().Before(b.until)
}

// LearnSchema asks for a schema, unless the answer is known. An error means that there was no answer.
func (r *Registry) LearnSchema(ctx context.Context, id read.SchemaID) error {
	if r.known(id) {
		return nil
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.known(id) { // somebody else has asked
		return nil
	}
	if err := r.askedAMomentAgo(id); err != nil {
		return err
	}
	written, err := r.ask(ctx, id)
	var lacking notThere
	var why *event.FieldError
	switch {
	case err == nil:
		r.mu.Lock()
		r.good[id] = written
		delete(r.missing, id)
		r.mu.Unlock()
	case errors.As(err, &lacking):
		return r.await(id, lacking.FieldError)
	case errors.As(err, &why):
		r.remember(id, why)
	default:
		return fmt.Errorf("asking for schema %v: %w", id, err)
	}
	return nil
}

// askedAMomentAgo returns an error while it is too early to ask again for an id that was missing.
func (r *Registry) askedAMomentAgo(id read.SchemaID) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	m, is := r.missing[id]
	if is && r.now().Before(m.last.Add(missingPause)) {
		return m.notYet(id)
	}
	return nil
}

func (m missing) notYet(id read.SchemaID) error {
	return fmt.Errorf("no address of the registry has schema %v (asked %d of %d times, %v apart)", id, m.times,
		missingTimes, missingPause)
}

// await counts that an id was missing. It returns nil once that is the answer, and an error while the id is to be asked
// for again.
func (r *Registry) await(id read.SchemaID, why *event.FieldError) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	m, is := r.missing[id]
	if !is {
		for old, o := range r.missing {
			if !now.Before(o.first.Add(forget)) {
				delete(r.missing, old)
			}
		}
		if len(r.missing) >= maxPatient {
			r.rememberLocked(id, why)
			return nil
		}
		m.first = now
	}
	m.times, m.last = m.times+1, now
	r.missing[id] = m
	if m.times >= missingTimes {
		r.rememberLocked(id, why)
		return nil
	}
	return m.notYet(id)
}

func (r *Registry) remember(id read.SchemaID, why *event.FieldError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rememberLocked(id, why)
}

func (r *Registry) rememberLocked(id read.SchemaID, why *event.FieldError) {
	if len(r.late) >= maxBad {
		r.early, r.late = r.late, map[read.SchemaID]bad{}
	}
	r.late[id] = bad{why, r.now().Add(forget)}
}

// ask looks a schema up and compiles it. A *[event.FieldError] is an answer: there is no such schema, or it cannot be
// read. The timeout bounds the requests only. A large schema may take longer to compile on a busy machine: its records
// wait, as they do for a registry that is away, because nothing is wrong with them.
func (r *Registry) ask(ctx context.Context, id read.SchemaID) (read.Written, error) {
	s, references, err := r.fetch(ctx, id)
	if err != nil {
		return nil, err
	}
	written, err := compile(ctx, s, references)
	switch {
	case err == nil:
		return written, nil
	case ctx.Err() != nil: // the compiler was cut off
		return nil, context.Cause(ctx)
	}
	return nil, &event.FieldError{Reason: event.ReasonUnparsable,
		Detail: fmt.Sprintf("schema %v cannot be read: %v", id, err)}
}

// notThere is the answer of an address that lacks a schema, or one that the schema names.
type notThere struct{ *event.FieldError }

// Unwrap returns what is missing.
func (n notThere) Unwrap() error { return n.FieldError }

// fetch requests a schema and the schemas that it names, from the first address that has all of them. An address that
// lacks one counts only if no other has it.
func (r *Registry) fetch(ctx context.Context, id read.SchemaID) (s sr.Schema, all []reference, err error) {
	var lacking, failed error
	for _, client := range r.each {
		s, all, err = r.fetchFrom(ctx, client, id)
		switch {
		case err == nil:
			return s, all, nil
		case errors.As(err, new(notThere)):
			lacking = err
		case errors.As(err, new(*event.FieldError)):
			return s, nil, err
		default:
			failed = err
		}
	}
	return s, nil, cmp.Or(lacking, failed)
}

func (r *Registry) fetchFrom(ctx context.Context, client *sr.Client, id read.SchemaID) (s sr.Schema, all []reference,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if s, err = schemaOf(ctx, client, id); err != nil {
		if NoAnswer(err) {
			return s, nil, err
		}
		return s, nil, notThere{unknown(id)}
	}
	if s.Schema == "" {
		return s, nil, errors.New("the answer has no schema: no registry answers so")
	}
	all, err = references(ctx, client, s.References, len(s.Schema))
	return s, all, err
}

// schemaOf asks for a schema by its number or by its GUID, which registries have since Confluent Platform 8.
func schemaOf(ctx context.Context, client *sr.Client, id read.SchemaID) (sr.Schema, error) {
	if id.GUID == [16]byte{} {
		return client.SchemaByID(ctx, int(id.Number))
	}
	s, err := client.SchemaByGUID(ctx, id.String())
	return s.Schema, err
}

// reference is a schema that another one names.
type reference struct{ name, text string }

// maxReferences bounds the schemas that one schema needs. maxAnswer bounds their text together, as it bounds one.
const maxReferences = 100

// references looks up the schemas that one of some bytes names, each after the schemas that it names itself.
func references(ctx context.Context, client *sr.Client, of []sr.SchemaReference, bytes int) ([]reference, error) {
	var found []reference
	seen := map[string]bool{}
	var follow func(list []sr.SchemaReference) error
	follow = func(list []sr.SchemaReference) error {
		for _, ref := range list {
			if seen[ref.Name] {
				continue
			}
			if seen[ref.Name] = true; len(seen) > maxReferences {
				return &event.FieldError{Reason: event.ReasonUnparsable,
					Detail: fmt.Sprintf("the schema needs more than %d others", maxReferences)}
			}
			s, err := client.SchemaByVersion(ctx, ref.Subject, ref.Version)
			if err != nil {
				if NoAnswer(err) {
					return err
				}
				return notThere{&event.FieldError{Reason: event.ReasonUnparsable,
					Detail: fmt.Sprintf("the registry has not version %d of %.80q, which a schema names", ref.Version, ref.Subject)}}
			}
			if s.Schema.Schema == "" {
				return fmt.Errorf("the answer for version %d of %.80q has no schema: no registry answers so", ref.Version,
					ref.Subject)
			}
			if bytes += len(s.Schema.Schema); bytes > maxAnswer {
				return &event.FieldError{Reason: event.ReasonUnparsable,
					Detail: fmt.Sprintf("the schema and those that it needs have more than %d bytes", maxAnswer)}
			}
			if err := follow(s.References); err != nil {
				return err
			}
			found = append(found, reference{ref.Name, s.Schema.Schema})
		}
		return nil
	}
	return found, follow(of)
}

// NoAnswer reports whether an error of a request says nothing about the schema: the registry cannot be reached, is not
// well, refuses the login, or redirects.
func NoAnswer(err error) bool {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) {
		return true
	}
	switch code := answer.StatusCode; {
	case code >= 500, code < 400:
		return true
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return true
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired:
		return true
	}
	return answer.ErrorCode == 0 // a proxy's page is no answer of the registry
}

// Ping asks the registry for the names of its subjects.
func (r *Registry) Ping(ctx context.Context) error {
	_, err := r.client.Subjects(ctx)
	return err
}
