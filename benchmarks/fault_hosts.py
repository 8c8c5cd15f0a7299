"""Kill, cut off and lose hosts of a training, and see whether it ends in the same bits.

    python benchmarks/fault_hosts.py {kill,cut,gone,gone-cut,rendezvous} [--number 1]
        [--parts FOLDER] [--timeout 10] [--seed 0] [--record results/faults.jsonl]

Two hosts with two processes each; they are network namespaces of this machine with a link between
them, so root and `ip` are needed. The first one has torchrun's meeting point.

    kill        the second host is killed, all its processes at once, and a new one joins
    cut         the link is down for 20 seconds
    gone        the second host is killed for good; with --nnodes 1:2 the first goes on alone
    gone-cut    the same, but the link is cut: the second host has to end by itself
    rendezvous  the first host is killed; the second has to end by itself, and the same commands
                go on

Shown is what `faults.py` shows. The status is 1 where bits differ.
"""

import argparse
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from disturbed import Fault, Training, bits, cut, record, undisturbed, watch, words_of

CUT_SECONDS = 20.0
# Of each host: its namespace, its end of the link, its address.
HOSTS = {"first": ("akgnn1", "akgnnl1", "10.78.0.1"), "second": ("akgnn2", "akgnnl2", "10.78.0.2")}


