// Package remote brings artifacts to this machine from where they are kept:
//
//	out/next, file:///data/next      a directory, which stays where it is
//	https://host/artifacts/next      a web server, or a bucket that one fronts; http:// on this machine alone
//	s3://bucket/artifacts/next       a bucket of S3, or of a server that speaks its protocol
//
// The environment says how a bucket is reached, with the names that AWS' own programs read: AWS_REGION,
// AWS_ENDPOINT_URL of another server, and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Without
// keys the role of the pod or of the machine is asked for.
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

// Fetch returns the directory of an artifact, and a function that removes what was fetched. An artifact that is
// elsewhere is brought into a directory below TMPDIR.
func Fetch(ctx context.Context, location string) (dir string, remove func() error, err error) {
	if dir, is := Local(location); is {
		return dir, func() error { return nil }, nil
	}
	if dir, err = os.MkdirTemp("", "rivulet-artifact-"); err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	if err := fetch(ctx, location, dir); err != nil {
		return "", nil, errors.Join(fmt.Errorf("fetching artifact %s: %w", shown(location), err), remove())
	}
	return dir, remove, nil
}

// shown is a location without a password.
func shown(location string) string {
	if u, err := url.Parse(location); err == nil {
		return u.Redacted()
	}
	return "of an address that cannot be read"
}

// source is where an artifact's files are read from.
type source struct {
	base   *url.URL
	client *http.Client
}

// fetch copies the manifest, and the files that it lists, into a directory.
func fetch(ctx context.Context, location, dir string) error {
	from, err := sourceOf(location)
	if err != nil {
		return err
	}
	into, err := os.OpenRoot(dir) // no name in a manifest leads out of it
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }()
	for _, name := range []string{"manifest.json", "manifest.sha256"} {
		if err := from.copy(ctx, into, name, -1); err != nil {
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
	_ = from.copy(ctx, into, signature.File, -1) // where it must be there, it is missed later
	for _, name := range slices.Sorted(maps.Keys(manifest.Files)) {
		if err := from.copy(ctx, into, name, manifest.Files[name].Bytes); err != nil {
			return err
		}
	}
	return nil
}

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
			return fmt.Errorf("it redirects to %s, want https://", to.URL.Redacted())
		}
		return nil
	}}
	switch {
	case u.User != nil || u.RawQuery != "":
		return nil, errors.New("want an address without a login and a query")
	case u.Scheme == "s3" && u.Host != "":
		return bucket(u, transport)
	case secure(u):
		return &source{u, client}, nil
	case elsewhere[u.Scheme] != "":
		return nil, errors.New(elsewhere[u.Scheme])
	}
	return nil, errors.New("want a directory, file://, https:// or s3://bucket/path, and http:// on this machine alone")
}

// elsewhere says how buckets of other clouds are read. The library of Google's wants gRPC, with which the consumer's
// program would be half as large again.
var elsewhere = map[string]string{
	"gs": "want s3:// in place of gs://, with AWS_ENDPOINT_URL=https://storage.googleapis.com, AWS_REGION=auto and an " +
		"HMAC key of a service account as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	"azblob": "want a directory to which azcopy has brought it, in place of azblob://",
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
