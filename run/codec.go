package run

import (
	"context"
	"fmt"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
)

// Forms are the forms that records of arrivals and labels have by these settings. The registry is nil where there is
// none; it opens no connection yet.
func Forms(in config.Input, r config.Registry) (forms read.Reader, known consumer.Registry, err error) {
	forms.Confluent, forms.Forget = in.Format == config.Confluent, in.Forget == config.On
	if !forms.Confluent {
		if forms.Default, err = codec("input.format", in.Format); err != nil {
			return forms, nil, err
		}
	}
	lines, err := LineForms(in.Reading)
	if err != nil {
		return forms, nil, err
	}
	forms.Mapping = lines.Mapping
	schemas, err := connect.Registry(r)
	if err != nil || schemas == nil {
		return forms, nil, err
	}
	forms.Schemas = schemas
	return forms, schemas, nil
}

// LineForms are the forms that arrivals as JSON lines have by these settings.
func LineForms(in config.Reading) (forms read.Reader, err error) {
	if forms.Mapping, err = read.NewMapping(read.MappingOptions(in.Mapping)); err != nil {
		err = fmt.Errorf("input.mapping.%w", err)
	}
	return forms, err
}

// outputCodec is the form of predictions. framed is the same form if it needs the registry, else nil: nothing may be
// published before the registry has given the schema's id.
func outputCodec(cfg config.Consumer) (out event.Codec, framed connect.Framed, err error) {
	if cfg.Output.Registry == config.RegistryNone {
		out, err = codec("output.format", cfg.Output.Format)
		return out, nil, err
	}
	schemas, err := connect.Registry(cfg.Registry)
	if err != nil {
		return nil, nil, err
	}
	framed, err = schemas.Output(cfg.Output.Format, cfg.Kafka.Topics.Predictions,
		cfg.Output.Registry == config.RegistryRegister)
	return framed, framed, err
}

// resolveOutput waits until the registry has given the id of the predictions' schema.
func resolveOutput(ctx context.Context, framed connect.Framed, wait retry.Patience) error {
	if framed == nil {
		return nil
	}
	return consumer.RegistryOutage(wait, framed).Attempts().Repeat(ctx, func() error { return framed.Resolve(ctx) })
}

// codec is the wire form that a setting names.
func codec(setting, format string) (event.Codec, error) {
	c, ok := read.Lookup(format)
	if !ok {
		return nil, fmt.Errorf("%s is %q, which names no form of records", setting, format)
	}
	return c, nil
}
