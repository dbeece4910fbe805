package remote

import (
	"testing"

	"rivulet/test/expect"
)

// A program without the package of buckets says so: the address is right.
func TestWithoutBuckets(t *testing.T) {
	linked := stores
	t.Cleanup(func() { stores = linked })
	stores = map[string]Store{}
	_, err := Open(t.Context(), "s3://kept/a/next")
	expect.Error(t, err, "fetching artifact s3://kept/a/next: this program is built without buckets of S3")
}
