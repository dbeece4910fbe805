// Package remote brings artifacts to this machine from where they are kept:
//
//	out/next, file:///data/next      a directory, which stays where it is
//	https://host/artifacts/next      a web server, or a bucket that one fronts; http:// on this machine alone
//	https://host/next?sig=…          the same with a signature for all that is below the address, as clouds give it
//	s3://bucket/artifacts/next       a bucket of S3, or of a server that speaks its protocol: in programs with package s3
//
// The environment says how a bucket is reached and who asks, with the names that AWS' own programs read: AWS_REGION,
// AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and AWS_ENDPOINT_URL for another server. Where it
// names nobody, the pod or the machine has a role. The files of a bucket are asked for one by one over HTTP: AWS' own
// library would make the consumer's program half as large again.
//
// An artifact's manifest lists its files, so nothing has to be listed at its source. A file of another size than the
// manifest's is refused here, and [artifact.Read] compares all checksums.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/signature"
)

// mostManifest bounds the bytes of a manifest.
const mostManifest = 16 << 20

// Local reports whether a location is a directory of this machine, and returns its path.
func Local(location string) (dir string, is bool) {
	scheme, rest, named := strings.Cut(location, "://")
	switch {
	case !named:
		return location, true
	case scheme == "file":
		return rest, true
	}
	return "", false
}

// Artifact is an artifact on this machine, in its own directory or as a copy below TMPDIR.
type Artifact struct {
	Dir string

	location string // of a copy
	from     *source
	left     map[string]artifact.File // listed in the manifest, and not copied yet
}

// Open brings the serving part of an artifact ([artifact.ReadServing]) to this machine. M is the larger part: who has
// it already does without [Artifact.Complete]. A caller ends with Remove.
func Open(ctx context.Context, location string) (*Artifact, error) {
	if dir, is := Local(location); is {
		return &Artifact{Dir: dir}, nil
	}
	dir, err := os.MkdirTemp("", "rivulet-artifact-")
	if err != nil {
		return nil, err
	}
	a := &Artifact{Dir: dir, location: Shown(location)}
	if err := a.open(ctx, location); err != nil {
		return nil, errors.Join(a.failed(err), a.Remove())
	}
	return a, nil
}

// open copies the manifest, and the files of the serving part.
func (a *Artifact) open(ctx context.Context, location string) (err error) {
	if a.from, err = sourceOf(location); err != nil {
		return err
	}
	into, err := os.OpenRoot(a.Dir) // no name in a manifest leads out of it
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }()
	for _, name := range []string{"manifest.json", "manifest.sha256"} {
		if err := a.from.copy(ctx, into, name, -1); err != nil {
			return err
		}
	}
	text, err := into.ReadFile("manifest.json")
	if err != nil {
		return err
	}
	manifest, err := artifact.ParseManifest(text)
	if err != nil {
		return err
	}
	_ = a.from.copy(ctx, into, signature.File, -1) // where it must be there, it is missed later
	a.left = manifest.Files
	return a.copy(ctx, into, manifest.ServingFiles())
}

// Complete brings the files that Open has left: M's, and those that only trainers read.
func (a *Artifact) Complete(ctx context.Context) error {
	if len(a.left) == 0 {
		return nil
	}
	into, err := os.OpenRoot(a.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }()
	if err := a.copy(ctx, into, slices.Sorted(maps.Keys(a.left))); err != nil {
		return a.failed(err)
	}
	return nil
}

func (a *Artifact) copy(ctx context.Context, into *os.Root, names []string) error {
	for _, name := range names {
		if err := a.from.copy(ctx, into, name, a.left[name].Bytes); err != nil {
			return err
		}
		delete(a.left, name)
	}
	return nil
}

// Remove removes a copy. An artifact in its own directory stays.
func (a *Artifact) Remove() error {
	if a.location == "" {
		return nil
	}
	return os.RemoveAll(a.Dir)
}

func (a *Artifact) failed(err error) error {
	return fmt.Errorf("fetching artifact %s: %w", a.location, err)
}

// Shown is a location without what only its owner may know: a password, or the query that has a signature.
func Shown(location string) string {
	if _, is := Local(location); is {
		return location
	}
	u, err := url.Parse(location)
	if err != nil {
		return "(an address that cannot be read)"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

// source is where an artifact's files are read from.
type source struct {
	base   *url.URL
	client *http.Client
}

// Store returns the address below which the files of a location are, and a client that asks for them by HTTP.
type Store func(location *url.URL, transport http.RoundTripper) (base *url.URL, by *http.Client, err error)

// stores are the stores of this program, by the schemes of their addresses.
var stores = map[string]Store{}

// Register adds a store for addresses of a scheme, of a host and without a query. A package does it in its init, and
// only programs that import that package carry it.
func Register(scheme string, s Store) { stores[scheme] = s }

// sourceOf returns the source that a location names.
func sourceOf(location string) (*source, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, errors.New("it is no address")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	client := &http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) > 10 || !secure(to.URL) {
			return fmt.Errorf("it redirects to %s, want https://", Shown(to.URL.String()))
		}
		return nil
	}}
	switch {
	case u.User != nil:
		return nil, errors.New("want an address without a login")
	case stores[u.Scheme] != nil && u.Host != "" && u.RawQuery == "":
		base, by, err := stores[u.Scheme](u, transport)
		return &source{base, by}, err
	case secure(u):
		return &source{u, client}, nil
	case u.Scheme == "s3" && stores["s3"] == nil:
		return nil, errors.New("this program is built without buckets of S3")
	}
	return nil, errors.New("want a directory, file://, https:// or s3://bucket/path, and http:// on this machine alone")
}

// secure reports whether an address is read: by TLS, or of this machine.
func secure(u *url.URL) bool {
	host, ip := u.Hostname(), net.ParseIP(u.Hostname())
	here := host == "localhost" || ip != nil && ip.IsLoopback()
	return u.Scheme == "https" && host != "" || u.Scheme == "http" && here
}

// copy reads one file of the source, which must have the given size; below 0: that of a manifest.
func (s *source) copy(ctx context.Context, into *os.Root, name string, size int64) (err error) {
	if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(name).String(), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	answer, err := s.client.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // without the address, which may be signed
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server answers %s", name, answer.Status)
	}
	most := size
	if size < 0 {
		most = mostManifest
	}
	f, err := into.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, err := io.Copy(f, io.LimitReader(answer.Body, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if n > most || size >= 0 && n < size {
		return fmt.Errorf("%s: %d bytes or more, want %d", name, n, most)
	}
	return nil
}
