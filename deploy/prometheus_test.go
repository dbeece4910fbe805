package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/internal/devstack"
	"rivulet/test/harness"
)

// quiet matches queries without an answer, as the stream has no named features, no tokens, one model, no candidate and
// no repartition.
var quiet = regexp.MustCompile(`named_feature|http_token|rivulet_(candidate|canary|model_|repartition)`)

// Each query of the dashboards is answered by a real Prometheus that scrapes the programs while a stream passes, in a
// job that is called neither rivulet nor consumer; and no alert fires.
func TestPrometheusAnswersTheDashboards(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil || testing.Short() {
		t.Skip("starts Prometheus (Debian: prometheus, which .ci/run installs) and programs; left out with -short")
	}
	w := harness.Workshop{Dir: t.TempDir(), Bin: os.Getenv("RIVULET_TEST_BIN")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if w.Bin == "" {
		w.Bin = w.Path("bin")
		must(harness.Build(t.Context(), w.Bin))
	}
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Addr: "127.0.0.1:0",
		Topics: map[string]int{"arrivals": 2, "predictions": 2, "arrivals.dead-letters": 1, "labels": 1}})
	must(err)
	defer broker.Close()
	redis, err := devstack.StartRedis()
	must(err)
	defer redis.Close()
	must(w.Train(t.Context(), "1"))
	must(w.Write("rivulet.yaml", fmt.Sprintf(`kafka: {brokers: [%q]}
redis: {url: %q}
attach: {arrivals: "on"}
labels: {topic: labels}
http: {listen: "127.0.0.1:0"}
serve: {listen: "127.0.0.1:0"}
`, broker.Addr(), redis.URL())))
	run := func(program string, args ...string) {
		t.Helper()
		_, err := w.Output(t.Context(), nil, program, append(args, "--config", w.Path("rivulet.yaml"))...)
		must(err)
	}
	run("trainer", "publish", "--artifact", w.Path("artifact-1"))
	// listens starts a program and returns the address that its log names.
	listens := func(program, log string, args ...string) string {
		t.Helper()
		var transcript harness.Transcript
		p, err := harness.Start(&transcript, program, args...)
		must(err)
		t.Cleanup(p.Kill)
		var found []string
		if err := harness.Await(t.Context(), time.Minute, program+" listens", func() bool {
			found = regexp.MustCompile(log).FindStringSubmatch(transcript.String())
			return found != nil
		}); err != nil {
			t.Fatalf("%v:\n%s", err, &transcript)
		}
		return found[1]
	}
	consumer := listens(w.Bin+"/consumer", `listening for metrics and health.*address=(\S+)`, "--config",
		w.Path("rivulet.yaml"))
	server := listens(w.Bin+"/rivulet", `msg="answering arrivals" address=(\S+)`, "serve", "--config",
		w.Path("rivulet.yaml"))
	alerts, err := os.ReadFile("alerts.yaml")
	must(err)
	must(w.Write("alerts.yaml", string(alerts)))
	must(w.Write("prometheus.yaml", fmt.Sprintf(
		"global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [alerts.yaml]\n"+
			"scrape_configs: [{job_name: pods, static_configs: [{targets: [%q, %q]}]}]\n", consumer, server)))
	address := "http://" + listens(program, `msg="Listening on" address=(127\S+)`,
		"--config.file="+w.Path("prometheus.yaml"),
		"--storage.tsdb.path="+w.Path("tsdb"), "--web.listen-address=127.0.0.1:0")

	get := func(address string) (status int, text []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		must(err)
		response, err := http.DefaultClient.Do(request)
		must(err)
		defer response.Body.Close()
		text, err = io.ReadAll(response.Body)
		must(err)
		return response.StatusCode, text
	}
	// values returns the value of each series of an instant query now.
	values := func(expr string) (all []float64) {
		t.Helper()
		status, text := get(address + "/api/v1/query?" + url.Values{"query": {expr}}.Encode())
		if status == http.StatusServiceUnavailable { // it reads its log first
			return nil
		}
		var answer struct {
			Status, Error string
			Data          struct{ Result []struct{ Value []any } }
		}
		must(json.Unmarshal(text, &answer))
		if answer.Status != "success" {
			t.Errorf("%s: %s", expr, answer.Error)
		}
		for _, of := range answer.Data.Result { // a time and a number as text
			v, err := strconv.ParseFloat(fmt.Sprint(of.Value[1]), 64)
			must(err)
			all = append(all, v)
		}
		return all
	}
	await := func(what, expr string) {
		t.Helper()
		must(harness.Await(t.Context(), time.Minute, what, func() bool { return len(values(expr)) > 0 }))
	}
	get("http://" + server + "/v2") // a first request
	await("both programs are scraped", "count(sum_over_time(up[1m]) >= 2) == 2")
	run("rivulet", "replay", "--data", w.Path("data"), "--labels", "labels")
	await("the stream has passed", "sum(rivulet_lag_records) == 0 and sum(rate(rivulet_arrivals_total[1m])) > 0")
	await("labels have come", "rivulet_window_accuracy_ratio")
	all := metrics(t)
	for name, rows := range dashboards {
		var table strings.Builder
		for _, r := range rows {
			for _, p := range r.panels {
				queries, err := p.of(all)
				must(err)
				for _, q := range queries {
					expr := strings.NewReplacer("$job", ".+", "$__rate_interval", "1m").Replace(q.expr)
					found, highest := values(expr), "none"
					if len(found) > 0 {
						highest = fmt.Sprintf("%.3g", slices.Max(found))
					} else if !quiet.MatchString(expr) {
						t.Errorf("%s, %s: no answer to %s", name, p.title, expr)
					}
					fmt.Fprintf(&table, "| %s | `%s` | %d | %s |\n", p.title, strings.ReplaceAll(expr, "|", "\\|"), len(found),
						highest)
				}
			}
		}
		t.Logf("dashboard %s\n| panel | query | series | highest value |\n|---|---|--:|--:|\n%s", name, &table)
	}
	if n := len(values(`ALERTS{alertstate="firing"}`)); n > 0 {
		t.Errorf("%d alerts fire", n)
	}
}
