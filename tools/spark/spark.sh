#!/bin/sh
# A real Spark of this machine for tests: a standalone master, two workers as processes of their own, and a Spark Connect server,
# all on 127.0.0.1. An application has two executors of one core; a worker has room for one of the Connect server's and one of a
# spark-sql's.
#
#   spark.sh fetch             Spark, from Python's pyspark package, into the cache; about 450 MB
#   spark.sh start DIR [PORT]  starts everything; PORT is the Connect server's (default 15002)
#   spark.sh url DIR           sc://…, for trainer train --spark
#   spark.sh sql DIR           the path of a spark-sql that runs on this cluster, for trainer train --spark-sql
#   spark.sh executors DIR     the process ids of the executors
#   spark.sh connect DIR       starts the Connect server again, after it was killed
#   spark.sh stop DIR          stops everything; DIR keeps the logs
#   spark.sh wipe DIR          stops everything and removes DIR
#
# Ports: PORT the Connect server, PORT+1 the master, PORT+2 to PORT+5 pages of master, workers and application. Nothing is
# protected: never let it be reached from outside. Needs java 17 or newer, and python3 with pip for the first start. The
# environment may set
#
#   SPARK_CACHE    where Spark is kept (default ~/.cache/rivulet/spark-VERSION)
#   SPARK_MEMORY   the memory of an executor (default 1g; want g or m) and of the Connect server (default the same)
#   SPARK_WAIT     how many seconds it may take to start (default 300)
#   SPARK_OPTIONS  more arguments of the Connect server, such as --conf NAME=VALUE
set -eu

version=4.0.1
cache=${SPARK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rivulet/spark-$version}
memory=${SPARK_MEMORY:-1g}

fail() {
  echo "spark.sh: $*" >&2
  exit 1
}

need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
  done
}

# Spark, once. The directory appears whole or not at all.
fetch() {
  [ -d "$cache" ] && return 0
  need python3
  mkdir -p "$(dirname "$cache")"
  new=$(mktemp -d "$cache.XXXXXX")
  echo "spark.sh: fetching Spark $version to $cache" >&2
  if ! python3 -m pip install -q --no-deps --no-compile --root-user-action=ignore --target "$new" "pyspark==$version" >"$new.log" 2>&1; then
    cat "$new.log" >&2
    rm -rf "$new" "$new.log"
    fail "pyspark $version could not be fetched"
  fi
  rm -f "$new.log"
  mv "$new" "$cache" 2>/dev/null || { rm -rf "$new"; [ -d "$cache" ] || fail "$cache could not be written"; }
}

environment() {
  export SPARK_HOME="$cache/pyspark" SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS="$dir/local" SPARK_WORKER_DIR="$dir/work"
  export SPARK_CONF_DIR="$dir/conf" SPARK_DAEMON_MEMORY=256m SPARK_NO_DAEMONIZE=1
}

# alive NAME: a process that was killed and that nobody has waited for is not.
alive() {
  [ -f "$dir/$1.pid" ] && kill -0 "$(cat "$dir/$1.pid")" 2>/dev/null &&
    ! grep -q '^State:[[:space:]]*Z' "/proc/$(cat "$dir/$1.pid")/status" 2>/dev/null
}

# run NAME COMMAND…: a process in the background, with a log and a file of its id.
run() {
  name=$1
  shift
  (exec "$@" >"$dir/$name.log" 2>&1 </dev/null) &
  echo $! >"$dir/$name.pid"
}

# until_says NAME WORDS: waits for a line of a log.
until_says() {
  until grep -q "$2" "$dir/$1.log" 2>/dev/null; do
    alive "$1" || { tail -n 30 "$dir/$1.log" >&2; end; fail "$1 ended while it started"; }
    [ $(($(date +%s) - begun)) -lt "${SPARK_WAIT:-300}" ] || { end; fail "$1 has not started in time; see $dir/$1.log"; }
    sleep 0.2
  done
}

