package connect

import (
	"cmp"
	"strings"

	"rivulet/config"
	"rivulet/mapping"
	"rivulet/serving"
)

// Redis makes a client. It does not reach out yet; the caller closes it. An error names the setting that is
// wrong, and no password.
func Redis(s config.RedisServer) (mapping.Client, error) {
	url, hosts := s.URL.Split()
	o := mapping.RedisOptions{URL: url, Hosts: hosts, Cluster: s.Cluster,
		Sentinel: mapping.Sentinel{Master: s.Sentinel.Master, Username: s.Sentinel.Username,
			Password: s.Sentinel.Password.Reveal()},
		DialTimeout: s.DialTimeout, ReadTimeout: s.ReadTimeout, WriteTimeout: s.WriteTimeout,
		PoolSize: s.PoolSize, PoolTimeout: s.PoolTimeout,
		MaxRetries: s.Retry.Attempts, MinBackoff: s.Retry.MinBackoff, MaxBackoff: s.Retry.MaxBackoff}
	o.MaxRetries = cmp.Or(o.MaxRetries, -1) // there 0 is the default
	var err error
	if o.Credentials, err = redisLogin(s); err != nil {
		return nil, err
	}
	if strings.HasPrefix(url, "rediss:") {
		if o.TLS, err = (tlsFiles{"redis.tls", s.TLS.CAFile, s.TLS.CertFile, s.TLS.KeyFile,
			s.TLS.ServerName}).client(); err != nil {
			return nil, err
		}
	}
	return mapping.Connect(o)
}

// WithPublisher gives work a publisher with a connection of its own.
func WithPublisher(s config.RedisServer, work func(*serving.Publisher) error) error {
	p, end, err := Publisher(s)
	if err != nil {
		return err
	}
	defer end()
	return Advised(work(p), TrainerACL)
}

// Publisher returns a publisher with a connection of its own, which end closes.
func Publisher(s config.RedisServer) (p *serving.Publisher, end func(), err error) {
	return onRedis(s, func(client mapping.Client) (*serving.Publisher, error) {
		return serving.NewPublisher(client, s.Prefix)
	})
}

// onRedis makes something with a client of its own, which end closes.
func onRedis[T any](s config.RedisServer, with func(mapping.Client) (T, error)) (made T, end func(), err error) {
	client, err := Redis(s)
	if err != nil {
		return made, nil, err
	}
	if made, err = with(client); err != nil {
		_ = client.Close()
		return made, nil, err
	}
	return made, func() { _ = client.Close() }, nil
}

// redisLogin gives user and password for each connection; nil if the URL has both.
func redisLogin(s config.RedisServer) (func() (username, password string, err error), error) {
	if s.Username == "" && s.Password == "" && s.PasswordFile == "" {
		return nil, nil // the URL's
	}
	username, password := s.URL.Login()
	a := Account{"redis.password_file", cmp.Or(s.Username, username), cmp.Or(s.Password, config.Secret(password)),
		s.PasswordFile}
	_, _, err := a.Credentials()
	return a.Credentials, err
}
