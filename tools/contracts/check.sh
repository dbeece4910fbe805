#!/usr/bin/env bash
# buf on the schemas of events in Protobuf: are they written as its style guide asks, and can what others generated from the schemas
# of a release still read today's messages? testdata has the schemas of each release. At last the check looks at itself: changes that
# break readers must be found. buf is a tool of this directory's module, so that nobody who builds Rivulet downloads it.
set -euo pipefail
cd "$(dirname "$0")"
root=$PWD/../..
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

go build -o "$scratch/buf" github.com/bufbuild/buf/cmd/buf
"$scratch/buf" lint "$root"
for release in testdata/v*; do
  "$scratch/buf" breaking "$root" --against "$release"
done

# found COMMAND OLD NEW: buf COMMAND must find something once prediction.proto has NEW in place of OLD.
found() {
  local copy=$scratch/copy file=event/schema/prediction.proto status=0 against=()
  rm -rf "$copy"
  mkdir -p "$copy/event"
  cp -r "$root/event/schema" "$copy/event/"
  cp "$root/buf.yaml" "$copy/"
  sed -i "s/$2/$3/" "$copy/$file"
  if cmp -s "$copy/$file" "$root/$file"; then
    echo "$file has no \"$2\"" >&2
    exit 1
  fi
  if [ "$1" = breaking ]; then against=(--against "$root"); fi
  "$scratch/buf" "$1" "$copy" "${against[@]}" >"$scratch/said" || status=$?
  if [ "$status" != 100 ]; then # buf's status where it finds something
    echo "buf $1 ends with $status for \"$3\" in place of \"$2\"" >&2
    cat "$scratch/said" >&2
    exit 1
  fi
}
found breaking 'uint32 arrival_neighbours = 20;' ''
found breaking 'float probability = 4;' 'double probability = 4;'
found breaking 'string class_name = 3;' 'string class_name = 30;'
found lint 'string class_name = 3;' 'string className = 3;'
