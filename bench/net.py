#!/usr/bin/env python3
"""Sums of gradients on real links of a chosen rate: ours in 8, 16 and 32 bits beside MPI_Allreduce.

Hosts are network namespaces of this machine, each with a link of its own to one bridge; both ends of
a link are held to the rate by the kernel's token bucket (tc tbf). MPI starts its processes in them
through a script that stands in for ssh, and talks TCP. 11,173,962 gradients, those of ResNet-18.

    sudo bench/net.py [--rate 100mbit] [--rate 1gbit] [--hosts 4] [--mpi openmpi] [--repeat 5]

Prints the median seconds of the slowest host, and how many times faster 8 bits (scaling aps, e5m2, a
ring: exponents, rounding, sums and all) are. Exit code 0; 77: skipped, with the reason.
"""
import argparse
import fcntl
import os
import stat
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
NETWORK = "10.77.0"
BRIDGE = "hu-bridge"
CASES = ["ring aps e5m2", "ring none fp16", "ring none fp32", "mpi allreduce fp32"]
# In place of `ssh HOST COMMAND`: the last number of the address is the host's. Without a host name of
# its own every process would look like one of the same machine.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=hu-host${1##*.}
shift
exec ip netns exec $host unshare -u sh -c "hostname $host; $*"
"""


def call(*words):
    return subprocess.run([str(w) for w in words], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True).stdout


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def address(host):
    return f"{NETWORK}.{host + 1}"


def namespace(host):
    return f"hu-host{host + 1}"


def limit(rate, device, *inside):
    call(*inside, "tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst",
         "256kb", "latency", "100ms")


class Network:
    """Hosts 0 .. count - 1 with links of a rate."""

    def __init__(self, count, rate):
        self.count, self.rate = count, rate

    def __enter__(self):
        # Names of hosts are those of the whole machine: a second benchmark waits for the first.
        self.lock = open(os.path.join(tempfile.gettempdir(), "hu-network.lock"), "w", encoding="utf-8")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.remove()
        try:
            call("ip", "link", "add", BRIDGE, "type", "bridge")
            call("ip", "addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
            call("ip", "link", "set", BRIDGE, "up")
            for host in range(self.count):
                self.add(host)
        except (subprocess.CalledProcessError, OSError) as error:
            self.remove()
            skip(f"no network of namespaces here: {getattr(error, 'stderr', error)}".strip())
        return self

    def add(self, host):
        name, outside = namespace(host), f"hu-link{host + 1}"
        inside = ("ip", "netns", "exec", name)
        call("ip", "netns", "add", name)
        call("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        call("ip", "link", "set", outside, "master", BRIDGE, "up")
        call(*inside, "ip", "addr", "add", f"{address(host)}/24", "dev", "eth0")
        call(*inside, "ip", "link", "set", "eth0", "up")
        call(*inside, "ip", "link", "set", "lo", "up")
        if self.rate:
            limit(self.rate, outside)
            limit(self.rate, "eth0", *inside)

    def remove(self):
        for words in [("link", "del", BRIDGE)] + [("netns", "del", namespace(h)) for h in range(64)]:
            subprocess.run(["ip", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.remove()
        self.lock.close()


def launcher(mpi, hosts, agent):
    """Words and environment that start one process per host."""
    names = [address(h) for h in range(hosts)]
    if mpi == "mpich":
        return (["mpirun.mpich", "-hosts", ",".join(names), "-ppn", "1", "-launcher", "ssh",
                 "-launcher-exec", agent, "-localhost", f"{NETWORK}.254", "-np", str(hosts)],
                {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"})
    subnet = f"{NETWORK}.0/24"
    return (["mpirun.openmpi", "-np", str(hosts), "-H", ",".join(n + ":1" for n in names),
             "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca",
             "btl_tcp_if_include", subnet, "--mca", "oob_tcp_if_include", subnet, "--bind-to",
             "none", "--mca", "mpi_yield_when_idle", "1"],
            {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})


def measure(options, program, cases):
    """{case: [seconds of a turn]}"""
    with tempfile.TemporaryDirectory() as folder:
        agent = os.path.join(folder, "agent")
        Path(agent).write_text(AGENT, encoding="utf-8")
        os.chmod(agent, stat.S_IRWXU)
        words, more = launcher(options.mpi, options.hosts, agent)
        if options.realtime:
            words = ["chrt", "--rr", "1", *words]
        out = subprocess.run([*words, program, str(options.repeat), str(options.bucket),
                              *" ".join(cases).split()], check=True, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, **more}).stdout
    seconds = {}
    for line in out.splitlines():
        head, found, tail = line.partition(" seconds ")
        if found:
            seconds[" ".join(head.split()[:3])] = [float(x) for x in tail.split()]
    return seconds


def show(title, seconds, repeat):
    median = {case: statistics.median(s) for case, s in seconds.items()}
    ours = median[CASES[0]]
    print(f"{title}, median (least .. most) of {repeat}")
    for case, s in seconds.items():
        print(f"  {case:<20} {1000 * median[case]:8.0f} ms  ({1000 * min(s):.0f} .. {1000 * max(s):.0f})"
              f"  {median[case] / ours:5.2f} x {CASES[0]}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", action="append", help="of every link; 0: no limit")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--mpi", default="openmpi", choices=["openmpi", "mpich"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--bucket", type=int, default=4000000, help="bytes of float32 gradients")
    parser.add_argument("--build", default=str(SOURCE / "build"))
    parser.add_argument("--realtime", action="store_true",
                        help="hosts take their turns before all else that this machine does")
    parser.add_argument("--case", action="append", help="more cases: 'ring none e4m3'")
    options = parser.parse_args()
    if os.geteuid() != 0:
        skip("only root may make network namespaces")
    target = f"allreduce-{options.mpi}"
    if subprocess.run(["cmake", "--build", options.build, "--target", target],
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        skip(f"{options.build} has no {target}: the build found no {options.mpi}")
    for rate in options.rate or ["100mbit", "1gbit"]:
        with Network(options.hosts, None if rate == "0" else rate):
            seconds = measure(options, os.path.join(options.build, target),
                              CASES + (options.case or []))
        show(f"{options.hosts} hosts, {rate}, {options.mpi}", seconds, options.repeat)


if __name__ == "__main__":
    main()
