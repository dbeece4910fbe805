#!/usr/bin/env bash
# Prints each promise of the manual with the tests that name it, and fails where a promise has no test or a test names
# none. A page gives a promise its id by a heading that ends in (G7), or by a paragraph or list item that begins with
# **G7**; a test names it in the comment above it: "G7: …".
set -euo pipefail
cd "$(dirname "$0")/.."

promises=$(grep -hoE '^#+ .*\(G[0-9]+\)$|^(- )?\*\*G[0-9]+\*\*.*' docs/*.md |
  sed -E 's/^#+ (.*) \((G[0-9]+)\)$/\2 \1/; s/^(- )?\*\*(G[0-9]+)\*\*[:.]? ?(.*)/\2 \3/')
# The lines of a comment that name promises, with the test below it.
tests=$(git ls-files '*_test.go' 'test/chaos/*.go' | xargs awk '
  FNR == 1 { n = 0 }
  /^\/\/ .*G[0-9]+(, G[0-9]+)*: / { line = $0; sub(/: .*/, "", line); while (match(line, /G[0-9]+/)) {
    ids[++n] = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH) } next }
  /^func / { name = $2; sub(/\(.*/, "", name); for (k = 1; k <= n; k++) print ids[k], FILENAME, name; n = 0; next }
  !/^\/\// { n = 0 }')

status=0
while read -r id text; do
  echo "$id  $text"
  awk -v id="$id" '$1 == id { printf "    %s %s\n", $2, $3; found = 1 } END { if (!found) { print "    no test names it"; exit 1 } }' \
    <<<"$tests" || status=1
done < <(sort -V <<<"$promises")
unknown=$(cut -d' ' -f1 <<<"$tests" | sort -uV | grep -vxFf <(cut -d' ' -f1 <<<"$promises") || true)
if [ -n "$unknown" ]; then
  echo "no page has the promises $unknown"
  status=1
fi
exit "$status"
