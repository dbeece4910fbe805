#!/bin/sh
# Compares training in memory with training by stages: accuracy, and how many test nodes get the same class. For each data set of
# $RIVULET_DATA it prints a line a seed, and the means. It fails if means differ by more than 0.1 points, or if fewer than 98% of the
# answers are the same. Needs jq and bin/ (make build).
#   tools/engines.sh                          # cora, amazon_photo and coauthor_cs, seeds 0 to 4, --sums fixed
#   tools/engines.sh "cora" "0 1 2" "--engine disk"
set -eu
sets=${1:-cora amazon_photo coauthor_cs}
seeds=${2:-0 1 2 3 4}
stages=${3:---sums fixed}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0
for set in $sets; do
  data=${RIVULET_DATA:?the directory of data sets}/$set
  bin/rivulet replay --data "$data" --out "$out/arrivals" 2>/dev/null
  for seed in $seeds; do
    for how in memory stages; do
      flags=$stages
      [ $how = stages ] || flags=
      # shellcheck disable=SC2086
      bin/trainer train --data "$data" --seed "$seed" --costs=false $flags --json --out "$out/$set.$seed.$how" 2>/dev/null |
        jq -r '.results[] | select(.served and .batch == "node") | "\(.accuracy.mean) \(.weight_decay)"' >"$out/$how"
      bin/rivulet predict --artifact "$out/$set.$seed.$how" <"$out/arrivals" 2>/dev/null | jq -r '"\(.id) \(.class)"' >"$out/$how.classes"
    done
    echo "$seed $(cat "$out/memory") $(cat "$out/stages") $(paste -d' ' "$out/memory.classes" "$out/stages.classes" | awk '$2 == $4 && $1 == $3 {n++} END {printf "%.2f", 100 * n / NR}')"
  done | awk -v set="$set" '{
      printf "%s seed %d: memory %.2f%% (weight decay %g), stages %.2f%% (%g), %.2f%% the same\n", set, $1, $2, $3, $4, $5, $6
      memory += $2; stages += $4; same += $6
    } END {
      difference = (stages - memory) / NR
      printf "%s: memory %.2f%%, stages %.2f%%, difference %+.2f points, %.2f%% the same\n", set, memory / NR, stages / NR, difference, same / NR
      exit !(difference < 0.1 && difference > -0.1 && same / NR >= 98)
    }' || status=1
done
exit $status
