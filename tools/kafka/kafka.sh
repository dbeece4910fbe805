#!/bin/sh
# A real Apache Kafka for tests: one broker in KRaft mode, or one of several, from Maven Central, without an archive or a
# container.
#
#   kafka.sh fetch              get Kafka if it is not there
#   kafka.sh start DIR [PORT]   get Kafka if it is not there, format DIR if it is empty, start, wait until it serves
#   kafka.sh stop DIR           stop in order and wait
#   kafka.sh kill DIR           stop at once (SIGKILL) and wait; start goes on with what was on the disk
#   kafka.sh wipe DIR           stop and remove DIR
#
# PORT (default 29092) speaks plaintext; the other listeners follow it:
#
#   PORT    PLAINTEXT       nobody logs in; the principal is User:ANONYMOUS, a super user
#   PORT+1  SASL_PLAINTEXT  PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, and OAUTHBEARER with tokens that nobody signed
#   PORT+2  SSL             wants a client certificate; the principal is User: and its common name
#   PORT+3  SASL_SSL        as SASL_PLAINTEXT, encrypted
#   PORT+4  the controller
#   PORT+5  and on: PLAINTEXT behind proxies, one for each word of KAFKA_PROXIES
#
# Two users can log in: admin (password admin-word), a super user, and rivulet (password rivulet-word), who may do what ACLs
# say; without any, nothing. DIR/tls has ca.pem, client.pem and client.key (common name rivulet), and other-ca.pem, an
# authority that signed nothing here. The broker's certificate is for localhost and 127.0.0.1. DIR/port holds PORT,
# DIR/kafka.log the broker's log. All passwords are known to everyone: never let this broker be reached from outside.
#
# Needs java 17 or newer, mvn (for the first start) and openssl. The environment may set
#
#   KAFKA_JARS   where the jars are kept (default ~/.cache/rivulet/kafka-VERSION)
#   KAFKA_HEAP   the broker's memory (default 512m)
#   KAFKA_PROXIES  ports of proxies on 127.0.0.1, with spaces between them: the broker tells whoever comes through PORT+5 to
#                come to the first one, through PORT+6 to the second, and so on
#   KAFKA_NODES  the PORTs of all brokers of a cluster, in order of their numbers, with spaces between them (default: PORT alone).
#                Each broker has a DIR of its own and is started with the same list; start waits until a majority runs. With
#                three brokers or more, topics have three replicas by default
#   KAFKA_WAIT   how many seconds it may take to start (default 300; it takes six on a machine that is idle)
set -eu

version=4.1.0
jars=${KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/rivulet/kafka-$version}
here=$(cd "$(dirname "$0")" && pwd)

fail() {
  echo "kafka.sh: $*" >&2
  exit 1
}

need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
  done
}

# Kafka and what it needs, once. The directory appears whole or not at all.
fetch() {
  [ -d "$jars" ] && return 0
  need mvn
  mkdir -p "$(dirname "$jars")"
  new=$(mktemp -d "$jars.XXXXXX")
  echo "kafka.sh: fetching Kafka $version to $jars" >&2
  if ! mvn -q -B -f "$here/pom.xml" "-Dkafka.version=$version" dependency:copy-dependencies \
    -DincludeScope=runtime "-DoutputDirectory=$new" >"$new.log" 2>&1; then
    cat "$new.log" >&2
    rm -rf "$new" "$new.log"
    fail "the jars of Kafka $version could not be fetched"
  fi
  rm -f "$new.log"
  mv "$new" "$jars" 2>/dev/null || { rm -rf "$new"; [ -d "$jars" ] || fail "$jars could not be written"; }
}

# signed NAME SUBJECT EXTENSIONS: a key and a certificate of the authority.
signed() {
  openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
  printf '%s\n' "$3" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
  rm -f "$1.csr" "$1.ext"
}

certificates() (
  need openssl
  mkdir -p "$1"
  cd "$1"
  for name in ca other-ca; do
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$name.key" -out "$name.pem" -days 3650 -subj "/CN=$name of tests" 2>/dev/null
  done
  signed broker /CN=broker 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  signed client /CN=rivulet 'extendedKeyUsage=clientAuth'
  cat broker.key broker.pem >broker.both.pem # the form that Kafka reads
)

# number the brokers of a cluster: node is this one, voters are all, replicas is the default replication factor.
number() {
  node=0 voters= replicas=0
  for each in ${KAFKA_NODES:-$port}; do
    replicas=$((replicas + 1))
    [ "$each" -ne "$port" ] || node=$replicas
    voters=$voters,$replicas@127.0.0.1:$((each + 4))
  done
  [ "$node" -gt 0 ] || fail "KAFKA_NODES is $KAFKA_NODES: it lacks $port"
  enough=1 # replicas that must have a record
  if [ "$replicas" -gt 2 ]; then replicas=3 enough=2; else replicas=1; fi
}

