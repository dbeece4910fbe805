package deploy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write the dashboards")

// dashboardsDir is in the chart, which has no files from outside of its directory.
const dashboardsDir = "chart/rivulet/files/dashboards/"

// metric is a metric of the lists in the doc.go of internal/observe and internal/serve, which their tests hold against
// the programs.
type metric struct {
	labels []string
	help   string
}

var (
	listed    = regexp.MustCompile(`^//\t((?:rivulet_\w+(?:\{[\w,]+\})?(?:, )?)+) *(.*)$`)
	continued = regexp.MustCompile(`^//\t {10,}(.*)$`)
	named     = regexp.MustCompile(`(rivulet_\w+)(?:\{([\w,]+)\})?`)
	part      = regexp.MustCompile(`_(bucket|sum|count)$`) // of a histogram
)

// metrics returns the lists by the metrics' names.
func metrics(t *testing.T) map[string]*metric {
	t.Helper()
	all := map[string]*metric{}
	for _, room := range []string{"observe", "serve"} {
		text, err := os.ReadFile("../internal/" + room + "/doc.go")
		expect.OK(t, err)
		var latest []*metric
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if found := listed.FindStringSubmatch(line); found != nil {
				latest = nil
				for _, name := range named.FindAllStringSubmatch(found[1], -1) {
					m := &metric{help: found[2]}
					if name[2] != "" {
						m.labels = strings.Split(name[2], ",")
					}
					all[name[1]], latest = m, append(latest, m)
				}
			} else if more := continued.FindStringSubmatch(line); more != nil {
				for _, m := range latest {
					m.help = strings.TrimSpace(m.help + " " + more[1])
				}
			} else {
				latest = nil
			}
		}
	}
	return all
}

// panel is a graph of a dashboard. Each of its metrics gives the query of its kind: a rate of a counter by its labels,
// two quantiles of a histogram, and a gauge as it is. Further queries are given as "legend: query",
// in which {} and [] stand for the variables of Grafana.
type panel struct {
	title   string
	unit    string // of Grafana
	metrics string
	queries []string
}

// row is a part of a dashboard, three panels side by side.
type row struct {
	title  string
	panels []panel
}

// Variables of the queries, which Grafana replaces.
const (
	ofJob    = `{job=~"$job"}`
	interval = "[$__rate_interval]"
)

