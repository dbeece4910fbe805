package config

import (
	"strings"
	"testing"

	"rivulet/test/expect"
)

func TestRedisURLHosts(t *testing.T) {
	for _, c := range []struct {
		url, first string
		more       []string
		shown      string
	}{
		{"redis://host:7000/3", "redis://host:7000/3", nil, "redis://host:7000/3"},
		{"rediss://user:w,ord@a:7000,b:7001,[::1]:7002?read_timeout=1s", "rediss://user:w,ord@a:7000?read_timeout=1s",
			[]string{"b:7001", "[::1]:7002"}, "rediss://user:xxxxx@a:7000,b:7001,[::1]:7002?…"},
		{"redis://a,b:26380/1", "redis://a/1", []string{"b:26380"}, "redis://a,b:26380/1"},
		{"unix:///run/a,b.sock", "unix:///run/a,b.sock", nil, "unix:///run/a,b.sock"},
	} {
		u := RedisURL(c.url)
		if err := u.check(); err != nil {
			t.Errorf("%s: %v", c.url, err)
		}
		first, more := u.Split()
		expect.Same(t, append([]string{c.first}, c.more...), append([]string{first}, more...), "%s: hosts", c.url)
		if u.String() != c.shown {
			t.Errorf("String gives %s, want %s", u, c.shown)
		}
	}
}

// A setting that would be left unused, or is given twice, is refused.
func TestRulesOfRedis(t *testing.T) {
	for flags, want := range map[string]string{
		"--redis.url=redis://a:1,b:2": "redis.url is \"redis://a:1,b:2\" " +
			"(--redis.url): several hosts are",
		"--redis.cluster --redis.sentinel.master=m":          "redis.sentinel.master is \"m\"",
		"--redis.cluster --redis.url=redis://a:1/2":          "a cluster has only database 0",
		"--redis.cluster --redis.url=unix:///run/redis.sock": "a socket is neither",
		"--redis.sentinel.username=u":                        "redis.sentinel.master",
		"--redis.retry.min_backoff=2s": "redis.retry.max_backoff is " +
			"\"500ms\" (default): less than min_backoff, 2s",
		"--redis.username=u":                                 "redis.password",
		"--redis.username=u --redis.url=redis://v:w@a:1":     "redis.username is \"u\"",
		"--redis.password_file=f --redis.url=redis://:w@a:1": "redis.password_file is \"f\"",
		"--redis.tls.ca_file=f": "redis.tls.ca_file is \"f\" " +
			"(--redis.tls.ca_file): has no effect",
		"--redis.tls.server_name=n":                                                 "redis.tls.server_name",
		"--redis.url=rediss://a:1 --redis.tls.cert_file=f":                          "redis.tls.key_file",
		"--redis.url=rediss://a:1 --redis.tls.key_file=f":                           "redis.tls.cert_file",
		"--redis.url=redis://a:1,b:2 --redis.cluster":                               "",
		"--redis.url=redis://a:1,b:2/5 --redis.sentinel.master=m":                   "",
		"--redis.url=rediss://a:1 --redis.username=u --redis.password_file=f":       "",
		"--redis.url=rediss://a:1 --redis.tls.ca_file=f --redis.tls.server_name=n.": "",
	} {
		_, err := Load[Consumer](sources(t, "", nil, strings.Fields(flags)...))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", flags, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", flags, err, want)
		}
	}
	_, err := Load[Consumer](sources(t, "", []string{"RIVULET_REDIS_PASSWORD=hunter2"},
		"--redis.url=redis://:hunter3@a:1"))
	if err == nil || !strings.Contains(err.Error(), "redis.password") || strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v, want a problem that shows no password", err)
	}
}

// features.url is another Redis beside that of redis.url: a login in it takes the place of the settings' login, which
// holds for both otherwise, and it must suit redis.cluster and redis.sentinel.
func TestTheRedisOfFeatures(t *testing.T) {
	main := RedisServer{URL: "redis://own:hidden@m:6379/2", Username: "", PasswordFile: "word.txt", Prefix: "p"}
	both := RedisServer{URL: "redis://m:6379", Username: "reader", Password: "word"}
	for _, c := range []struct {
		url                string
		of                 RedisServer
		username, password string
		file               string
	}{
		{"", both, "reader", "word", ""},
		{"redis://f:6379/1", both, "reader", "word", ""},
		{"redis://f:6379/1", main, "", "", "word.txt"},
		{"redis://other@f:6379", both, "", "word", ""}, // other, with the password of the settings
		{"redis://other:its@f:6379", both, "", "", ""},
		{"redis://:its@f:6379", main, "", "", ""},
		{"redis://f:26379", RedisServer{URL: "redis://m:26379", Sentinel: RedisSentinel{Master: "shop"}}, "", "", ""},
	} {
		got := FeatureServer{URL: RedisURL(c.url)}.Server(c.of)
		url := c.of.URL
		if c.url != "" {
			url = RedisURL(c.url)
		}
		if got.URL.Reveal() != url.Reveal() || got.Username != c.username || got.Password.Reveal() != c.password ||
			got.PasswordFile != c.file || got.Prefix != c.of.Prefix || got.Sentinel != c.of.Sentinel || got.Cluster != c.of.Cluster {
			t.Errorf("%s: %+v as %q, %q, %q", c.url, got, got.Username, got.Password.Reveal(), got.PasswordFile)
		}
	}
	for text, want := range map[string]string{
		"features: {url: 'redis://f:6379/1'}":                                 "",
		"redis: {cluster: true}\nfeatures: {url: 'redis://f:6379/1'}":         "a cluster has only database 0",
		"features: {url: 'redis://f:6379,g:6379'}":                            "set cluster or sentinel.master",
		"redis: {cluster: true}\nfeatures: {url: 'redis://f:6379,g:6379'}":    "",
		"redis: {sentinel: {master: m}}\nfeatures: {url: 'unix:///s?db=0'}":   "a socket is neither",
		"features: {url: 'http://f'}":                                         "want a URL that begins with",
		"redis: {password_file: a}\nfeatures: {url: 'redis://u:word@f:6379'}": "",
	} {
		for name, load := range map[string]func(Sources) error{
			"consumer": func(s Sources) error { return expect.ErrorOf(Load[Consumer](s)) },
			"serve":    func(s Sources) error { return expect.ErrorOf(Load[Serve](s)) },
			"page":     func(s Sources) error { return expect.ErrorOf(Load[Page](s)) },
			"refresh":  func(s Sources) error { return expect.ErrorOf(Load[Refresh](s)) },
			"lines":    func(s Sources) error { return expect.ErrorOf(Load[Lines](s)) },
			"put":      func(s Sources) error { return expect.ErrorOf(Load[Put](s)) },
		} {
			given := text
			if name != "put" { // who looks features up says that they are in Redis
				given = strings.Replace(text, "features: {", "features: {from: redis, ", 1)
				unread := load(sources(t, text, nil))
				expect.Error(t, unread, "features.url", "%s: %s", name, text)
				if !strings.Contains(text, "http:") { // that is no address at all
					expect.Error(t, unread, "features.from is redis only, and that is record", "%s: %s", name, text)
				}
			}
			err := load(sources(t, given, nil))
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %s: %v", name, given, err)
			case want != "":
				expect.Error(t, err, "features.url", "%s: %s", name, text)
				expect.Error(t, err, want, "%s: %s", name, text)
			}
		}
	}
}
