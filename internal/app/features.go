package app

import (
	"cmp"
	"context"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/internal/check"
	"rivulet/internal/featurestore"
	"rivulet/mapping"
)

// Features opens the store of features by id that settings name; nil if arrivals bring their features. end closes it.
func Features(f config.Features, limits config.Limits) (store consumer.FeatureStore, end func(), err error) {
	switch f.From {
	case config.FromRedis:
		s, end, err := openFeatures(f.FeatureServer, limits)
		if err != nil {
			return nil, nil, err
		}
		return advisedFeatures{s, s}, end, nil
	case config.FromFeast:
		s, end, err := openFeast(f)
		if err != nil {
			return nil, nil, err
		}
		return advisedFeatures{s, nil}, end, nil
	}
	return nil, func() {}, nil
}

// openFeast opens the online store of Feast.
func openFeast(f config.Features) (*featurestore.Feast, func(), error) {
	return onRedis("features.redis.", f.Redis, func(client mapping.Client) (*featurestore.Feast, error) {
		return featurestore.NewFeast(featurestore.FeastOptions{Client: client, Project: f.Feast.Project,
			JoinKey: f.Feast.JoinKey, JoinType: f.Feast.JoinType, Features: f.Feast.Features,
			Row: form.FeatureForm(f.Format) == form.FeaturesFloat32, Timeout: f.Timeout})
	})
}

// WithFeatures gives work a store of features to write to, with a connection of its own.
func WithFeatures(f config.FeatureServer, work func(*featurestore.Store) error) error {
	s, end, err := openFeatures(f, config.Limits{})
	if err != nil {
		return err
	}
	defer end()
	err = work(s)
	return withAdvice(err, featuresAdvice(err, fillACL))
}

func openFeatures(f config.FeatureServer, limits config.Limits) (*featurestore.Store, func(), error) {
	return onRedis("features.redis.", f.Redis, func(client mapping.Client) (*featurestore.Store, error) {
		return featurestore.New(featurestore.Options{Client: client, Prefix: f.Prefix, Form: form.FeatureForm(f.Format),
			MaxBytes: int(limits.RecordBytes), Timeout: f.Timeout})
	})
}

// checkFeatures asks the store for the features of an id that nobody has.
func checkFeatures(ctx context.Context, f config.Features) check.Result {
	what := "features in redis " + f.Redis.URL.String()
	store, end, err := Features(f, config.Limits{})
	if err == nil {
		defer end()
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = store.Read(ctx, []string{"1"}, []*event.Features{{}}, make([]*event.FieldError, 1))
	}
	if err != nil {
		return check.Result{State: check.Failed, What: what, Found: err.Error(), Do: cmp.Or(featuresAdvice(err, featuresACL),
			"look at features.redis.url and features.redis.tls, and whether this Redis runs")}
	}
	return check.Result{State: check.OK, What: what, Found: "it answers"}
}

func featuresAdvice(err error, line string) string {
	return redisServer{"features.redis.", "under features.prefix, ~PREFIX*", line}.advice(err)
}

// advisedFeatures is a store whose refusals carry advice.
type advisedFeatures struct {
	consumer.FeatureStore
	own *featurestore.Store // from which features of ids are removed; nil: it is Feast's
}

// Read implements [consumer.FeatureStore].
func (a advisedFeatures) Read(ctx context.Context, ids []string, into []*event.Features,
	faults []*event.FieldError) error {
	err := a.FeatureStore.Read(ctx, ids, into, faults)
	return withAdvice(err, featuresAdvice(err, featuresACL))
}
