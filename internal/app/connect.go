package app

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"rivulet/config"
	"rivulet/mapping"
	"rivulet/serving"
)

// ConnectRedis makes a client. It does not reach out yet; the caller closes it. An error names the setting that is
// wrong, and no password.
func ConnectRedis(s config.RedisServer) (mapping.Client, error) {
	return connectRedis("redis.", s.RedisAddress)
}

// connectRedis makes a client of the Redis whose settings' names begin with section.
func connectRedis(section string, s config.RedisAddress) (mapping.Client, error) {
	url, hosts := s.URL.Split()
	o := mapping.RedisOptions{URL: url, Hosts: hosts, Cluster: s.Cluster,
		Sentinel: mapping.Sentinel{Master: s.Sentinel.Master, Username: s.Sentinel.Username,
			Password: s.Sentinel.Password.Reveal()},
		DialTimeout: s.DialTimeout, ReadTimeout: s.ReadTimeout, WriteTimeout: s.WriteTimeout,
		PoolSize: s.PoolSize, PoolTimeout: s.PoolTimeout,
		MaxRetries: s.Retry.Attempts, MinBackoff: s.Retry.MinBackoff, MaxBackoff: s.Retry.MaxBackoff}
	if o.MaxRetries == 0 {
		o.MaxRetries = -1 // there 0 is the default
	}
	var err error
	if o.Credentials, err = redisLogin(section, s); err != nil {
		return nil, err
	}
	if strings.HasPrefix(url, "rediss:") {
		if o.TLS, err = (tlsFiles{section + "tls", s.TLS.CAFile, s.TLS.CertFile, s.TLS.KeyFile,
			s.TLS.ServerName}).read(); err != nil {
			return nil, err
		}
	}
	return mapping.Connect(o)
}

// WithPublisher gives work a publisher with a connection of its own.
func WithPublisher(s config.RedisServer, work func(*serving.Publisher) error) error {
	client, err := ConnectRedis(s)
	if err != nil {
		return err
	}
	defer client.Close()
	p, err := serving.NewPublisher(client, s.Prefix)
	if err != nil {
		return err
	}
	return advised(work(p), trainerACL)
}

// redisLogin gives user and password for each connection, and reads the file of a password each time, so that it can be
// renewed while the process runs; nil if the URL has both.
func redisLogin(section string, s config.RedisAddress) (func() (username, password string, err error), error) {
	if s.Username == "" && s.Password == "" && s.PasswordFile == "" {
		return nil, nil // the URL's
	}
	username, password := s.URL.Login()
	if s.Username != "" {
		username = s.Username
	}
	if s.Password != "" {
		password = s.Password.Reveal()
	}
	if s.PasswordFile == "" {
		return func() (string, string, error) { return username, password, nil }, nil
	}
	login := func() (string, string, error) {
		password, err := readPassword(section+"password_file", s.PasswordFile)
		return username, password, err
	}
	_, _, err := login()
	return login, err
}

// instance names this process among others on this and other hosts.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return net.JoinHostPort(host, strconv.Itoa(os.Getpid())) + "@" + strconv.FormatInt(time.Now().UnixNano(), 36)
}
