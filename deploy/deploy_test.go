// Package deploy holds no code. Its test reads the files that start the programs.
package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"rivulet/config"
	"rivulet/test/expect"
)

// consumer.yaml lists every setting with its default, so that it can be read as an example and trusted.
func TestConsumerExample(t *testing.T) {
	got, err := config.Load[config.Consumer](config.Sources{Environ: []string{"RIVULET_CONFIG=consumer.yaml"}})
	expect.OK(t, err)
	if diff := cmp.Diff(config.Default[config.Consumer](), got); diff != "" {
		t.Errorf("consumer.yaml differs from the defaults (-default +file):\n%s", diff)
	}

	settings := map[string]any{}
	readYAML(t, "consumer.yaml", &settings)
	flags := pflag.NewFlagSet("consumer", pflag.ContinueOnError)
	config.Flags[config.Consumer](flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && !has(settings, strings.Split(f.Name, ".")) {
			t.Errorf("consumer.yaml lacks %s", f.Name)
		}
	})
}

func has(settings map[string]any, key []string) bool {
	value, there := settings[key[0]]
	if below, section := value.(map[string]any); section && len(key) > 1 {
		return has(below, key[1:])
	}
	return there && len(key) == 1
}

func TestPublishExample(t *testing.T) {
	got, err := config.Load[config.Publish](config.Sources{Environ: []string{"RIVULET_CONFIG=publish.yaml"}})
	expect.OK(t, err)
	if got.Artifact == "" {
		t.Error("publish.yaml names no artifact")
	}
}

// compose has the fields of a compose file that the tests read; docker checks the rest.
type compose struct {
	Services map[string]*service
	Volumes  map[string]any
}

type service struct {
	Image       string
	Build       struct{ Dockerfile string }
	User        string
	Command     []string
	Environment map[string]string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Volumes     []string
	Healthcheck struct{ Test []string }
}

func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	readYAML(t, "../compose.yaml", &c)
	for _, name := range []string{"kafka", "redis", "trainer", "consumer", "producer", "serve"} {
		if c.Services[name] == nil {
			t.Fatalf("service %s is not there", name)
		}
	}
	return c
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	expect.OK(t, err)
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// A pinned tag names a release. Our own image is built here.
var pinned = regexp.MustCompile(`:v?\d+\.\d+\.\d+(-\w+)?$|^rivulet:dev$`)

