package config

import (
	"regexp"
	"strings"
)

// portVariable is the variable of one port of a Service: its number comes in the name, and again in the value.
var portVariable = regexp.MustCompile(`^(.+)_PORT_([0-9]{1,5})_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR|)$`)

// An address as Kubernetes writes it, and a port.
var link, number = regexp.MustCompile(`^(tcp|udp|sctp)://`), regexp.MustCompile(`^[0-9]+$`)

// serviceVariables returns the names among variables that Kubernetes has put there for its Services. Kubernetes gives
// each container such variables for every Service of its namespace, in the form of Docker's links. For a Service called
// rivulet-page with the port 8080 they are
//
//	RIVULET_PAGE_SERVICE_HOST=10.0.0.7
//	RIVULET_PAGE_SERVICE_PORT=8080
//	RIVULET_PAGE_SERVICE_PORT_HTTP=8080     (for a port with a name)
//	RIVULET_PAGE_PORT=tcp://10.0.0.7:8080
//	RIVULET_PAGE_PORT_8080_TCP=tcp://10.0.0.7:8080
//	RIVULET_PAGE_PORT_8080_TCP_PROTO=tcp    (and _PORT, _ADDR)
//
// They begin like settings, but are none. A misspelt setting has another form, and is still refused.
func serviceVariables(variables []string) map[string]bool {
	services := map[string]bool{} // names of Services: they begin names of variables
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if service, is := strings.CutSuffix(name, "_SERVICE_HOST"); is && strings.HasPrefix(name, envPrefix) && value != "" {
			services[service] = true
		}
		if service, is := strings.CutSuffix(name, "_PORT"); is && link.MatchString(value) {
			services[service] = true
		}
	}
	found := map[string]bool{}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && isServiceVariable(name, value, services) {
			found[name] = true
		}
	}
	return found
}

// isServiceVariable reports whether Kubernetes set a variable: for one of the Services, or for a port, by its name.
func isServiceVariable(name, value string, services map[string]bool) bool {
	if service, is := strings.CutSuffix(name, "_SERVICE_HOST"); is && services[service] {
		return true
	}
	if service, is := strings.CutSuffix(name, "_PORT"); is && link.MatchString(value) && services[service] {
		return true
	}
	if service, port, is := strings.Cut(name, "_SERVICE_PORT"); is && services[service] {
		return (port == "" || port[0] == '_') && number.MatchString(value)
	}
	return portVariable.MatchString(name)
}
