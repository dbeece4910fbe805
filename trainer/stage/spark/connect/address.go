package connect

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Address is the address of a Spark Connect server, and the login.
type Address struct {
	Host   string // with its port
	TLS    bool
	User   string
	header http.Header // the token among them
}

const defaultPort = "15002"

// Parse reads sc://host:port/;use_ssl=true;token=T;user_id=U;x-any-header=V, the form of all Spark Connect clients. A
// token turns TLS on, as it must not travel in the clear; token is one from elsewhere, such as a variable of the
// environment, and wins over the address's. An error never shows the token.
func Parse(address, token string) (Address, error) {
	wrong := errors.New("want sc://host:port, with ;-separated parameters behind a / where they are needed: " +
		"use_ssl=true, user_id=U")
	rest, ok := strings.CutPrefix(address, "sc://")
	if !ok {
		return Address{}, wrong
	}
	host, parameters, _ := strings.Cut(rest, "/")
	if h, port, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
	} else if h == "" || port == "" {
		return Address{}, wrong
	}
	if strings.HasPrefix(host, ":") || strings.ContainsAny(host, "@?# ;") {
		return Address{}, wrong
	}
	a := Address{Host: host, User: "rivulet", header: http.Header{}}
	for parameter := range strings.SplitSeq(strings.TrimPrefix(parameters, ";"), ";") {
		if parameter == "" {
			continue
		}
		name, value, ok := strings.Cut(parameter, "=")
		value, err := url.PathUnescape(value)
		if !ok || err != nil {
			return Address{}, fmt.Errorf("parameter %q: %w", name, wrong)
		}
		if err := a.set(name, value, &token); err != nil {
			return Address{}, err
		}
	}
	if token != "" {
		a.TLS = true
		a.header.Set("Authorization", "Bearer "+token)
	}
	return a, nil
}

func (a *Address) set(name, value string, token *string) error {
	switch {
	case name == "token":
		if *token == "" {
			*token = value
		}
	case name == "use_ssl":
		if value != "true" && value != "false" {
			return errors.New("parameter use_ssl: want true or false")
		}
		a.TLS = value == "true"
	case name == "user_id":
		a.User = value
	case strings.HasPrefix(name, "x-"):
		a.header.Set(name, value)
	default:
		return fmt.Errorf("parameter %q is not known: want use_ssl, token, user_id or a header x-…", name)
	}
	return nil
}

// url is the base of the calls.
func (a Address) url() string {
	scheme := "http://"
	if a.TLS {
		scheme = "https://"
	}
	return scheme + a.Host + "/spark.connect.SparkConnectService/"
}

// String is the address without token and headers.
func (a Address) String() string { return "sc://" + a.Host }