func TestImagesArePinned(t *testing.T) {
	for name, s := range readCompose(t).Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %q has no tag of a release", name, s.Image)
		}
		if s.Build.Dockerfile != "" {
			if _, err := os.Stat("../" + s.Build.Dockerfile); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What others wait for to be healthy must say when it is; what is mounted must be there.
func TestComposeHangsTogether(t *testing.T) {
	c := readCompose(t)
	for name, s := range c.Services {
		for other, on := range s.DependsOn {
			switch target := c.Services[other]; {
			case target == nil:
				t.Errorf("%s depends on %s, which is not there", name, other)
			case on.Condition == "service_healthy" && len(target.Healthcheck.Test) == 0:
				t.Errorf("%s waits for %s to be healthy, which has no healthcheck", name, other)
			case on.Condition == "service_started":
				t.Errorf("%s depends on %s as %q: started is not ready", name, other, on.Condition)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(source, ".") {
				if _, declared := c.Volumes[source]; !declared {
					t.Errorf("%s: volume %s is not declared", name, source)
				}
			} else if _, err := os.Stat("../" + source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The programs take what compose.yaml sets: variables, and the flags of the settings.
func TestComposeSettings(t *testing.T) {
	c := readCompose(t)
	load := func(name string) config.Consumer {
		var environ []string
		for k, v := range c.Services[name].Environment {
			environ = append(environ, k+"="+v)
		}
		cfg, err := config.Load[config.Consumer](config.Sources{Environ: environ})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return cfg
	}
	consumer, trainer, producer := load("consumer"), load("trainer"), load("producer")
	if consumer.Redis.URL != trainer.Redis.URL || consumer.Redis.Prefix != trainer.Redis.Prefix {
		t.Errorf("the trainer publishes to %s, the consumer reads %s", trainer.Redis.URL, consumer.Redis.URL)
	}
	if diff := cmp.Diff(producer.Kafka.Brokers.Brokers, consumer.Kafka.Brokers.Brokers); diff != "" {
		t.Errorf("brokers (-producer +consumer):\n%s", diff)
	}
	var environ []string
	for k, v := range c.Services["serve"].Environment {
		environ = append(environ, k+"="+v)
	}
	served, err := config.Load[config.Serve](config.Sources{Environ: append(environ, "RIVULET_CONFIG=consumer.yaml")})
	if err != nil || served.Redis.URL != consumer.Redis.URL || served.Redis.Prefix != consumer.Redis.Prefix {
		t.Errorf("serve reads %s, the consumer %s: %v", served.Redis.URL, consumer.Redis.URL, err)
	}
	made := strings.Join(c.Services["topics"].Command, " ")
	for _, topic := range []string{consumer.Kafka.Topics.Arrivals, consumer.Kafka.Topics.Predictions,
		consumer.Kafka.Topics.DeadLetters} {
		if !slices.Contains(strings.Fields(strings.ReplaceAll(made, ";", " ")), topic) {
			t.Errorf("topic %s is not created by %q", topic, made)
		}
	}
	port := consumer.HTTP.Listen + "/readyz"
	if test := c.Services["consumer"].Healthcheck.Test; !strings.Contains(test[len(test)-1], port) {
		t.Errorf("the consumer's healthcheck %q does not ask %s", test, port)
	}
}

// The image's programs say which version they are, and so does its label: the Dockerfile's linker flags set it.
func TestImageSaysItsVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; left out with -short")
	}
	text, err := os.ReadFile("Dockerfile")
	expect.OK(t, err)
	flags := regexp.MustCompile(`-ldflags="([^"]+)"`).FindStringSubmatch(string(text))
	if flags == nil {
		t.Fatal("the Dockerfile builds without linker flags")
	}
	given := strings.NewReplacer("$VERSION", "9.8.7", "$COMMIT", "c0ffee").Replace(flags[1])
	program := filepath.Join(t.TempDir(), "consumer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", given, "-o", program,
		"rivulet/cmd/consumer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if want := "consumer version 9.8.7, commit c0ffee, go"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
	for _, label := range []string{"org.opencontainers.image.version=$VERSION",
		"org.opencontainers.image.revision=$COMMIT"} {
		if !strings.Contains(string(text), label) {
			t.Errorf("the image has no label %s", label)
		}
	}
}

// The image and archives have the licence of every module that the programs carry.
func TestNoticesOfThirdParties(t *testing.T) {
	notices, err := exec.CommandContext(t.Context(), "../tools/notices.sh").Output()
	expect.OK(t, err)
	linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}: {{end}}{{end}}", "rivulet/cmd/...").Output()
	expect.OK(t, err)
	for module := range strings.Lines(string(linked)) {
		if module := strings.TrimSpace(module); !strings.Contains(string(notices), "\n"+module) {
			t.Errorf("the notices lack %s", module)
		}
	}
	for name, want := range map[string]string{"Dockerfile": "COPY --from=build /src/LICENSE /THIRD_PARTY_NOTICES /",
		"../Makefile": "tools/notices.sh >$$dir/THIRD_PARTY_NOTICES"} {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no notices: %v", name, err)
		}
	}
}

// What is released together has one version, and topics have one name.
func TestVersionsAndTopicsAgree(t *testing.T) {
	var chart struct {
		Version    string
		AppVersion string `yaml:"appVersion"`
	}
	readYAML(t, "chart/rivulet/Chart.yaml", &chart)
	var contract struct {
		Info     struct{ Version string }
		Channels map[string]struct{ Address string }
	}
	readYAML(t, "../event/asyncapi.yaml", &contract)
	wheel, err := os.ReadFile("../python/pyproject.toml")
	expect.OK(t, err)
	manifests, err := os.ReadFile("kubernetes/kustomization.yaml")
	expect.OK(t, err)
	if v := chart.AppVersion; chart.Version != v || contract.Info.Version != v ||
		!strings.Contains(string(wheel), "\nversion = \""+v+"\"\n") ||
		!strings.Contains(string(manifests), "newTag: "+v+"\n") {
		t.Errorf("the chart is %s of %s, the contract %s; see python/pyproject.toml and kubernetes/kustomization.yaml",
			chart.Version, v, contract.Info.Version)
	}
	topics := config.Default[config.Consumer]().Kafka.Topics
	for channel, want := range map[string]string{"arrivals": topics.Arrivals, "predictions": topics.Predictions,
		"deadLetters": topics.DeadLetters} {
		if got := contract.Channels[channel].Address; got != want {
			t.Errorf("asyncapi.yaml calls the topic %q, the settings %q", got, want)
		}
	}
}

// No container of ours runs as root.
func TestNotRoot(t *testing.T) {
	dockerfile, err := os.ReadFile("Dockerfile")
	expect.OK(t, err)
	users := regexp.MustCompile(`(?m)^USER (\S+)$`).FindAllStringSubmatch(string(dockerfile), -1)
	if len(users) == 0 || strings.HasPrefix(users[len(users)-1][1], "0") ||
		strings.HasPrefix(users[len(users)-1][1], "root") {
		t.Errorf("users of the Dockerfile: %v", users)
	}
	for name, s := range readCompose(t).Services {
		if s.User == "root" || strings.HasPrefix(s.User, "0") || name == "redis" && s.User == "" {
			t.Errorf("%s runs as %q", name, s.User)
		}
	}
}
