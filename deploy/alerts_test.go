package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
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
	doc, err := os.ReadFile("../internal/observe/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range regexp.MustCompile(`rivulet_\w+`).FindAllString(string(doc), -1) {
		known[name] = true
	}
	seen := map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			names := regexp.MustCompile(`rivulet_\w+`).FindAllString(r.Expr, -1)
			if len(names) == 0 || r.Alert == "" || seen[r.Alert] {
				t.Errorf("alert %q in group %s asks for %v, or is there twice", r.Alert, g.Name, names)
			}
			seen[r.Alert] = true
			for _, name := range names {
				if !known[name] {
					t.Errorf("%s: there is no metric %s", r.Alert, name)
				}
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

// Prometheus takes the rules.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", "alerts.yaml").CombinedOutput(); err != nil || !strings.Contains(string(out), "SUCCESS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Records that are gone raise an alert, and end it.
func TestLostRecordsAlert(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", "alerts_lost_test.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
