// Package s3 reads artifacts of buckets of S3, and of servers that speak its protocol. A program that imports it takes
// addresses s3://bucket/path ([remote.Open]).
package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"rivulet/artifact/remote"
)

func init() { remote.Register("s3", bucket) }

// bucket returns the address of the files of s3://bucket/path, and a client that asks for them.
func bucket(u *url.URL, transport http.RoundTripper) (*url.URL, *http.Client, error) {
	region := cmp.Or(Region(), "us-east-1")
	base := &url.URL{Scheme: "https", Host: "s3." + region + "." + domainOf(region), Path: u.Path}
	if strings.Contains(u.Host, ".") { // certificates of AWS have one label in front of s3
		base.Path = "/" + u.Host + u.Path
	} else {
		base.Host = u.Host + "." + base.Host
	}
	if other := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); other != "" {
		at, err := url.Parse(other)
		if err != nil || at.Host == "" || at.User != nil {
			return nil, nil, errors.New("AWS_ENDPOINT_URL is no address such as https://minio:9000")
		}
		base = at.JoinPath(u.Host, u.Path) // servers other than AWS have no name for each bucket
	}
	s := &signed{next: transport, region: region, by: NewAWS()}
	return base, &http.Client{Transport: s, CheckRedirect: stay}, nil
}

// partitions are the domains of AWS' partitions, by how the names of their regions begin.
var partitions = []struct{ region, domain string }{
	{"cn-", "amazonaws.com.cn"},
	{"eusc-", "amazonaws.eu"},
	{"us-iso-", "c2s.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"},
}

// domainOf returns the domain of the addresses of a region.
func domainOf(region string) string {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.region) {
			return p.domain
		}
	}
	return "amazonaws.com"
}

// Region returns the region of AWS that the environment names, "" for none.
func Region() string { return cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")) }

// AWS has the credentials of the environment, or of the machine's role. A role's credentials are renewed before they
// expire.
type AWS struct {
	keys    *credentials.Credentials
	context *credentials.CredContext
}

// NewAWS looks at the environment. It asks nobody yet.
func NewAWS() *AWS {
	var by credentials.Provider = &credentials.IAM{}
	if os.Getenv("AWS_ACCESS_KEY_ID") != "" {
		by = &credentials.EnvAWS{}
	}
	// a role's server that is not there, as on a machine that is not AWS', does not answer at all
	return &AWS{credentials.New(by), &credentials.CredContext{Client: &http.Client{Timeout: 10 * time.Second}}}
}

// Keys returns valid credentials. session is empty for a user's.
func (a *AWS) Keys() (id, secret, session string, err error) {
	keys, err := a.keys.GetWithContext(a.context)
	if err != nil {
		return "", "", "", fmt.Errorf("neither AWS_ACCESS_KEY_ID is set nor has this machine a role: %w", err)
	}
	return keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, nil
}

// stay refuses redirects: a signature is for one address. S3 redirects where the region is another one.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// signed signs requests without a body (AWS Signature Version 4).
type signed struct {
	next   http.RoundTripper
	region string
	by     *AWS
}

// noBody is the SHA-256 of no bytes.
const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// RoundTrip signs a request and sends it.
func (s *signed) RoundTrip(req *http.Request) (*http.Response, error) {
	id, secret, session, err := s.by.Keys()
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set("X-Amz-Content-Sha256", noBody)
	return s.next.RoundTrip(signer.SignV4(*req, id, secret, session, s.region))
}