var dashboards = map[string][]row{
	"stream": {
		{"Is all well?", []panel{
			{"Programs that are ready", "short", "", []string{"ready: sum(rivulet_ready{})",
				"there: count(rivulet_ready{})"}},
			{"Version that is served", "short", "", []string{
				"{{version}}: count by (version) (rivulet_artifact_info{})"}},
			{"Build", "short", "", []string{
				"{{version}} {{revision}}: count by (version, revision) (rivulet_build_info{})"}},
			{"A batch has waited for", "s", "rivulet_stalled_seconds", nil},
			{"Arrivals behind the end of their partition", "short", "rivulet_lag_records", nil},
			{"Repeated attempts", "ops", "rivulet_retries_total", nil},
		}},
		{"Throughput", []panel{
			{"Arrivals and answers", "recps", "rivulet_arrivals_total", []string{
				"predictions: sum(rate(rivulet_predictions_total{}[]))",
				"dead letters: sum(rate(rivulet_dead_letters_total{}[]))"}},
			{"Bytes of arrivals", "Bps", "rivulet_arrival_bytes_total", nil},
			{"Records of a batch", "short", "rivulet_batch_records", nil},
		}},
		{"Latency", []panel{
			{"From timestamp to prediction", "s", "rivulet_end_to_end_seconds", nil},
			{"Stages of a batch, mean", "s", "", []string{"{{stage}}: " +
				"sum by (stage) (rate(rivulet_stage_seconds_sum{}[])) / " +
				"sum by (stage) (rate(rivulet_stage_seconds_count{}[])) >= 0"}},
			{"Stages of a batch, 99th percentile", "s", "",
				[]string{"{{stage}}: histogram_quantile(0.99, sum by (stage, le) (rate(rivulet_stage_seconds_bucket{}[]))) >= 0"}},
		}},
		{"What is not predicted", []panel{
			{"Dead letters", "recps", "", []string{
				"{{reason}}: sum by (reason) (rate(rivulet_dead_letters_total{}[]))"}},
			{"Share of dead letters, by version", "percentunit", "", []string{
				"{{version}}: sum by (version) (rate(rivulet_dead_letters_total{}[])) / " +
					"sum by (version) (rate(rivulet_arrivals_total{}[])) >= 0"}},
			{"Passed over, and asked to forget", "recps", "rivulet_skipped_records_total rivulet_forgotten_ids_total", nil},
			{"Dropped, or gone before they were read", "recps", "rivulet_dropped_records_total rivulet_lost_records_total", nil},
			{"Degraded predictions", "recps", "rivulet_degraded_predictions_total", nil},
			{"Partitions that are assigned", "short", "rivulet_assigned_partitions", nil},
			{"Rebalances", "ops", "rivulet_rebalances_total", nil},
			{"Throttled by a quota of Kafka", "s", "rivulet_throttled_seconds_total", nil},
		}},
		{"Rows of M", []panel{
			{"Rows looked up", "rowsps", "rivulet_row_lookups_total rivulet_feature_lookups_total", nil},
			{"Found in the cache", "percentunit", "",
				[]string{"hits: sum(rate(rivulet_cache_hits_total{}[])) / " +
					"clamp_min(sum(rate(rivulet_cache_hits_total{}[])) + sum(rate(rivulet_cache_misses_total{}[])), 1e-9)"}},
			{"Memory of the cache", "bytes", "rivulet_cache_bytes", nil},
			{"Rows in the cache", "short", "rivulet_cache_entries", nil},
			{"Damaged rows, lost buckets", "ops",
				"rivulet_damaged_rows_total rivulet_evicted_buckets_total rivulet_arrival_rows_damaged_total", nil},
			{"Memory of rows of arrivals in Redis", "bytes", "rivulet_arrival_rows_bytes", nil},
			{"Rows of arrivals", "short", "rivulet_arrival_rows", nil},
			{"Rows of arrivals: written, found, refused", "rowsps",
				"rivulet_arrival_rows_written_total rivulet_arrival_rows_found_total rivulet_arrival_rows_refused_total", nil},
			{"Rows of arrivals that Redis did not take", "ops", "rivulet_arrival_rows_lost_total", nil},
		}},
		{"rivulet serve", []panel{
			{"Requests", "reqps", "", []string{
				"{{route}} {{status}}: sum by (route, status) (rate(rivulet_http_requests_total{}[])) > 0"}},
			{"Time of a request", "s", "rivulet_http_request_seconds", nil},
			{"Arrivals that wait", "short", "rivulet_http_waiting_arrivals", nil},
			{"Bodies under way", "bytes", "rivulet_http_body_bytes", nil},
			{"Valid tokens", "short", "rivulet_http_tokens rivulet_http_token_file_unreadable", nil},
		}},
		{"Processes", []panel{
			{"Processors in use", "short", "", []string{"{{instance}}: rate(process_cpu_seconds_total{}[])"}},
			{"Resident memory", "bytes", "", []string{"{{instance}}: process_resident_memory_bytes{}"}},
			{"Goroutines", "short", "", []string{"{{instance}}: go_goroutines{}"}},
		}},
	},
	"model": {
		{"Is it right?", []panel{
			{"Accuracy by labels that came", "percentunit",
				"rivulet_window_accuracy_ratio rivulet_window_reference_accuracy_ratio", nil},
			{"Calibration error", "percentunit", "rivulet_window_calibration_error_ratio", nil},
			{"Labels", "recps", "rivulet_labels_total", nil},
		}},
		{"Is the stream like training?", []panel{
			{"Confidence", "percentunit", "rivulet_window_confidence rivulet_window_reference_confidence", nil},
			{"Unknown neighbours", "percentunit",
				"rivulet_window_unknown_neighbours_ratio rivulet_window_reference_unknown_neighbours_ratio", nil},
			{"Distance of classes", "percentunit", "rivulet_window_class_distance_ratio", nil},
			{"Distance of features", "percentunit", "rivulet_window_feature_distance_ratio", nil},
			{"The ten features that differ most", "percentunit", "", []string{
				"{{feature}}: topk(10, max by (feature) (rivulet_window_named_feature_distance_ratio{}))"}},
			{"Predictions in the window", "short", "rivulet_window_predictions", nil},
			{"Labels in the window", "short", "rivulet_window_labels", nil},
		}},
		{"What it says", []panel{
			{"Predictions by class", "recps", "rivulet_predictions_total", nil},
			{"Abstained", "recps", "rivulet_abstained_predictions_total", nil},
			{"Features under another schema", "recps", "rivulet_other_schema_records_total", nil},
			{"Missing values and unknown categories", "ops", "rivulet_feature_values_total", nil},
		}},
		{"What it reads", []panel{
			{"Neighbours of arrivals", "ops", "rivulet_neighbours_total", nil},
			{"Arrivals without neighbours", "recps", "rivulet_isolated_arrivals_total", nil},
			{"Edges to oneself, and repeated ones", "ops", "rivulet_dropped_edges_total", nil},
			{"Arrivals that waited for edges of their own", "recps", "rivulet_edge_wait_arrivals_total", nil},
			{"Edges of their own", "recps", "rivulet_edge_wait_edges_total", nil},
			{"Edges between nodes of the graph", "recps", "rivulet_old_edges_total", nil},
			{"Arrivals and edges that wait", "short", "rivulet_edge_wait_records", nil},
			{"Bytes of the records between them", "bytes", "rivulet_edge_wait_bytes", nil},
			{"Edges whose weight was read as another one", "ops", "rivulet_edge_weights_total", nil},
			{"Rows of arrivals that are solved", "rowsps", "rivulet_arrival_solves_total", nil},
			{"What rows of arrivals leave out", "percentunit", "", []string{
				"left out: sum(rate(rivulet_arrival_residual_total{}[])) / " +
					"clamp_min(sum(rate(rivulet_arrival_solves_total{}[])), 1e-9)"}},
		}},
	},
}

