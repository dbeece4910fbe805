package refresh

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact/artifacttest"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// services has a Redis and no Kafka.
type services struct{ url string }

func (s services) Reader(string, string) (*kafka.Reader, func(), error) { panic("no Kafka") }

func (s services) Redis() (mapping.Client, string, error) {
	o, err := redis.ParseURL(s.url)
	if err != nil {
		return nil, "", err
	}
	return redis.NewClient(o), "rivulet", nil
}

// Two refreshes compare with the same version at once: the one that ends first does not release it for the other, so
// that nobody may remove it.
func TestTwoRefreshesHoldAVersion(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartRedis()
	expect.OK(t, err)
	defer server.Close()
	s := services{server.URL()}
	client, prefix, err := s.Redis()
	expect.OK(t, err)
	defer client.Close()
	p, err := serving.NewPublisher(client, prefix)
	expect.OK(t, err)
	b := artifacttest.Bundle(1, artifacttest.Size{})
	expect.OK(t, b.Seal())
	expect.OK(t, p.Publish(t.Context(), b, serving.PublishOptions{}))
	holders := func() int {
		infos, err := p.Versions(t.Context())
		if err != nil || len(infos) != 1 {
			t.Fatal(infos, err)
		}
		return len(infos[0].Holders)
	}
	var releases []func()
	for range 2 {
		r := &Refresher{ToRedis: true, Services: s, Log: slog.New(slog.DiscardHandler)}
		v, release, err := r.serving(t.Context())
		if err != nil || v.ID() != b.Manifest.Version {
			t.Fatal(v, err)
		}
		releases = append(releases, release)
	}
	if n := holders(); n != 2 {
		t.Errorf("%d hold the version, want 2", n)
	}
	releases[0]()
	if n := holders(); n != 1 {
		t.Errorf("%d hold the version after the first has ended, want the second", n)
	}
	releases[1]()
	if n := holders(); n != 0 {
		t.Errorf("%d hold the version after both have ended", n)
	}
}

// A round encodes, reads and compares with one version, also where another is published meanwhile, and lets it go
// before the next one is published.
func TestARoundHasOneVersion(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartRedis()
	expect.OK(t, err)
	defer server.Close()
	s := services{server.URL()}
	client, prefix, err := s.Redis()
	expect.OK(t, err)
	defer client.Close()
	p, err := serving.NewPublisher(client, prefix)
	expect.OK(t, err)
	publish := func(seed uint64) string {
		b := artifacttest.Bundle(seed, artifacttest.Size{})
		expect.OK(t, b.Seal())
		expect.OK(t, p.Publish(t.Context(), b, serving.PublishOptions{OtherData: true}))
		return b.Manifest.Version
	}
	first := publish(1)
	o := &round{Refresher: &Refresher{ToRedis: true, Services: s, Log: slog.New(slog.DiscardHandler)}}
	for range 2 {
		v, err := o.serving(t.Context())
		if err != nil || v.ID() != first {
			t.Fatal(v, err)
		}
		publish(2)
	}
	held := func() (n int) {
		infos, err := p.Versions(t.Context())
		expect.OK(t, err)
		for _, v := range infos {
			n += len(v.Holders)
		}
		return n
	}
	if n := held(); n != 1 {
		t.Errorf("%d versions are held during the round, want 1", n)
	}
	o.let()
	if n := held(); n != 0 {
		t.Errorf("%d versions are held after it", n)
	}
	away := &round{Refresher: &Refresher{Current: t.TempDir(), Services: s}}
	for range 2 { // that it cannot be read is said each time
		if _, err := away.serving(t.Context()); err == nil {
			t.Error("an artifact that is not there is read")
		}
	}
}
