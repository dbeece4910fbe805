#!/usr/bin/env bash
# The licences of everything that the three programs carry beside this project's own code, as one text on standard output: the modules
# that are linked, the Go runtime and the chart library of the live page. The image and `make archive`
# include it. A module without a licence file is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

title() { printf '\n%s\n%s\n\n' "$(printf '=%.0s' {1..80})" "$1"; }

echo "Rivulet includes the following software of others, under these licences."
title "The Go standard library and runtime $(go env GOVERSION)"
cat "$(go env GOROOT)/LICENSE"
title "uPlot, in the live page"
cat internal/page/static/vendor/uplot/LICENSE

modules=$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/... | sort -u)
while read -r path version dir; do
  found=
  for file in "$dir"/*; do
    name=${file##*/}
    case ${name^^} in
      LICENSE* | LICENCE* | COPYING* | NOTICE* | PATENTS*)
        [ -f "$file" ] || continue
        title "$path $version: $name"
        cat "$file"
        found=yes
        ;;
    esac
  done
  [ -n "$found" ] || { echo "$path $version has no licence file" >&2; exit 1; }
done <<<"$modules"