// query is a query of a panel, and the name of its series. A comparison with 0 leaves out series that are no number,
// such as the mean time of a stage that no batch passes.
type query struct{ legend, expr string }

// of returns the queries of a panel, made of the lists of metrics.
func (p panel) of(all map[string]*metric) (found []query, err error) {
	names := strings.Fields(p.metrics)
	for k, words := range distinct(names) {
		name := names[k]
		m := all[name]
		if m == nil {
			return nil, fmt.Errorf("%s: there is no metric %s", p.title, name)
		}
		by, with := "", ""
		if m.labels != nil {
			words = strings.TrimSpace(words + " {{" + strings.Join(m.labels, "}} {{") + "}}")
			by, with = " by ("+strings.Join(m.labels, ", ")+") ", strings.Join(m.labels, ", ")+", "
		}
		switch {
		case strings.HasSuffix(name, "_total"):
			if words == "" {
				words = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "rivulet_"), "_total"), "_", " ")
			}
			found = append(found, query{words, "sum" + by + "(rate(" + name + ofJob + interval + "))"})
		case name == "rivulet_batch_records" || strings.HasSuffix(name, "_seconds") && name != "rivulet_stalled_seconds":
			for _, q := range [][2]string{{"0.5", "median"}, {"0.99", "99th percentile"}} {
				found = append(found, query{strings.TrimSpace(words + " " + q[1]), "histogram_quantile(" + q[0] + ", sum by (" +
					with + "le) (rate(" + name + "_bucket" + ofJob + interval + "))) >= 0"})
			}
		default:
			found = append(found, query{strings.TrimSpace("{{instance}} " + words), name + ofJob})
		}
	}
	for _, q := range p.queries {
		legend, expr, _ := strings.Cut(q, ": ")
		found = append(found, query{legend, strings.NewReplacer("{}", ofJob, "[]", interval).Replace(expr)})
	}
	return found, nil
}

// distinct returns the words by which the names of a panel's metrics differ: "" and "at training" for
// rivulet_window_confidence and rivulet_window_reference_confidence, and "" for a single metric.
func distinct(names []string) (words []string) {
	split := make([][]string, len(names))
	for k, name := range names {
		split[k] = strings.Split(strings.TrimSuffix(strings.TrimPrefix(name, "rivulet_"), "_total"), "_")
	}
	same := func(at func(of []string) string) bool {
		return !slices.ContainsFunc(split, func(of []string) bool { return len(of) == 0 || at(of) != at(split[0]) })
	}
	for len(split) > 0 && same(func(of []string) string { return of[0] }) {
		for k := range split {
			split[k] = split[k][1:]
		}
	}
	for len(split) > 0 && same(func(of []string) string { return of[len(of)-1] }) {
		for k := range split {
			split[k] = split[k][:len(split[k])-1]
		}
	}
	for _, of := range split {
		words = append(words, strings.ReplaceAll(strings.Join(of, " "), "reference", "at training"))
	}
	return words
}

// stats are the panels that show latest values in place of a graph, and what they show: the series' name or value.
var stats = map[string]string{"Programs that are ready": "value_and_name", "Version that is served": "name",
	"Build": "name"}

// softMax is the end of the axis of a panel that shows smaller values, by unit, if it is not 1: of zeros alone Grafana
// would draw an axis to 100.
var softMax = map[string]float64{"s": 0.01, "percentunit": 0.01, "bytes": 1024}

// legends are the places of legends that have too many entries to stand below a graph.
var legends = map[string]string{"Dead letters": "right", "Predictions by class of both": "right",
	"Its answers beside the version that serves": "right"}

