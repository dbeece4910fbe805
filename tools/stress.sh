#!/bin/sh
# Runs the tests of each package many times beside a load of busy processes: a test that fails once is a defect.
#
#   stress.sh [PACKAGE...]   packages as go test takes them (default ./...)
#
# It lists each package with its time, writes the output of those that fail into OUT, and ends with 1 if there is any.
# The environment may set
#
#   COUNT  how often each test runs (default 30)
#   LOAD   busy processes beside them (default 8)
#   OUT    a directory for the output of packages that fail (default out/stress)
#   FLAGS  further flags of go test (default -short)
set -eu

count=${COUNT:-30}
load=${LOAD:-8}
out=${OUT:-out/stress}
flags=${FLAGS--short}
mkdir -p "$out"
packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${@:-./...}")

busy=
trap 'test -z "$busy" || kill $busy' EXIT
trap 'exit 130' INT TERM
i=0
while [ "$i" -lt "$load" ]; do
  sh -c 'while :; do :; done' &
  busy="$busy $!"
  i=$((i + 1))
done

failed=
for package in $packages; do
  log=$out/$(echo "$package" | tr / -).log
  begin=$(date +%s)
  # shellcheck disable=SC2086 # flags are several words
  if go test $flags -count="$count" -timeout 60m "$package" > "$log" 2>&1; then
    echo "ok    $package  $(($(date +%s) - begin)) s"
    rm "$log"
  else
    echo "FAIL  $package  $(($(date +%s) - begin)) s  $log"
    grep -E '^ *--- FAIL|^panic:|^\*\*\* Test killed' "$log" | sort | uniq -c | sed 's/^/      /' || true
    failed="$failed $package"
  fi
done
test -z "$failed" || { echo "packages that failed:$failed"; exit 1; }