start() {
  need java
  for name in master worker1 worker2 connect; do
    if alive "$name"; then fail "it is running already: $dir/$name.pid"; fi
  done
  fetch
  mkdir -p "$dir/conf" "$dir/local" "$dir/work" "$dir/events"
  echo "$port" >"$dir/port"
  master=spark://127.0.0.1:$((port + 1))
  cat >"$dir/conf/spark-defaults.conf" <<EOF
spark.master                      $master
spark.driver.host                 127.0.0.1
spark.driver.bindAddress          127.0.0.1
spark.driver.memory               $memory
spark.executor.memory             $memory
spark.executor.cores              1
spark.cores.max                   2
spark.ui.port                     $((port + 5))
spark.eventLog.enabled            true
spark.eventLog.dir                file://$dir/events
spark.eventLog.compress           false
spark.sql.warehouse.dir           $dir/warehouse
spark.sql.catalogImplementation   in-memory
EOF
  cat >"$dir/spark-sql" <<EOF
#!/bin/sh
# spark-sql on the cluster of $dir
export SPARK_HOME='$SPARK_HOME' SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS='$dir/local' SPARK_CONF_DIR='$dir/conf'
exec "\$SPARK_HOME/bin/spark-sql" "\$@"
EOF
  chmod +x "$dir/spark-sql"
  case $memory in
    *g) room=$((2 * ${memory%g}))g ;;
    *) room=$((2 * ${memory%m}))m ;;
  esac
  begun=$(date +%s)
  run master "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port $((port + 1)) --webui-port $((port + 2))
  until_says master 'I have been elected leader'
  for i in 1 2; do
    run "worker$i" "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --cores 2 --memory "$room" \
      --webui-port $((port + 2 + i)) --work-dir "$dir/work/$i" "$master"
  done
  server
  for i in 1 2; do until_says "worker$i" 'Successfully registered with master'; done
  until_says connect 'Spark Connect server started'
}

# server starts the Connect server.
server() {
  # shellcheck disable=SC2086 # several arguments
  run connect env "SPARK_DAEMON_MEMORY=$memory" "$SPARK_HOME/bin/spark-submit" --class org.apache.spark.sql.connect.service.SparkConnectServer \
    --name 'Spark Connect server' --conf spark.connect.grpc.binding.address=127.0.0.1 \
    --conf "spark.connect.grpc.binding.port=$port" ${SPARK_OPTIONS:-} spark-internal
}

# end stops what runs; a process that does not end within ten seconds is killed.
end() {
  for name in connect worker1 worker2 master; do
    if alive "$name"; then
      kill "$(cat "$dir/$name.pid")" 2>/dev/null || true
      tries=0
      while alive "$name"; do
        tries=$((tries + 1))
        [ "$tries" -ne 100 ] || kill -KILL "$(cat "$dir/$name.pid")" 2>/dev/null || true
        sleep 0.1
      done
    fi
    rm -f "$dir/$name.pid"
  done
}

if [ $# -eq 1 ] && [ "$1" = fetch ]; then
  fetch
  exit
fi
[ $# -ge 2 ] || fail "want fetch, start DIR [PORT], url DIR, sql DIR, executors DIR, connect DIR, stop DIR or wipe DIR"
command=$1
case $2 in
  /*) dir=$2 ;;
  *) dir=$PWD/$2 ;;
esac
case $dir in
  *[!A-Za-z0-9/._-]*) fail "$dir: want letters, digits and / . _ - only" ;;
esac
port=${3:-15002}
if [ $# -lt 3 ] && [ -f "$dir/port" ]; then port=$(cat "$dir/port"); fi
environment

case $command in
  start) start ;;
  url) echo "sc://127.0.0.1:$port" ;;
  sql) echo "$dir/spark-sql" ;;
  executors)
    # They have their directory below the workers'.
    for proc in /proc/[0-9]*; do
      case $(readlink "$proc/cwd" 2>/dev/null) in
        "$dir"/work/*/app-*) if tr '\0' ' ' <"$proc/cmdline" 2>/dev/null | grep -q CoarseGrainedExecutorBackend; then echo "${proc#/proc/}"; fi ;;
      esac
    done
    ;;
  connect)
    tries=0 # one that was killed a moment ago may not be gone yet
    while alive connect; do
      tries=$((tries + 1))
      [ "$tries" -ne 100 ] || fail "it is running already: $dir/connect.pid"
      sleep 0.1
    done
    mv "$dir/connect.log" "$dir/connect-before.log"
    begun=$(date +%s)
    server
    until_says connect 'Spark Connect server started'
    ;;
  stop) end ;;
  wipe)
    end
    [ -f "$dir/conf/spark-defaults.conf" ] || [ ! -e "$dir" ] || fail "$dir is not a directory of this script"
    rm -rf "$dir"
    ;;
  *) fail "$command is no command: want start, url, sql, executors, connect, stop or wipe" ;;
esac