def main() -> int:
    """Train with and without faults, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=["kill", "cut", "gone", "gone-cut", "rendezvous"])
    parser.add_argument("--number", type=int, default=1)
    parser.add_argument("--parts", type=Path)
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder, _network():
        place = Path(folder)
        parts = asked.parts or place / "parts"
        if asked.parts is None:
            cut(parts)
        faults = Hosts(parts, place, asked).disturbed()
    record(faults, asked.record)
    return 0 if faults and all(fault.same_bits for fault in faults) else 1


class Hosts:
    """Both hosts, each with a folder of its own."""

    def __init__(self, parts: Path, place: Path, asked: argparse.Namespace) -> None:
        self.place, self.asked = place, asked
        epochs = 40 + 40 * asked.number
        self.expected = undisturbed(parts, epochs, place / "alone")
        self.words = words_of(parts, epochs)
        self.words += ["--timeout", str(asked.timeout), "--checkpoint-seconds", "0.2", "--resume"]
        self.chance = random.Random(asked.seed)
        self.starts = 0

    def start(self, name: str) -> Training:
        """Start a host, or one in its place, with the same command."""
        namespace, link, address = HOSTS[name]
        self.starts += 1
        meeting = {
            "join_timeout": 120,
            "last_call_timeout": 3,
            "keep_alive_interval": 2,
            "keep_alive_max_attempt": 2,
            # Namespaces share the name of the machine, by which hosts are told apart otherwise.
            "is_host": name == "first",
        }
        torchrun = {
            "nnodes": "1:2" if self.asked.kind.startswith("gone") else 2,
            "nproc-per-node": 2,
            "max-restarts": 4 * self.asked.number + 4,
            "monitor-interval": 0.1,
            "rdzv-backend": "c10d",
            "rdzv-id": "job",
            "rdzv-endpoint": f"{HOSTS['first'][2]}:29400",
            "rdzv-conf": ",".join(f"{key}={value}" for key, value in meeting.items()),
            "local-addr": address,
        }
        options = [f"--{key}={value}" for key, value in torchrun.items()]
        run = [sys.executable, "-m", "torch.distributed.run", *options, "-m", "akgnn"]
        return Training(
            ["ip", "netns", "exec", namespace, *run],
            self.words,
            self.place / name,
            self.place / f"log-{name}-{self.starts}",
            environment={"GLOO_SOCKET_IFNAME": link},
        )

    def disturbed(self) -> list[Fault]:
        """Train while faults come."""
        faults = []
        self.first, self.second = self.start("first"), self.start("second")
        try:
            for _ in range(self.asked.number):
                self._wait_for_epochs()
                if self.first.agent.poll() is not None:
                    print("The training ended before the fault.")
                    break
                fault = Fault(
                    f"host: {self.asked.kind}",
                    host="first" if self.asked.kind == "rendezvous" else "second",
                    processes=4,
                    timeout_s=self.asked.timeout,
                )
                getattr(self, "_" + self.asked.kind.replace("-", "_"))(fault)
                print(fault, flush=True)
                faults.append(fault)
            statuses = [each.agent.wait() for each in self._to_end()]
            same = [bits(each.out) == self.expected for each in self._to_end()]
            if not all(same) or any(statuses):
                for each in self._to_end():
                    print(each.agent.returncode, bits(each.out), each.tail(), sep="\n")
        finally:
            self.first.kill()
            self.second.kill()
        for fault in faults:
            fault.same_bits = all(same) and not any(statuses)
        return faults

    def _to_end(self) -> list[Training]:
        """The hosts that are there at the end."""
        is_alone = self.asked.kind.startswith("gone")
        return [self.first] if is_alone else [self.first, self.second]

    def _wait_for_epochs(self) -> None:
        self.first.wait(lambda: self.first.ranks(2) and self.second.ranks(2), "all were there")
        # The files of a host that came anew may be behind.
        before = self.first.epochs()
        self.first.wait(lambda: self.first.epochs() > before + 2, "epochs were trained")
        time.sleep(self.chance.uniform(0.0, 1.5))

    def _kill(self, fault: Fault) -> None:
        gone = set(self.second.ranks())
        self.second.kill()
        self.second = self.start("second")
        self._watch(fault, gone)

    def _cut(self, fault: Fault) -> None:
        gone = set(self.second.ranks())
        _set_link("second", "down")
        back = threading.Timer(CUT_SECONDS, _set_link, ["second", "up"])
        back.start()
        self._watch(fault, gone)
        back.join()

    def _gone(self, fault: Fault) -> None:
        gone = set(self.second.ranks())
        self.second.kill()
        self._watch(fault, gone)
        fault.processes_after = len(self.first.ranks())

    def _gone_cut(self, fault: Fault) -> None:
        gone = set(self.second.ranks())
        start = time.monotonic()
        _set_link("second", "down")
        self._watch(fault, gone)
        fault.processes_after = len(self.first.ranks())
        _wait_for_end(self.second, fault, start)

    def _rendezvous(self, fault: Fault) -> None:
        gone = set(self.first.ranks())
        said, start = self.second.log.stat().st_size, time.monotonic()
        self.first.kill()
        _wait_for_end(self.second, fault, start)
        lines = self.second.lines_of_loss(said)
        fault.named = any(line and line <= gone for line in lines)
        before, start = self.first.epochs(), time.monotonic()
        self.first, self.second = self.start("first"), self.start("second")
        self.first.wait(lambda: self.first.epochs() > before, "the same commands went on")
        fault.went_on_s = round(time.monotonic() - start, 2)

    def _watch(self, fault: Fault, gone: set[int]) -> None:
        watch(self.first, fault, gone, set(self.first.ranks().values()))


def _wait_for_end(host: Training, fault: Fault, start: float) -> None:
    """Wait until torchrun and all processes of a host have ended by themselves."""
    ranks = set(host.ranks().values())
    end = time.monotonic() + 120
    while time.monotonic() < end and (host.agent.poll() is None or host.ranks()):
        if fault.noticed_s is None and not ranks & set(host.ranks().values()):
            fault.noticed_s = round(time.monotonic() - start, 2)
        time.sleep(0.02)
    fault.ended_s = round(time.monotonic() - start, 2)
    fault.status = host.agent.poll()


def _set_link(host: str, state: str) -> None:
    namespace, link, _ = HOSTS[host]
    subprocess.run(["ip", "-n", namespace, "link", "set", link, state], check=True)


@contextmanager
def _network() -> Iterator[None]:
    """Inside, both namespaces are there, with a link between them."""
    (first, one, _), (second, other, _) = HOSTS.values()
    try:
        for namespace in (first, second):
            subprocess.run(["ip", "netns", "add", namespace], check=True)
        pair = ["ip", "link", "add", one, "netns", first, "type", "veth"]
        subprocess.run([*pair, "peer", "name", other, "netns", second], check=True)
        for name, (namespace, link, address) in HOSTS.items():
            to = ["ip", "-n", namespace]
            subprocess.run([*to, "addr", "add", f"{address}/24", "dev", link], check=True)
            subprocess.run([*to, "link", "set", "lo", "up"], check=True)
            # Torchrun waits for a meeting point that is cut off as long as the kernel does, which
            # is a quarter of an hour; so it is 51 seconds.
            kernel = ["sysctl", "-qw", "net.ipv4.tcp_retries2=7"]
            subprocess.run(["ip", "netns", "exec", namespace, *kernel], check=True)
            _set_link(name, "up")
        yield
    finally:
        for namespace in (first, second):
            subprocess.run(["ip", "netns", "del", namespace], check=False)


if __name__ == "__main__":
    sys.exit(main())