configure() {
  number
  login=org.apache.kafka.common.security
  fixed=PLAINTEXT://127.0.0.1:$port,SASL_PLAINTEXT://127.0.0.1:$((port + 1)),SSL://127.0.0.1:$((port + 2)),SASL_SSL://127.0.0.1:$((port + 3))
  behind= through= plain= next=0 # a listener has the same name at all brokers of a cluster
  for proxy in ${KAFKA_PROXIES:-}; do
    behind=$behind,PROXY_$next://127.0.0.1:$((port + 5 + next))
    through=$through,PROXY_$next://127.0.0.1:$proxy
    plain=$plain,PROXY_$next:PLAINTEXT
    next=$((next + 1))
  done
  cat >"$dir/server.properties" <<EOF
process.roles=broker,controller
node.id=$node
controller.quorum.voters=${voters#,}
listeners=$fixed,CONTROLLER://127.0.0.1:$((port + 4))$behind
advertised.listeners=$fixed$through
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT$plain
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$dir/data

authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin
allow.everyone.if.no.acl.found=false

sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
ssl.keystore.type=PEM
ssl.keystore.location=$dir/tls/broker.both.pem
ssl.truststore.type=PEM
ssl.truststore.location=$dir/tls/ca.pem
listener.name.ssl.ssl.client.auth=required
ssl.principal.mapping.rules=RULE:^CN=([^,]+).*\$/\$1/
EOF
  for listener in sasl_plaintext sasl_ssl; do
    echo "listener.name.$listener.plain.sasl.jaas.config=$login.plain.PlainLoginModule required user_admin=\"admin-word\" user_rivulet=\"rivulet-word\";"
    echo "listener.name.$listener.scram-sha-256.sasl.jaas.config=$login.scram.ScramLoginModule required;"
    echo "listener.name.$listener.oauthbearer.sasl.jaas.config=$login.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"
    echo "listener.name.$listener.scram-sha-512.sasl.jaas.config=$login.scram.ScramLoginModule required;"
  done >>"$dir/server.properties"
  cat >>"$dir/server.properties" <<EOF

num.partitions=3
offsets.topic.num.partitions=5
default.replication.factor=$replicas
offsets.topic.replication.factor=$replicas
transaction.state.log.num.partitions=5
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$enough
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=10485760
EOF
  if [ "$replicas" -gt 1 ]; then # on a busy machine a controller may be silent for seconds
    printf '%s\n' controller.quorum.fetch.timeout.ms=8000 controller.quorum.election.timeout.ms=3000 >>"$dir/server.properties"
  fi
  cat >"$dir/log4j2.properties" <<EOF
appender.file.type=File
appender.file.name=file
appender.file.fileName=$dir/kafka.log
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=%d %p %m (%c)%n
rootLogger.level=WARN
rootLogger.appenderRef.file.ref=file
logger.server.name=kafka.server
logger.server.level=INFO
EOF
}

run() { exec java "-Dlog4j2.configurationFile=$dir/log4j2.properties" "$@"; }

format() {
  [ -d "$dir/data" ] && return 0
  certificates "$dir/tls"
  (run -Xmx256m -cp "$jars/*" kafka.tools.StorageTool format --config "$dir/server.properties" --cluster-id rivulet-tests-cluster1 \
    --add-scram 'SCRAM-SHA-256=[name=admin,password=admin-word]' --add-scram 'SCRAM-SHA-512=[name=admin,password=admin-word]' \
    --add-scram 'SCRAM-SHA-256=[name=rivulet,password=rivulet-word]' --add-scram 'SCRAM-SHA-512=[name=rivulet,password=rivulet-word]' \
    >"$dir/format.log" 2>&1) || { cat "$dir/format.log" >&2; fail "formatting $dir/data"; }
}

alive() { [ -f "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; }

started() { [ -f "$dir/kafka.log" ] && grep -q 'Kafka Server started' "$dir/kafka.log"; }

start() {
  need java openssl
  alive && fail "it is running already: $dir/pid"
  fetch
  mkdir -p "$dir"
  echo "$port" >"$dir/port"
  configure
  format
  if [ -f "$dir/kafka.log" ]; then mv "$dir/kafka.log" "$dir/kafka.log.before"; fi
  (run "-Xmx${KAFKA_HEAP:-512m}" -XX:+UseSerialGC -cp "$jars/*" kafka.Kafka "$dir/server.properties" >"$dir/kafka.out" 2>&1 </dev/null) &
  echo $! >"$dir/pid"
  begun=$(date +%s)
  until started; do
    alive || { cat "$dir/kafka.out" >&2; tail -n 20 "$dir/kafka.log" >&2 || true; rm -f "$dir/pid"; fail "Kafka ended while it started"; }
    [ $(($(date +%s) - begun)) -lt "${KAFKA_WAIT:-300}" ] || { end KILL; fail "Kafka has not started in time; see $dir/kafka.log"; }
    sleep 0.1
  done
}

# end SIGNAL: sends it and waits until the process is gone.
end() {
  if alive; then
    kill "-$1" "$(cat "$dir/pid")" 2>/dev/null || true
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
[ $# -ge 2 ] || fail "want fetch, start DIR [PORT], stop DIR, kill DIR or wipe DIR"
command=$1
case $2 in
  /*) dir=$2 ;;
  *) dir=$PWD/$2 ;;
esac
port=${3:-29092}
if [ $# -lt 3 ] && [ -f "$dir/port" ]; then port=$(cat "$dir/port"); fi

case $command in
  start) start ;;
  stop) end TERM ;;
  kill) end KILL ;;
  wipe)
    end TERM
    [ -f "$dir/server.properties" ] || [ ! -e "$dir" ] || fail "$dir is not a directory of this script"
    rm -rf "$dir"
    ;;
  *) fail "$command is no command: want start, stop, kill or wipe" ;;
esac
