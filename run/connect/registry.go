package connect

import (
	"rivulet/config"
	"rivulet/internal/registry"
)

// Registry returns the registry that settings name, nil where they name none.
func Registry(r config.Registry) (*registry.Registry, error) {
	if len(r.URLs) == 0 {
		return nil, nil
	}
	o := registry.Options{URLs: r.URLs, Timeout: r.Timeout}
	if r.Secure() {
		var err error
		o.TLS, err = tlsFiles{"registry.tls", r.TLS.CAFile, r.TLS.CertFile, r.TLS.KeyFile, r.TLS.ServerName}.client()
		if err != nil {
			return nil, err
		}
	}
	if r.Username != "" {
		who := account{"registry.password_file", r.Username, r.Password, r.PasswordFile}
		if _, _, err := who.Credentials(); err != nil {
			return nil, err
		}
		o.Login = who
	}
	return registry.New(o)
}
