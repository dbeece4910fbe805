package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/internal/devstack"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// quiet matches queries without an answer, as the stream has no tokens.
var quiet = regexp.MustCompile(`rivulet_http_token`)

// Each query of the dashboards is answered by a real Prometheus that scrapes the programs while a stream passes, in a
// job that is called neither rivulet nor consumer; and no alert fires. The stream is that of the tutorial. One
// consumer's arrivals get rows of M, and another one, of a group of its own, serves a version that is not CURRENT.
//
// RIVULET_TEST_DASHBOARDS names a directory: then the stream takes minutes, and answers.json there gets the answers of
// that time, which tools/dashboards draws.
func TestPrometheusAnswersEachQuery(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil || testing.Short() {
		t.Skip("starts Prometheus (Debian: prometheus, which .ci/run installs) and programs; left out with -short")
	}
	w := harness.Workshop{Dir: t.TempDir(), Bin: os.Getenv("RIVULET_TEST_BIN")}
	must := func(err error) {
		t.Helper()
		expect.OK(t, err)
	}
	if w.Bin == "" {
		w.Bin = w.Path("bin")
		must(harness.Build(t.Context(), w.Bin))
	}
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Addr: "127.0.0.1:0", Topics: map[string]int{"arrivals": 2,
		"predictions.growth": 2, "predictions.trial": 2, "arrivals.dead-letters": 1, "labels": 1}})
	must(err)
	defer broker.Close()
	redis, err := devstack.StartRedis()
	must(err)
	defer redis.Close()
	must(os.CopyFS(w.Path("data"), os.DirFS("../examples/shop")))
	trainer := func(args ...string) {
		t.Helper()
		_, err := w.Output(t.Context(), nil, "trainer", args...)
		must(err)
	}
	trainer("data", "init", w.Path("data"), "--label", "favourite")
	for _, nodes := range []string{"50", "80"} {
		trainer("train", "--costs=false", "--data", w.Path("data"), "--models", "sgc,ssgc", "--nodes", nodes, "--out",
			w.Path("artifact-"+nodes))
	}
	// Some users come with a device that the training had not seen.
	users, err := os.ReadFile(w.Path("data/users.csv"))
	must(err)
	must(w.Write("data/users.csv", regexp.MustCompile(`(?m)^(u[0-9]*7,.*),(laptop|phone|tablet),`).ReplaceAllString(
		string(users), "$1,watch,")))
	settings := fmt.Sprintf(`kafka: {brokers: [%q], topics: {predictions: predictions.%%s}, group: %%[1]s}
redis: {url: %q}
labels: {topic: labels}
http: {listen: "127.0.0.1:0"}
serve: {listen: "127.0.0.1:0"}
`, broker.Addr(), redis.URL())
	must(w.Write("rivulet.yaml", fmt.Sprintf(settings, "growth")+`attach: {arrivals: "on"}`))
	run := func(program string, args ...string) {
		t.Helper()
		_, err := w.Output(t.Context(), nil, program, append(args, "--config", w.Path("rivulet.yaml"))...)
		must(err)
	}
	run("trainer", "publish", "--artifact", w.Path("artifact-50"))
	said, err := w.Output(t.Context(), nil, "trainer", "publish", "--artifact", w.Path("artifact-80"), "--activate=false",
		"--config", w.Path("rivulet.yaml"))
	must(err)
	version, _, _ := strings.Cut(string(said), " ")
	must(w.Write("trial.yaml", fmt.Sprintf(settings, "trial")+"version: "+version+"\n"))
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
	var targets []string
	for _, file := range []string{"rivulet.yaml", "trial.yaml"} {
		targets = append(targets, listens(w.Bin+"/consumer", `listening for metrics and health.*address=(\S+)`, "--config",
			w.Path(file)))
	}
	server := listens(w.Bin+"/rivulet", `msg="answering arrivals" address=(\S+)`, "serve", "--config",
		w.Path("rivulet.yaml"))
	alerts, err := os.ReadFile("alerts.yaml")
	must(err)
	must(w.Write("alerts.yaml", string(alerts)))
	must(w.Write("prometheus.yaml", fmt.Sprintf(
		"global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [alerts.yaml]\n"+
			"scrape_configs: [{job_name: pods, static_configs: [{targets: [%s, %s]}]}]\n", strings.Join(targets, ", "), server)))
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
	await("the three programs are scraped", "count(sum_over_time(up[1m]) >= 2) == 3")
	begin, pictures := time.Now(), os.Getenv("RIVULET_TEST_DASHBOARDS")
	arrivals := []string{"replay", "--data", w.Path("data"), "--labels", "labels"}
	if pictures != "" { // labels come after the arrivals, and are to come more than once
		arrivals = append(arrivals, "--rate", "20", "--limit", "250")
	}
	for again := true; again; again = pictures != "" && time.Since(begin) < 4*time.Minute {
		get("http://" + server + "/nothing-here")
		run("rivulet", arrivals...)
	}
	await("the stream has passed", "sum(rivulet_lag_records) == 0 and sum(rate(rivulet_arrivals_total[1m])) > 0")
	await("labels have come", "rivulet_window_accuracy_ratio")
	await("requests are scraped", "sum(rate(rivulet_http_requests_total[1m])) > 0")
	await("an unknown device is scraped twice", "rate(rivulet_feature_values_total[1m])")
	await("both versions are scraped twice", "count(sum by (version) (rate(rivulet_arrivals_total[1m]))) == 2")
	// A picture has the answers from begin to end, one each step, as Grafana asks for them.
	type saved struct {
		From   int64                      `json:"from"`
		To     int64                      `json:"to"`
		Step   int                        `json:"step"`
		Series map[string]json.RawMessage `json:"series"` // by the dashboard's query
	}
	picture := saved{begin.Unix(), time.Now().Unix(), 2, map[string]json.RawMessage{}}
	over := func(expr string) json.RawMessage {
		t.Helper()
		_, text := get(address + "/api/v1/query_range?" + url.Values{"query": {expr}, "start": {fmt.Sprint(picture.From)},
			"end": {fmt.Sprint(picture.To)}, "step": {fmt.Sprint(picture.Step)}}.Encode())
		var answer struct {
			Data struct{ Result json.RawMessage }
		}
		must(json.Unmarshal(text, &answer))
		return answer.Data.Result
	}
	all := metrics(t)
	for name, rows := range dashboards {
		var table strings.Builder
		for _, r := range rows {
			for _, p := range r.panels {
				queries, err := p.of(all)
				must(err)
				for _, q := range queries {
					expr := strings.NewReplacer("$job", ".+", "$__rate_interval", "1m").Replace(q.expr)
					if pictures != "" {
						picture.Series[q.expr] = over(strings.ReplaceAll(expr, "[1m]", "[20s]"))
					}
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
	if pictures != "" {
		text, err := json.Marshal(picture)
		must(err)
		must(os.WriteFile(filepath.Join(pictures, "answers.json"), text, 0o600))
	}
	if n := len(values(`ALERTS{alertstate="firing"}`)); n > 0 {
		t.Errorf("%d alerts fire", n)
	}
}
