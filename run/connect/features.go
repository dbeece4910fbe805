package connect

import (
	"context"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/featurestore"
	"rivulet/mapping"
)

// FeatureStore has features by id, which may be removed. An id whose features were there is known then.
type FeatureStore interface {
	consumer.FeatureStore
	Remove(ctx context.Context, ids []string, known []bool) error
}

// Features opens the store of features by id that settings name, beside the Redis of versions; nil if arrivals bring
// their features. end closes it.
func Features(f config.Features, beside config.RedisServer, limits config.Limits) (store FeatureStore,
	end func(), err error) {
	if f.From != config.FromRedis {
		return nil, func() {}, nil
	}
	s, end, err := openFeatures(f.FeatureServer, beside, limits)
	if err != nil {
		return nil, nil, err
	}
	return advisedFeatures{s, FeaturesURL(f.FeatureServer)}, end, nil
}

// WithFeatures gives work a store of features to write to, with a connection of its own.
func WithFeatures(f config.FeatureServer, beside config.RedisServer, work func(*featurestore.Store) error) error {
	s, end, err := openFeatures(f, beside, config.Limits{})
	if err != nil {
		return err
	}
	defer end()
	err = work(s)
	return withAdvice(err, featuresAdvice(err, FeaturesURL(f), fillACL))
}

func openFeatures(f config.FeatureServer, beside config.RedisServer, limits config.Limits) (*featurestore.Store, func(),
	error) {
	return onRedis(f.Server(beside), func(client mapping.Client) (*featurestore.Store, error) {
		return featurestore.New(featurestore.Options{Client: client, Prefix: f.Prefix, Form: read.FeatureForm(f.Format),
			MaxBytes: int(limits.RecordBytes), Timeout: f.Timeout})
	})
}

// FeaturesURL names the setting that says where features are.
func FeaturesURL(f config.FeatureServer) string {
	if f.URL == "" {
		return "redis.url"
	}
	return "features.url"
}

// FeaturesAdvice returns the advice for a refusal by the store of features to a program that reads them, "" if err is
// none.
func FeaturesAdvice(err error, f config.FeatureServer) string {
	return featuresAdvice(err, FeaturesURL(f), featuresACL)
}

func featuresAdvice(err error, url, line string) string {
	return redisServer{url, "under features.prefix, ~PREFIX*", line}.advice(err)
}

// advisedFeatures is a store whose refusals carry advice.
type advisedFeatures struct {
	*featurestore.Store
	url string // the setting of its URL
}

// Read implements [consumer.FeatureStore].
func (a advisedFeatures) Read(ctx context.Context, ids []string, into []*event.Features,
	faults []*event.FieldError) error {
	err := a.Store.Read(ctx, ids, into, faults)
	return withAdvice(err, featuresAdvice(err, a.url, featuresACL))
}

// Remove removes the features of ids, and sets known[i] if ids[i] had some.
func (a advisedFeatures) Remove(ctx context.Context, ids []string, known []bool) error {
	err := a.Store.Remove(ctx, ids, known)
	return withAdvice(err, featuresAdvice(err, a.url, forgetACL))
}
