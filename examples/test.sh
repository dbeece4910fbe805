#!/usr/bin/env bash
# Runs each example against rivulet devstack and a consumer: the three producers send the same ten arrivals each, and each
# feed reads the thirty predictions. It needs Go, Python with venv, and for Java a JDK and tools/kafka/kafka.sh's Maven.
#
#   PYTHON   a Python that has rivulet_mcond and confluent-kafka; empty: a venv is made
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
started=()
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT

tools/kafka/kafka.sh fetch
jars=$(find "${KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/rivulet}" -name "kafka-clients-*.jar" -o -name "slf4j-api-*.jar" |
  sort | paste -sd:)
if [ -z "${PYTHON:-}" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q './python[kafka]'
  PYTHON=$work/venv/bin/python
fi
go build -o "$work/" ./cmd/... ./examples/go/...

source=(--preset small --preset-nodes 600)
"$work/trainer" train "${source[@]}" --costs=false --out "$work/artifact" >/dev/null 2>&1
"$work/rivulet" replay "${source[@]}" --limit 10 --out "$work/arrivals.jsonl" 2>/dev/null

broker=127.0.0.1:$((20000 + RANDOM % 10000))
"$work/rivulet" devstack --kafka "$broker" --redis '' >"$work/devstack.log" & started+=($!)
for _ in $(seq 100); do (exec 3<>"/dev/tcp/${broker/://}") 2>/dev/null && break; sleep 0.1; done
"$work/consumer" --artifact "$work/artifact" --kafka.brokers "$broker" --http.listen '' 2>"$work/consumer.log" & started+=($!)

say() { printf '%s: ' "$1"; shift; timeout 120 "$@"; }
say python "$PYTHON" examples/python/producer.py "$broker" "$work/arrivals.jsonl"
say go "$work/producer" "$broker" "$work/arrivals.jsonl"
say java java -cp "$jars" examples/java/Producer.java "$broker" "$work/arrivals.jsonl"

timeout 120 "$PYTHON" examples/python/feed.py "$broker" 30 | sort >"$work/python.txt"
timeout 120 "$work/feed" "$broker" 30 | sort >"$work/go.txt"
timeout 120 java -cp "$jars" examples/java/Feed.java "$broker" 30 | sort >"$work/java.txt"
"$work/rivulet" predict --artifact "$work/artifact" <"$work/arrivals.jsonl" |
  "$PYTHON" -c 'import json, sys
for line in sys.stdin:
    p = json.loads(line)
    for _ in range(3): print(p["id"], p["class"], p["probability"])' | sort >"$work/want.txt"
for feed in python go java; do
  diff "$work/want.txt" "$work/$feed.txt" || { echo "the feed of $feed read something else"; exit 1; }
done
echo "30 predictions, read alike by each feed"

# Without Kafka each example says so and ends.
alone() {
  if timeout 120 "$@" 2>"$work/alone.txt" || ! grep -q '127.0.0.1:1' "$work/alone.txt"; then
    echo "without Kafka $* says:"; cat "$work/alone.txt"; exit 1
  fi
}
alone "$PYTHON" examples/python/producer.py 127.0.0.1:1 "$work/arrivals.jsonl"
alone "$PYTHON" examples/python/feed.py 127.0.0.1:1 30
alone "$work/producer" 127.0.0.1:1 "$work/arrivals.jsonl"
alone "$work/feed" 127.0.0.1:1 30
alone java -cp "$jars" examples/java/Producer.java 127.0.0.1:1 "$work/arrivals.jsonl"
alone java -cp "$jars" examples/java/Feed.java 127.0.0.1:1 30
echo "without Kafka each example says so"
