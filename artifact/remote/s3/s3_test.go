package s3

import (
	"net/url"
	"testing"

	"rivulet/test/expect"
)

// A bucket is a name of its own below its region's; one with dots is a path, as certificates cover one label.
func TestAddressOfABucket(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	for _, c := range []struct{ location, region, endpoint, want string }{
		{"s3://models/shop", "", "", "https://models.s3.us-east-1.amazonaws.com/shop"},
		{"s3://models/shop/v1", "eu-west-1", "", "https://models.s3.eu-west-1.amazonaws.com/shop/v1"},
		{"s3://models.shop.example/v1", "eu-west-1", "", "https://s3.eu-west-1.amazonaws.com/models.shop.example/v1"},
		{"s3://models/shop", "cn-north-1", "", "https://models.s3.cn-north-1.amazonaws.com.cn/shop"},
		{"s3://models/shop", "us-gov-west-1", "", "https://models.s3.us-gov-west-1.amazonaws.com/shop"},
		{"s3://models/shop", "us-iso-east-1", "", "https://models.s3.us-iso-east-1.c2s.ic.gov/shop"},
		{"s3://models/shop", "us-isob-east-1", "", "https://models.s3.us-isob-east-1.sc2s.sgov.gov/shop"},
		{"s3://a.b/shop", "eu-west-1", "https://minio:9000/base", "https://minio:9000/base/a.b/shop"},
	} {
		t.Setenv("AWS_REGION", c.region)
		t.Setenv("AWS_ENDPOINT_URL", c.endpoint)
		u, err := url.Parse(c.location)
		expect.OK(t, err)
		base, _, err := bucket(u, nil)
		expect.OK(t, err)
		expect.Same(t, c.want, base.String(), "the address of %s in %s", c.location, c.region)
	}
}
