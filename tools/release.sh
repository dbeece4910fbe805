#!/usr/bin/env bash
# What packages have beside the programs: completions, manuals and the notices of third parties, in out/release. .goreleaser.yaml runs it.
# Programs are installed as rivulet-consumer, rivulet-trainer and rivulet, and call themselves so. Manuals are made by help2man.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/release
rm -rf "$out"
mkdir -p "$out/completions" "$out/man" "$out/bin"
declare -A says=([consumer]="predict nodes that arrive on Kafka" [trainer]="condense a graph, and publish what serves it"
  [rivulet]="predictions over HTTP, the live page, and tools beside the stream")
for program in consumer trainer rivulet; do
  name=rivulet-$program
  [ "$program" != rivulet ] || name=rivulet
  go build -o "$out/bin/$name" "./cmd/$program"
  for shell in bash zsh fish; do
    "$out/bin/$name" completion "$shell" >"$out/completions/$name.$shell"
  done
  help2man --no-info --section 1 --source Rivulet --name "${says[$program]}" "$out/bin/$name" |
    gzip -9n >"$out/man/$name.1.gz"
done
tools/notices.sh >"$out/THIRD_PARTY_NOTICES"
