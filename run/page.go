package run

import (
	"context"
	"log/slog"
	"net"
	"strings"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/internal/httpd"
	"rivulet/internal/page"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
	"rivulet/serving"
)

// Page runs the live page until ctx ends, which is no error. ready is called with the page's address when it can be
// opened.
func Page(ctx context.Context, cfg config.Page, log *slog.Logger, ready func(url string)) error {
	o, closeAll, err := pageOptions(cfg, log)
	defer closeAll()
	if err != nil {
		return err
	}
	background := &services{}
	from, end, err := servedVersions(ctx, pageAsConsumer(cfg), connect.PageACL, log, background,
		func(error) {}, target.Page) // the page shows versions, also while Redis refuses it
	if err != nil {
		return err
	}
	defer end()
	defer background.end() // first: the watcher still releases its versions
	o.Versions = from.source
	store, closeStore, err := connect.Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	if err != nil {
		return err
	}
	defer closeStore()
	if err := pagePipelines(cfg, from, store, &o); err != nil {
		return err
	}
	listener, url, err := listenForPage(ctx, cfg.Page, &o)
	if err != nil {
		return err
	}
	log.Info("the page can be opened", "url", url)
	ready(url)
	return page.New(o).Run(ctx, listener)
}

// pageAsConsumer returns the settings of a consumer that serves as the page does.
func pageAsConsumer(cfg config.Page) config.Consumer {
	c := config.Default[config.Consumer]()
	c.Output.Probabilities = true // the page shows them
	c.Redis, c.Choice, c.Attach.Attach, c.Cache = cfg.Redis, cfg.Choice, cfg.Attach, cfg.Cache
	return c
}

// pageOptions opens the page's sources; closeAll closes them, also after an error.
func pageOptions(cfg config.Page, log *slog.Logger) (o page.Options, closeAll func(), err error) {
	var ends []func()
	closeAll = func() {
		for _, end := range ends {
			end()
		}
	}
	topics := cfg.Kafka.Topics
	o = page.Options{Topics: page.Topics(topics), Group: cfg.Kafka.Group, History: cfg.Page.History, Log: log}
	names := []string{topics.Arrivals, topics.Predictions, topics.DeadLetters}
	if cfg.Labels.Topic != "" {
		names = append(names, cfg.Labels.Topic)
	}
	client, err := connect.Kafka(cfg.Kafka.Brokers, names...)
	if err != nil {
		return o, closeAll, err
	}
	ends = append(ends, client.Close)
	readers := make([]*kafka.Reader, len(names))
	for k, name := range names {
		readers[k], err = kafka.NewReader(client, kafka.ReaderOptions{Topic: name, FetchBytes: int(cfg.Kafka.Fetch.MaxBytes),
			FetchWait: cfg.Kafka.Fetch.MaxWait}, retry.Patience{Logger: log})
		if err != nil {
			return o, closeAll, err
		}
	}
	o.Arrivals, o.Predictions, o.DeadLetters = readers[0], readers[1], readers[2]
	if len(readers) > 3 {
		o.Labels = readers[3]
	}
	if cfg.Artifact != "" {
		return o, closeAll, nil
	}
	publications, end, err := connect.Publisher(cfg.Redis.RedisServer)
	if err != nil {
		return o, closeAll, err
	}
	ends, o.Publications = append(ends, end), publications
	if a := cfg.Page.Activate; a.Username != "" {
		as := cfg.Redis.RedisServer
		as.Username, as.Password, as.PasswordFile = a.Username, a.Password, a.PasswordFile
		activator, end, err := connect.Publisher(as)
		if err != nil {
			return o, closeAll, err
		}
		ends, o.Activator = append(ends, end), activator
	}
	return o, closeAll, nil
}

// pagePipelines sets the paths on which the page explains arrivals. They write nothing.
func pagePipelines(cfg config.Page, from consumer.Versions, store consumer.FeatureStore, o *page.Options) error {
	forms, _, err := Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return err
	}
	if o.Labels != nil {
		o.LabelForms = forms.OfLabels()
	}
	limits := Limits(cfg.Limits)
	o.Decoder, o.LitDecoder = consumer.NewDecoder(forms, limits), consumer.NewDecoder(forms, limits)
	for _, d := range []*consumer.Decoder{o.Decoder, o.LitDecoder} {
		d.LookUp(store, retry.Patience{Logger: o.Log})
	}
	path := consumer.PipelineOptions{Versions: from, Deliverer: &fileDeliverer{}, Mode: attach.Node,
		Arrivals: cfg.Attach.Arrivals == config.On, ReadOnly: true, Limits: limits, Features: store,
		Output: consumer.Output{Probabilities: true}, IgnoreUnknown: cfg.Input.UnknownFeatures == config.Ignore}
	if o.Tried, err = consumer.NewPipeline(path); err != nil {
		return err
	}
	path.Forms = forms
	o.Records, err = consumer.NewPipeline(path)
	return err
}

// listenForPage listens, sets who may ask, and returns the page's URL.
func listenForPage(ctx context.Context, s config.PageServer, o *page.Options) (l net.Listener, url string, err error) {
	if l, err = httpd.Listen(ctx, "page.listen", s.Listen); err != nil {
		return nil, "", err
	}
	g := &o.Guard
	host, _, _ := net.SplitHostPort(s.Listen) // it is checked
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g.Hosts = append(g.Hosts, strings.ToLower(net.JoinHostPort(host, port)))
	if s.Loopback() {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			g.Hosts = append(g.Hosts, net.JoinHostPort(name, port))
		}
	}
	for _, name := range s.Hosts {
		g.Hosts = append(g.Hosts, strings.ToLower(name))
	}
	url = "http://" + g.Hosts[0] + "/"
	if g.TLS = s.TLS.CertFile != ""; g.TLS {
		url = "https" + url[len("http"):]
	}
	if g.Tokens, err = connect.Tokens("page.", s.Access, o.Log); err == nil {
		if o.TLS, err = connect.ServerTLS("page.tls", s.TLS); err == nil {
			return l, url, nil
		}
	}
	_ = l.Close()
	return nil, "", err
}

var (
	_ page.Publications = (*serving.Publisher)(nil)
	_ page.Activator    = (*serving.Publisher)(nil)
)
