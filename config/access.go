package config

import "net"

// Access sets how an HTTP server is encrypted, and who may use it.
type Access struct {
	TLS       ServerTLS `key:"tls"`
	Token     Secret    `key:"token" default:"" usage:"bearer token that a request must have in its Authorization header, but for health" zero:"those in token_file; without them none is asked for"`
	TokenFile string    `key:"token_file" default:"" usage:"file with the bearer tokens that are accepted, one a line, read again within a second of a change" zero:"token is used"`
}

// ServerTLS sets how a server is encrypted.
type ServerTLS struct {
	CertFile string `key:"cert_file" default:"" usage:"PEM file of the server's certificate, intermediate ones after it; read again for each connection" zero:"HTTP without TLS"`
	KeyFile  string `key:"key_file" default:"" usage:"PEM file of the certificate's private key; read again for each connection" zero:"HTTP without TLS"`
}

// HasToken reports whether requests must have a token.
func (a Access) HasToken() bool { return a.Token != "" || a.TokenFile != "" }

func (a Access) problems() problems {
	found := unpaired("tls.", a.TLS.CertFile, a.TLS.KeyFile)
	found.when(a.Token != "" && a.TokenFile != "", "token_file", a.TokenFile, "is set, and so is token")
	return found
}

// missing names the protection that an address reachable by others lacks; "" if it lacks none.
func (a Access) missing() string {
	switch tls, token := a.TLS.CertFile != "", a.HasToken(); {
	case !tls && !token:
		return "neither TLS nor a token"
	case !tls:
		return "no TLS, so that tokens and data could be read on the way"
	case !token:
		return "no token, so that anybody there could ask"
	}
	return ""
}

// loopback reports whether only this machine reaches an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
