package config

import (
	"slices"
	"time"
)

// Page is the configuration of `rivulet page`: the consumer's inputs and outputs, as its own file has them, and the
// page itself.
type Page struct {
	Kafka PageKafka `key:"kafka"`
	Redis Redis     `key:"redis"`

	Choice

	Attach   Attach     `key:"attach"`
	Cache    Cache      `key:"cache"`
	Limits   Limits     `key:"limits"`
	Input    Input      `key:"input"`
	Features Features   `key:"features"`
	Registry Registry   `key:"registry"`
	Labels   Labels     `key:"labels"`
	Page     PageServer `key:"page"`
	Log      Log        `key:"log"`
}

// PageKafka is the page's configuration of Kafka. It joins no group: it shows the lag of the consumers' group.
type PageKafka struct {
	Brokers
	Group  string `key:"group" default:"rivulet" check:"required" usage:"consumer group; its members share the partitions" zero:"refused"`
	Topics Topics `key:"topics"`
	Fetch  Fetch  `key:"fetch"`
}

// PageServer sets the live page's address, and who may see it.
type PageServer struct {
	Access

	Listen   string        `key:"listen" default:"127.0.0.1:9466" check:"address" usage:"address of the live page, host:port or :port; elsewhere than on loopback it needs TLS and a token"`
	Hosts    []string      `key:"hosts" default:"" usage:"further names under which the page is reached, each as browsers write it, with its port unless that is 80 or 443" zero:"listen's own address, and localhost with its port on loopback"`
	History  time.Duration `key:"history" default:"5m" min:"0s" max:"15m" usage:"how far back in the topics the page begins to read" zero:"at their ends"`
	Activate PageActivate  `key:"activate"`
}

// PageActivate is the ACL user of Redis that may point CURRENT at another version, if the page may do that at all.
type PageActivate struct {
	Username     string `key:"username" default:"" usage:"ACL user of Redis as which the page activates versions, another one than redis.username" zero:"versions cannot be activated on the page"`
	Password     Secret `key:"password" default:"" usage:"password to log in with" zero:"read from password_file"`
	PasswordFile string `key:"password_file" default:"" usage:"file with the password, read again for each connection; a line break at its end is left out" zero:"password is used"`
}

// Loopback reports whether the page is seen from this machine alone.
func (p PageServer) Loopback() bool { return loopback(p.Listen) }

func (p PageServer) problems() (found problems) {
	missing := p.missing()
	found.when(missing != "" && !p.Loopback(), "listen", p.Listen,
		"others than this machine reach it, and it has "+missing+": set page.tls.cert_file, page.tls.key_file and "+
			"page.token_file, or an address such as 127.0.0.1:9466")
	a := p.Activate
	both, none := a.Password != "" && a.PasswordFile != "", a.Password == "" && a.PasswordFile == ""
	found.when(both, "activate.password_file", a.PasswordFile, "activate.password is set, too")
	found.when(a.Username != "" && none, "activate.password_file", "", "must not be empty if activate.username is set")
	found.when(a.Username == "" && !none && !both, "activate.username", "", "must not be empty if its password is set")
	return found
}

func (p Page) problems() problems {
	found, u := slices.Concat(attachProblems(p.Attach, p.Choice), registryProblems(p.Input, p.Registry),
		cacheProblems(p.Cache, p.Choice), lookupProblems(p.Features, p.Redis.RedisServer),
		choiceProblems(p.Choice)), p.Page.Activate.Username
	found.when(p.Artifact != "" && u != "", "page.activate.username", u, "has no effect, because artifact is set")
	found.when(u != "" && u == p.Redis.Username, "page.activate.username", u,
		"is that of redis.username: activating wants rights of its own")
	return found
}

// Logging returns how the program logs.
func (p Page) Logging() Log { return p.Log }
