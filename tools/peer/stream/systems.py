"""The systems that are measured: how each is started on a run's topics, and what its processes have used.

A Run has the addresses, topics, group and delivery; a System starts its processes for one, and every process is in a session of its own, so
that it can be killed whole. Memory is the proportional set size of all of a system's processes; CPU time is theirs alone, without
Kafka's and the harness's.
"""
import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import sys

import psutil

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass
class Run:
    shape: pathlib.Path  # has data, artifact, prepared, arrivals.jsonl
    brokers: str
    redis: str
    name: str  # of topics and group
    exactly_once: bool
    partitions: int

    @property
    def arrivals(self):
        return self.name + ".arrivals"

    @property
    def predictions(self):
        return self.name + ".predictions"


def port():
    """A free one."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A started program, with what it starts itself."""

    def __init__(self, command, log, env=None, cwd=None):
        self.command, self.log, self.env, self.cwd = [str(c) for c in command], log, env or {}, cwd
        self.spent = 0.0
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True, cwd=self.cwd,
                                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **self.env})

    def tree(self):
        try:
            top = psutil.Process(self.popen.pid)
            return [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def cpu(self):
        """Seconds of user and system time of those that run."""
        total = 0.0
        for p in self.tree():
            try:
                t = p.cpu_times()
                total += t.user + t.system
            except psutil.NoSuchProcess:
                pass
        return total

    def memory(self):
        total = 0
        for p in self.tree():
            try:
                total += p.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                pass
        return total

    def kill(self, sign=signal.SIGKILL):
        try:
            os.killpg(self.popen.pid, sign)
        except ProcessLookupError:
            pass
        try:
            self.popen.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def check(self):
        if self.popen.poll() is not None:
            sys.exit(f"{' '.join(self.command)} ended with {self.popen.returncode}; see {self.log}")


class Rivulet:
    """The consumer as it is shipped, with its default settings but for addresses, topics and the model."""

    slow = False

    def __init__(self, name, programs, model="sgc", record_format="json"):
        self.name, self.programs, self.model, self.record_format = name, pathlib.Path(programs), model, record_format

    def settings(self, run):
        return {"RIVULET_KAFKA_BROKERS": run.brokers, "RIVULET_KAFKA_GROUP": run.name, "RIVULET_KAFKA_TOPICS_ARRIVALS": run.arrivals,
                "RIVULET_KAFKA_TOPICS_PREDICTIONS": run.predictions, "RIVULET_KAFKA_TOPICS_DEAD_LETTERS": run.name + ".dead", "RIVULET_MODEL": self.model,
                "RIVULET_DELIVERY": "exactly_once" if run.exactly_once else "at_least_once", "RIVULET_REDIS_URL": run.redis,
                "RIVULET_REDIS_PREFIX": run.shape.name, "RIVULET_HTTP_LISTEN": f"127.0.0.1:{port()}"}

    def prepare(self, run):
        """Publishes the artifact where it is not yet."""
        subprocess.run([self.programs / "trainer", "publish", "--artifact", run.shape / "artifact", "--redis.url", run.redis, "--redis.prefix",
                        run.shape.name], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, run, log):
        return [Process([self.programs / "consumer"], log, self.settings(run))]


class Lean:
    """lean.py, as many processes as it is given."""

    record_format, slow = "json", False

    def __init__(self, name, processes=1, model="sgc"):
        self.name, self.processes, self.model = name, processes, model

    def prepare(self, run):
        pass

    def start(self, run, log):
        command = [sys.executable, HERE / "lean.py", run.shape / "prepared", "--brokers", run.brokers, "--in", run.arrivals, "--out", run.predictions,
                   "--group", run.name, "--model", self.model, *(["--exactly-once"] if run.exactly_once else [])]
        return [Process(command, log) for _ in range(self.processes)]


class Flink:
    """The job of flink/ on a MiniCluster of its own, with the server that it calls (server.py)."""

    record_format = "json"

    def __init__(self, name, design, state="heap"):
        self.name, self.design, self.state, self.slow = name, design, state, design == "state"

    def prepare(self, run):
        pass

    def start(self, run, log):
        jar = HERE / "flink" / "target" / "flink-peer.jar"
        if not jar.exists():
            sys.exit(f"{jar} is not there: mvn -q -f {HERE / 'flink'} package")
        socket, work = log.with_suffix(".sock"), log.with_suffix(".state")
        server = Process([sys.executable, HERE / "server.py", run.shape / "prepared", socket, "--design", self.design], log)
        opens = ["java.base/java.util", "java.base/java.lang", "java.base/java.nio", "java.base/sun.nio.ch"]
        job = Process(["java", "-Xmx4g", *(f"--add-opens={o}=ALL-UNNAMED" for o in opens), "-cp", jar, "peer.Job", "--design", self.design, "--state", self.state,
                       "--prepared", run.shape / "prepared", "--socket", socket, "--brokers", run.brokers, "--in", run.arrivals, "--out", run.predictions,
                       "--group", run.name, "--work", work, "--parallelism", 2, *(["--exactly-once"] if run.exactly_once else [])], log)
        return [job, server]


def all_systems(programs):
    """By name, in the order in which they are shown."""
    systems = [Rivulet("rivulet", programs), Rivulet("rivulet protobuf", programs, record_format="protobuf"), Rivulet("rivulet sage", programs, "sage"),
               Lean("lean 1"), Lean("lean 2", 2), Lean("lean sage 1", model="sage"), Lean("lean sage 2", 2, "sage"),
               Flink("flink thin", "thin"), Flink("flink tables", "tables"), Flink("flink state heap", "state"), Flink("flink state rocksdb", "state", "rocksdb")]
    return {s.name: s for s in systems}
