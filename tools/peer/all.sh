#!/bin/sh
# Rivulet and its peers, one after the other, on this machine, with nothing
# else to do. It takes some 10 to 25 minutes on two cores and 6 GB of memory, and prints each command before what it says.
#
#   tools/peer/all.sh DATA OUT     DATA has amazon_photo and coauthor_cs in GraphSAINT layout; OUT takes about 3 GB
#
# Needs go, redis-server, and a Python with torch, numpy, scipy and safetensors; NumPy should have an OpenBLAS that knows the
# processor, as its wheels have. The environment may set
#
#   PYTHON     that Python (default python3)
#   PYTHON_NP  the Python whose NumPy stands for OpenBLAS (default PYTHON)
#   PLAIN_BLAS the directory of a libblas.so.3 without kernels, as Debian gives PyTorch where nobody installs another
#              (/usr/lib/x86_64-linux-gnu/blas); serving is measured beside that one, too
#   REDIS_PORT a free port (default 6390)
set -eu
if [ $# -ne 2 ]; then
    sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
data=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3} python_np=${PYTHON_NP:-${PYTHON:-python3}} port=${REDIS_PORT:-6390}
server=
# stop ends Redis, if it was started.
stop() {
    if [ -n "$server" ]; then
        kill "$server"
        wait "$server" || true
    fi
}
trap stop EXIT
trap 'exit 130' INT TERM

# run prints a command and runs it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

go build -o "$out/" ./cmd/rivulet ./cmd/trainer
go test -c -o "$out/fit.test" ./trainer/fit
go test -c -o "$out/gemm.test" ./graph/gemm
go test -c -o "$out/consumer.test" ./consumer
rm -rf "$out/reddit-data" "$out/reddit" "$out/artifact"
"$out/rivulet" generate --preset reddit --out "$out/reddit-data"
RIVULET_TEST_SAVE=$out/reddit RIVULET_TEST_SHAPES=reddit go test -count=1 -run TestInputsForPeers ./internal/bench

echo "== Training: a hop, an evaluation, an epoch"
run "$python" -W ignore tools/peer/training.py "$out/reddit-data"
run "$out/fit.test" -test.run '^$' -test.bench 'Propagation|Evaluation/pass|EpochOfReddit/gcn.*/full' -test.benchtime 5x
for name in amazon_photo coauthor_cs; do
    run "$python" -W ignore tools/peer/training.py "$data/$name"
    RIVULET_DATA=$data run "$out/fit.test" -test.run '^$' -test.bench "BenchmarkEpoch\$/$name/gcn\$" -test.benchtime 20x
done

echo "== Serving at Reddit's shape, in turn"
run "$python" -W ignore tools/peer/serving.py "$out/reddit" --rivulet "$out/rivulet" --bench reddit
if [ -n "${PLAIN_BLAS:-}" ]; then
    LD_LIBRARY_PATH=$PLAIN_BLAS run "$python" -W ignore tools/peer/serving.py "$out/reddit" --rivulet "$out/rivulet" --bench reddit
fi

echo "== Products, one thread, with AVX-512 where the processor has it, and with AVX2"
GOMAXPROCS=1 run "$out/gemm.test" -test.run '^$' -test.bench Kernels -test.benchtime 3x
OPENBLAS_NUM_THREADS=1 run "$python_np" tools/peer/gemm.py
GODEBUG=cpu.avx512f=off GOMAXPROCS=1 run "$out/gemm.test" -test.run '^$' -test.bench Kernels -test.benchtime 3x
OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1 run "$python_np" tools/peer/gemm.py

echo "== Growth, and cost by the size of M"
redis-server --port "$port" --save '' --dir "$out" --logfile "$out/redis.log" &
server=$!
sleep 1
RIVULET_TEST_REDIS=redis://localhost:$port/0 run "$out/consumer.test" -test.run '^$' -test.bench 'BenchmarkGrowth$' -test.benchtime 60x
RIVULET_TEST_REDIS=redis://localhost:$port/0 run "$out/consumer.test" -test.run '^$' -test.bench 'GraphSize$' -test.benchtime 60x

echo "== The stream, and beside a passthrough"
run "$out/rivulet" bench --only stream --shapes flickr --time 500ms --rate 20000
RIVULET_TEST_TIME=500ms run make -s benchcheck

echo "== Training as a whole"
run "$out/trainer" train --preset reddit --nodes 154 --out "$out/artifact"
