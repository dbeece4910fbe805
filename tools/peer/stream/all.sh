#!/bin/sh
# Rivulet and what a team would build instead, on a real Kafka and Redis: fetches, builds and measures. It takes about two hours and 8 GB of
# memory on two cores with nothing else to do.
#
#   tools/peer/stream/all.sh OUT DATA [run.py's flags]
#
# DATA is Amazon Photo in GraphSAINT layout; OUT, which takes some 5 GB, gets photo/ and reddit/ (a generated graph of Reddit's shape), each with
# artifact, prepared and arrivals.jsonl, and results in runs/. What is there is not made again.
#
# Needs go, java 17, mvn and redis-server, and a Python with confluent-kafka, orjson, numpy, scipy, safetensors, psutil and torch (CPU).
# The environment may set PYTHON (default python3), KAFKA_PORT (default 29092), REDIS_PORT (default 6390).
set -eu
if [ $# -lt 2 ]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
mkdir -p "$1" && out=$(cd "$1" && pwd) && photo=$(cd "$2" && pwd) && shift 2
here=$(cd "$(dirname "$0")" && pwd) && cd "$here/../../.."
python=${PYTHON:-python3} kafka=${KAFKA_PORT:-29092} redis=${REDIS_PORT:-6390}

go build -o "$out/bin/" ./cmd/consumer ./cmd/trainer ./cmd/rivulet
[ -e "$here/flink/target/flink-peer.jar" ] || mvn -q -f "$here/flink" package

# shape NAME: artifact, arrivals and what the rivals read, of OUT/NAME/data.
shape() {
    [ -e "$out/$1/artifact" ] || "$out/bin/trainer" train --data "$out/$1/data" --models sgc,sage --own never --costs=false --out "$out/$1/artifact"
    [ -e "$out/$1/arrivals.jsonl" ] || "$out/bin/rivulet" replay --data "$out/$1/data" --limit 20000 --out "$out/$1/arrivals.jsonl"
    [ -e "$out/$1/prepared/model.json" ] || "$python" "$here/original.py" "$out/$1/data" "$out/$1/artifact" "$out/$1/prepared"
}
mkdir -p "$out/photo" "$out/reddit"
[ -e "$out/photo/data" ] || ln -s "$photo" "$out/photo/data"
[ -e "$out/reddit/data" ] || "$out/bin/rivulet" generate --preset reddit --out "$out/reddit/data"
shape photo
shape reddit

stop() {
    "$here/../../kafka/kafka.sh" wipe "$out/kafka" || true
    redis-cli -p "$redis" shutdown nosave || true
}
trap stop EXIT
KAFKA_HEAP=1g "$here/../../kafka/kafka.sh" start "$out/kafka" "$kafka"
redis-server --port "$redis" --save '' --daemonize yes >"$out/redis.log"
for name in photo reddit; do
    for delivery in at_least_once exactly_once; do
        "$python" "$here/run.py" "$out/$name" --programs "$out/bin" --systems all --delivery "$delivery" --brokers "127.0.0.1:$kafka" \
            --redis "redis://127.0.0.1:$redis/0" --out "$out/$name/runs/$delivery" "$@"
    done
done
