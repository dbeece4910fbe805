#!/usr/bin/env bash
# The recipe of releases, as goreleaser reads it. The schemas of events, by buf, beside those of each release. The Helm
# chart: rendered, linted, each object read by Kubernetes' own types and by KEDA's definition, and the manifests made of it
# validated against the API of the oldest and of a new Kubernetes, for which a Python package is installed in a venv below
# out.
set -euo pipefail
cd "$(dirname "$0")/../.."

(cd tools/packaging && go test -count=1 .)
tools/contracts/check.sh
python3 -m venv out/kubernetes
out/kubernetes/bin/pip install -q 'kubernetes-validate==1.37.0'
for version in 1.25.0 1.37.0; do # what only operators know is not in it
  find deploy/kubernetes -name '[!kv]*.yaml' ! -name monitoring.yaml ! -name autoscaling.yaml -print0 |
    xargs -0 out/kubernetes/bin/kubernetes-validate --strict --quiet -k "$version"
done
