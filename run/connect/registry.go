package connect

import (
	"context"
	"errors"
	"time"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/tlsclient"
)

// Schemas is a schema registry.
type Schemas interface {
	consumer.Registry
	// Ping asks whether it answers.
	Ping(ctx context.Context) error
	// Output returns the form of predictions in a topic: avro, protobuf or json. register has the schema registered where
	// it is not there, else it must be there.
	Output(form, topic string, register bool) (Framed, error)
}

// Framed is a form of records that name their schema. It may be used once Resolve has returned nil.
type Framed interface {
	event.Codec
	// Resolve asks the registry for the schema's id.
	Resolve(ctx context.Context) error
	// Renew has later requests open connections of their own.
	Renew()
}

// RegistryOptions say where a registry is and how to log in.
type RegistryOptions struct {
	URLs    []string
	Timeout time.Duration
	TLS     tlsclient.Source // nil: the system's certificate authorities
	Login   *Account         // nil: there is no login
}

// openRegistry is nil in a program without a registry's client.
var openRegistry func(RegistryOptions) (Schemas, error)

// RegisterRegistry sets the client of registries. A package does it in its init, and only programs that import that
// package carry it.
func RegisterRegistry(open func(RegistryOptions) (Schemas, error)) { openRegistry = open }

// Registry returns the registry that settings name, nil where they name none.
func Registry(r config.Registry) (Schemas, error) {
	if len(r.URLs) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	if openRegistry == nil {
		return nil, errors.New("registry.urls is set, and this program is built without a registry's client")
	}
	o := RegistryOptions{URLs: r.URLs, Timeout: r.Timeout}
	if r.Secure() {
		var err error
		o.TLS, err = tlsFiles{"registry.tls", r.TLS.CAFile, r.TLS.CertFile, r.TLS.KeyFile, r.TLS.ServerName}.client()
		if err != nil {
			return nil, err
		}
	}
	if r.Username != "" {
		who := &Account{"registry.password_file", r.Username, r.Password, r.PasswordFile}
		if _, _, err := who.Credentials(); err != nil {
			return nil, err
		}
		o.Login = who
	}
	return openRegistry(o)
}