// dashboard returns the JSON of a dashboard for Grafana.
func dashboard(name string, rows []row, all map[string]*metric) ([]byte, error) {
	type object = map[string]any
	var panels []object
	y := 0
	for _, r := range rows {
		panels = append(panels, object{"type": "row", "title": r.title, "collapsed": false, "panels": []any{},
			"gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		for k, p := range r.panels {
			queries, err := p.of(all)
			if err != nil {
				return nil, err
			}
			var targets []object
			for i, q := range queries {
				targets = append(targets, object{"refId": string(rune('A' + i)), "expr": q.expr, "legendFormat": q.legend})
			}
			var help []string
			for _, q := range queries {
				for _, name := range named.FindAllString(q.expr, -1) {
					if all[name] == nil {
						name = part.ReplaceAllString(name, "")
					}
					if m := all[name]; m != nil {
						help = append(help, strings.TrimSuffix(name+": "+m.help, ": "))
					}
				}
			}
			slices.Sort(help)
			help = slices.Compact(help)
			drawn := object{"type": "timeseries", "title": p.title, "description": strings.Join(help, "\n\n"),
				"datasource": object{"type": "prometheus", "uid": "$datasource"}, "targets": targets,
				"gridPos": object{"x": k % 3 * 8, "y": y + k/3*8, "w": 8, "h": 8}}
			defaults := object{"unit": p.unit, "min": 0,
				"custom": object{"fillOpacity": 8, "axisSoftMax": cmp.Or(softMax[p.unit], 1)}}
			drawn["options"] = object{"legend": object{"displayMode": "list", "placement": cmp.Or(legends[p.title], "bottom")},
				"tooltip": object{"mode": "multi"}}
			if text := stats[p.title]; text != "" {
				drawn["type"], defaults = "stat", object{"unit": p.unit}
				drawn["options"] = object{"textMode": text, "colorMode": "none", "graphMode": "none",
					"reduceOptions": object{"calcs": []string{"lastNotNull"}}}
			}
			drawn["fieldConfig"] = object{"defaults": defaults, "overrides": []any{}}
			panels = append(panels, drawn)
		}
		y += (len(r.panels) + 2) / 3 * 8
	}
	for k, p := range panels {
		p["id"] = k + 1
	}
	variables := []object{
		{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
		{"name": "job", "label": "Job", "type": "query", "query": "label_values(rivulet_build_info, job)", "refresh": 2,
			"multi": true, "includeAll": true, "allValue": ".+", "current": object{"text": "All", "value": "$__all"},
			"datasource": object{"type": "prometheus", "uid": "$datasource"}},
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(object{"uid": "rivulet-" + name, "title": "Rivulet: the " + name, "tags": []string{"rivulet"},
		"schemaVersion": 39, "editable": true, "refresh": "10s", "time": object{"from": "now-30m", "to": "now"},
		"templating": object{"list": variables}, "panels": panels,
		"links": []object{{"type": "dashboards", "title": "Rivulet", "tags": []string{"rivulet"}, "includeVars": true}}})
	return text.Bytes(), err
}

// The dashboards are made of the lists of metrics, and show each metric. Grafana is told where they are.
func TestDashboards(t *testing.T) {
	all := metrics(t)
	if len(all) < 50 {
		t.Fatalf("%d metrics are found in the lists", len(all))
	}
	var shown strings.Builder
	for name, rows := range dashboards {
		text, err := dashboard(name, rows, all)
		expect.OK(t, err)
		shown.Write(text)
		file := dashboardsDir + name + ".json"
		if *update {
			expect.OK(t, os.WriteFile(file, text, 0o666))
		}
		if is, err := os.ReadFile(file); err != nil || !bytes.Equal(is, text) {
			t.Errorf("%s is not what the list of metrics gives: go test ./deploy -run Dashboards -update (%v)", file, err)
		}
	}
	words := regexp.MustCompile(`rivulet_\w+`).FindAllString(shown.String(), -1)
	for name := range all {
		if !slices.Contains(words, name) && !slices.Contains(words, name+"_bucket") {
			t.Errorf("no dashboard shows %s", name)
		}
	}
	for _, word := range words {
		if all[word] == nil && all[part.ReplaceAllString(word, "")] == nil {
			t.Errorf("a dashboard asks for %s, which is no metric", word)
		}
	}
	var provisioning struct {
		Providers []struct{ Options struct{ Path string } }
	}
	readYAML(t, "grafana/dashboards.yaml", &provisioning)
	for _, volume := range readCompose(t).Services["grafana"].Volumes {
		if strings.HasPrefix(volume, "./deploy/"+dashboardsDir+":"+provisioning.Providers[0].Options.Path+":") {
			return
		}
	}
	t.Error("compose.yaml does not mount the dashboards where Grafana looks for them")
}
