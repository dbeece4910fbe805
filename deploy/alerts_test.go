package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// The rules name metrics that there are, and say of each alert how grave it is and what to do.
func TestAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	readYAML(t, "alerts.yaml", &rules)
	known := metrics(t)
	runbooks, err := os.ReadFile("../docs/operate.md")
	expect.OK(t, err)
	seen := map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			names := regexp.MustCompile(`rivulet_\w+`).FindAllString(r.Expr, -1)
			if len(names) == 0 || r.Alert == "" || seen[r.Alert] {
				t.Errorf("alert %q in group %s asks for %v, or is there twice", r.Alert, g.Name, names)
			}
			seen[r.Alert] = true
			for _, name := range names {
				if known[strings.TrimSuffix(name, "_bucket")] == nil {
					t.Errorf("%s: there is no metric %s", r.Alert, name)
				}
			}
			if strings.Contains(r.Expr, "job=") {
				t.Errorf("%s wants a job of one name", r.Alert)
			}
			if want := "docs/operate.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: the runbook is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if commands := runbook(string(runbooks), r.Alert); strings.Count(commands, "\n") < 2 {
				t.Errorf("docs/operate.md has no three commands for %s, but %q", r.Alert, commands)
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: severity, summary or description is missing", r.Alert)
			}
		}
	}
	var prometheus struct {
		RuleFiles []string `yaml:"rule_files"`
	}
	readYAML(t, "prometheus.yaml", &prometheus)
	if len(prometheus.RuleFiles) != 1 || prometheus.RuleFiles[0] != "alerts.yaml" {
		t.Errorf("prometheus.yaml reads the rules %v", prometheus.RuleFiles)
	}
}

// runbook returns the commands that a page has for an alert: those of the section in which the alert has its anchor.
func runbook(page, alert string) string {
	for _, section := range regexp.MustCompile("(?m)^#+ ").Split(page, -1) {
		if strings.Contains(section, `<a id="`+strings.ToLower(alert)+"\"></a>`"+alert+"`: ") {
			if block := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```").FindStringSubmatch(section); block != nil {
				return block[1]
			}
		}
	}
	return ""
}

// Each alert fires in one of the tests of alerts_test.yaml, which TestPromtool runs.
func TestEveryAlertIsTested(t *testing.T) {
	var rules struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	readYAML(t, "alerts.yaml", &rules)
	var tests struct {
		Tests []struct {
			Expressions []struct {
				Expected []struct{ Labels string } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	readYAML(t, "alerts_test.yaml", &tests)
	fires := map[string]bool{}
	for _, test := range tests.Tests {
		for _, e := range test.Expressions {
			for _, sample := range e.Expected {
				if name := regexp.MustCompile(`alertname="(\w+)"`).FindStringSubmatch(sample.Labels); name != nil {
					fires[name[1]] = true
				}
			}
		}
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if !fires[r.Alert] {
				t.Errorf("%s fires in no test", r.Alert)
			}
		}
	}
}

// docs/operate.md explains each alert, and each line of the log that a consumer's life has.
func TestOperateExplains(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		expect.OK(t, err)
		return string(text)
	}
	doc := strings.Join(strings.Fields(read("../docs/operate.md")), " ") // lines are wrapped anywhere
	for _, alert := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read("alerts.yaml"), -1) {
		if !strings.Contains(doc, "`"+alert[1]+"`") {
			t.Errorf("docs/operate.md does not explain the alert %s", alert[1])
		}
	}
	lines := regexp.MustCompile(`msg="([^"]+)"`).FindAllStringSubmatch(read("../test/integration/testdata/story.log"), -1)
	if len(lines) < 10 {
		t.Fatalf("%d lines are found in the log", len(lines))
	}
	for _, line := range lines {
		text := regexp.MustCompile(`waiting for .*`).ReplaceAllString(line[1], "waiting for …")
		if !strings.Contains(doc, "`"+text+"`") {
			t.Errorf("docs/operate.md does not explain the line %q", line[1])
		}
	}
}

// Prometheus takes the rules, and they fire when they should.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus); .ci/run installs it")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "SUCCESS") {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
