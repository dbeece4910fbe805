// Package confluent has the client of Confluent's schema registry and others with its API. A program that imports it
// takes registry.urls.
package confluent

import (
	"rivulet/internal/registry"
	"rivulet/run/connect"
)

func init() { connect.RegisterRegistry(open) }

// schemas is a registry whose outputs are those that [connect.Schemas] has.
type schemas struct{ *registry.Registry }

func open(o connect.RegistryOptions) (connect.Schemas, error) {
	of := registry.Options{URLs: o.URLs, Timeout: o.Timeout, TLS: o.TLS}
	if o.Login != nil {
		of.Login = o.Login
	}
	r, err := registry.New(of)
	if err != nil {
		return nil, err
	}
	return schemas{r}, nil
}

// Output implements [connect.Schemas].
func (s schemas) Output(form, topic string, register bool) (connect.Framed, error) {
	return s.Registry.Output(form, topic, register)
}
