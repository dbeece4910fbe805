#!/bin/sh
# A real schema registry for tests: Apicurio, from Maven Central, without a container. It keeps its schemas in memory.
#
#   registry.sh fetch              get the registry if it is not there
#   registry.sh start DIR [PORT]   get the registry if it is not there, start, wait until it serves
#   registry.sh stop DIR           stop and wait
#   registry.sh url DIR            print the address that speaks Confluent's API
#
# PORT (default 29180) is on 127.0.0.1. DIR/port holds PORT, DIR/registry.log the log. Nobody logs in: never let it be
# reached from outside.
#
# Needs java 11 or newer, curl, tar, and mvn (for the first start). The environment may set
#
#   REGISTRY_APP   where the program is kept (default ~/.cache/rivulet/apicurio-VERSION)
#   REGISTRY_HEAP  its memory (default 400m)
#   REGISTRY_WAIT  how many seconds it may take to start (default 300; it takes six on a machine that is idle)
set -eu

version=2.6.13.Final # of the later ones, 3.3 needs java 21
app=${REGISTRY_APP:-${XDG_CACHE_HOME:-$HOME/.cache}/rivulet/apicurio-$version}
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

fail() {
  echo "registry.sh: $*" >&2
  exit 1
}

need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
  done
}

# The program and its jars, once. The directory appears whole or not at all.
fetch() {
  [ -d "$app" ] && return 0
  need mvn tar
  mkdir -p "$(dirname "$app")"
  new=$(mktemp -d "$app.XXXXXX")
  echo "registry.sh: fetching Apicurio Registry $version to $app" >&2
  if ! mvn -q -B "$plugin:copy" "-Dartifact=io.apicurio:apicurio-registry-app:$version:tar.gz:all" "-DoutputDirectory=$new" \
    >"$new.log" 2>&1 || ! tar -xzf "$new/apicurio-registry-app-$version-all.tar.gz" -C "$new" 2>>"$new.log"; then
    cat "$new.log" >&2
    rm -rf "$new" "$new.log"
    fail "Apicurio Registry $version could not be fetched"
  fi
  rm -f "$new.log" "$new/apicurio-registry-app-$version-all.tar.gz"
  mv "$new" "$app" 2>/dev/null || { rm -rf "$new"; [ -d "$app" ] || fail "$app could not be written"; }
}

url() { echo "http://127.0.0.1:$port/apis/ccompat/v7"; }

alive() { [ -f "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; }

serves() { curl -sf -m 10 -o "$dir/subjects" "$(url)/subjects"; }

start() {
  need java curl
  alive && fail "it is running already: $dir/pid"
  fetch
  mkdir -p "$dir"
  echo "$port" >"$dir/port"
  (exec java "-Xmx${REGISTRY_HEAP:-400m}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dquarkus.http.host=127.0.0.1 \
    "-Dquarkus.http.port=$port" -jar "$app/apicurio-registry-app-$version-runner.jar" >"$dir/registry.log" 2>&1 </dev/null) &
  echo $! >"$dir/pid"
  begun=$(date +%s)
  until serves; do
    alive || { tail -n 20 "$dir/registry.log" >&2; rm -f "$dir/pid"; fail "the registry ended while it started"; }
    [ $(($(date +%s) - begun)) -lt "${REGISTRY_WAIT:-300}" ] || { stop; fail "the registry has not started in time; see $dir/registry.log"; }
    sleep 0.2
  done
  alive || { rm -f "$dir/pid"; fail "port $port is another's"; }
}

stop() {
  if alive; then
    kill "$(cat "$dir/pid")" 2>/dev/null || true
    tries=0
    while alive; do
      tries=$((tries + 1))
      [ "$tries" -ne 300 ] || kill -KILL "$(cat "$dir/pid")" 2>/dev/null || true
      sleep 0.1
    done
  fi
  rm -f "$dir/pid"
}

if [ $# -eq 1 ] && [ "$1" = fetch ]; then
  fetch
  exit
fi
[ $# -ge 2 ] || fail "want fetch, start DIR [PORT], stop DIR or url DIR"
command=$1
case $2 in
  /*) dir=$2 ;;
  *) dir=$PWD/$2 ;;
esac
port=${3:-29180}
if [ $# -lt 3 ] && [ -f "$dir/port" ]; then port=$(cat "$dir/port"); fi

case $command in
  start | stop | url) "$command" ;;
  *) fail "$command is no command: want fetch, start, stop or url" ;;
esac
