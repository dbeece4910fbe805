package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rivulet/test/expect"
)

// files writes files of settings, and returns their paths with commas between them.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for name, text := range texts {
		path := filepath.Join(dir, name+".yaml")
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		paths = append(paths, path)
	}
	return strings.Join(paths, ",")
}

// A pipeline's own file overrides the settings of the process, which may come from its file, variables or flags.
func TestPipelinesOverrideTheirProcess(t *testing.T) {
	orders := files(t, map[string]string{
		"orders": "kafka: {group: orders, topics: {arrivals: orders}}\nredis: {prefix: shop}\n"})
	users := files(t, map[string]string{"users": "kafka: {group: users}\nbatch: {size: 7}\nmodels: [a, b]\n"})
	cfg, err := Load[Consumer](sources(t, "batch: {linger: 9ms}\nkafka: {group: shared}\n",
		[]string{"RIVULET_KAFKA_BROKERS=a:1,b:2", "RIVULET_BATCH_SIZE=3"}, "--pipelines", orders+","+users))
	expect.OK(t, err)
	all, err := Pipelines(cfg)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d pipelines, %v", len(all), err)
	}
	for k, want := range []struct {
		name, group, arrivals, prefix string
		batch, models                 int
	}{{"orders", "orders", "orders", "shop", 3, 0}, {"users", "users", "arrivals", "rivulet", 7, 2}} {
		s := all[k].Settings
		if all[k].Name != want.name || s.Kafka.Group != want.group || s.Kafka.Topics.Arrivals != want.arrivals ||
			s.Redis.Prefix != want.prefix || s.Batch.Size != want.batch || len(s.Models) != want.models ||
			s.Batch.Linger != 9*time.Millisecond || len(s.Kafka.Brokers.Brokers) != 2 || len(s.Pipelines) != 0 {
			t.Errorf("pipeline %s: %+v, want %+v", all[k].Name, s, want)
		}
	}
	alone, err := Pipelines(Default[Consumer]())
	if err != nil || len(alone) != 1 || alone[0].Name != "" || alone[0].Settings.Kafka.Group != "rivulet" {
		t.Errorf("without a list: %+v, %v", alone, err)
	}
}

// Settings of the whole process, unknown ones, and ones that two pipelines must not share are refused by name and line.
func TestPipelinesRefused(t *testing.T) {
	other := files(t, map[string]string{"other": "kafka: {group: other}\n"})
	for _, c := range []struct{ text, want string }{
		{"kafka: {group: mine}\nhttp: {listen: ':1'}\n", "http.listen (file FILE:2): is of the whole process"},
		{"kafka: {group: mine}\npipelines: [x.yaml]\n", "pipelines (file FILE:2): is of the whole process"},
		{"kafka: {group: mine}\nlog: {level: debug}\n", "log.level (file FILE:2): is of the whole process"},
		{"kafka: {grup: mine}\n", "kafka.grup (file FILE:1): unknown key, did you mean kafka.group?"},
		{"batch: {size: many}\n", `batch.size is "many" (file FILE:1): want a whole number`},
		{"kafka: {group: other}\n", `kafka.group is "other" (file FILE): is that of pipeline other, too`},
		{"kafka: {group: mine, transactional_id: other}\n",
			`kafka.transactional_id is "other" (file FILE): is that of pipeline other, too`},
		{"kafka: {group: mine, topics: {predictions: arrivals}}\n",
			`kafka.topics.predictions is "arrivals" (file FILE:1): is the topic of arrivals too`},
		{"kafka: {group: mine, heartbeat_interval: 9s}\n", "heartbeat_interval"},
	} {
		mine := files(t, map[string]string{"mine": c.text})
		cfg := Default[Consumer]()
		cfg.Pipelines = []string{other, mine}
		if _, err := Pipelines(cfg); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "FILE", mine)) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	cfg := Default[Consumer]()
	cfg.Pipelines = []string{other, other}
	expect.Error(t, expect.ErrorOf(Pipelines(cfg)), `pipelines is "other"`, "one file twice")
	cfg.Pipelines = []string{other + "x"}
	expect.Error(t, expect.ErrorOf(Pipelines(cfg)), other+"x", "a file that is not there")
}

// Programs beside the consumer look at one stream: the one whose file pipelines names, before all other settings. A
// list of several streams, as the consumer's own file has it, is refused by name.
func TestProgramsOfOneStream(t *testing.T) {
	orders := files(t, map[string]string{
		"orders": "kafka: {group: orders, topics: {arrivals: orders, dead_letters: orders.dead}}\nredis: {prefix: shop}\n"})
	users := files(t, map[string]string{"users": "kafka: {group: users}\n"})
	ofProcess := "kafka: {group: shared, brokers: ['b:1']}\npipelines: [" + orders + ", " + users + "]\n"
	page, err := Load[Page](sources(t, ofProcess, []string{"RIVULET_KAFKA_GROUP=other", "RIVULET_PIPELINES=" + orders}))
	if err != nil || page.Kafka.Group != "orders" || page.Kafka.Topics.Arrivals != "orders" ||
		page.Redis.Prefix != "shop" || page.Kafka.Brokers.Brokers[0] != "b:1" {
		t.Errorf("%+v, %v", page, err)
	}
	letters, err := Load[DeadLetters](sources(t, ofProcess, []string{"RIVULET_PIPELINES=" + orders}))
	if err != nil || letters.Kafka.Topics.DeadLetters != "orders.dead" {
		t.Errorf("%+v, %v", letters, err)
	}
	alone, err := Load[Page](sources(t, ofProcess, []string{"RIVULET_PIPELINES="}))
	if err != nil || alone.Kafka.Group != "shared" {
		t.Errorf("%+v, %v", alone, err)
	}
	server, err := Load[Serve](sources(t, ofProcess, nil, "--pipelines", orders))
	if err != nil || server.Redis.Prefix != "shop" {
		t.Errorf("%+v, %v", server, err)
	}
	refresh, err := Load[Refresh](sources(t, ofProcess, nil, "--pipelines", orders, "--redis.prefix", "other"))
	if err != nil || refresh.Redis.Prefix != "shop" || refresh.Kafka.Brokers.Brokers[0] != "b:1" {
		t.Errorf("%+v, %v", refresh, err)
	}
	for name, load := range map[string]func(Sources) error{"page": failure[Page], "dead-letters": failure[DeadLetters],
		"serve": failure[Serve], "refresh": failure[Refresh], "publish": failure[Publish], "versions": failure[Versions],
		"replay": failure[Replay], "predict": failure[Lines], "features": failure[Put]} {
		err := load(sources(t, ofProcess, nil, "--pipelines", orders+","+users))
		if err == nil || !strings.Contains(err.Error(), "are several streams") ||
			!strings.Contains(err.Error(), "--pipelines "+orders) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Error(t, expect.ErrorOf(Load[Page](sources(t, "pipelines: [absent.yaml]", nil))),
		"absent.yaml", "a file that is not there")
}

// failure is the error with which a program's settings are refused.
func failure[T any](from Sources) error {
	_, err := Load[T](from)
	return err
}
