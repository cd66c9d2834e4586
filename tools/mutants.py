#!/usr/bin/env python3
"""Changes the code of formats, rounding and packing in small ways, and demands that the tests notice.

usage: tools/mutants.py [--build build] [--count 500] [--seed 1] [--only WORD] [--results FILE]
                        [--again] [--list] [--short]

A mutant is one file of FILES with one change of tools/mutations.py. Files take turns, and within a file kinds take
turns, by a generator with a seed: --count and --seed name the same mutants as long as the files stay as they are.
Changed files lie in a folder of their own that stands before src in the compiler's search path; the sources are
only read. What includes the file is compiled with the flags of the build (compile_commands.json) but -O1, which
gives the same numbers sooner, and linked in front of the archives of the build with the objects of the tests. So the
build must be there, made by ninja, with the tests that FILES names: `./go test`, or `cmake --build build --target
TEST...` (status 77 and their names if they are missing).

Files that are compiled once per instruction set are changed for one set, and the tests are held to that set and
those below it (hu_cpu_isa_native is wrapped): what is common to all is changed for `scalar`, so that no unchanged
kernel stands beside it that would tell the difference. The file of rounding kernels is compiled with a few rows of
round.list that are made of what is changed, or with a few first and with all where nobody noticed.

What becomes of a mutant:
    killed      a test failed or crashed, or ran longer than its limit of processor time
    survived    all tests passed: a test is missing, or the mutant means the same
    equal       stands in tools/mutants_equal.txt with the reason why no test can notice; is not run
    (left out)  the compiler refuses it, or makes the same object of it; another takes its place

Ends with the figures, raw and without those that are equal, and with status 1 if fewer than 95 % of the latter are
killed. --results FILE (usual: BUILD/mutants.jsonl) keeps what was found; a run that was stopped goes on there.
--again tries the survivors once more (after tests were added), --only WORD takes the files that have the word in
their path, --list prints mutants and runs nothing, --short is one of each of eight files that cost little, of which
75 % are asked, as `./go test` runs it: whoever changes a file gets another mutant of it.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mutations  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent.parent
WING = "src/number"  # all rooms below lie in it
EQUAL = SOURCE / "tools/mutants_equal.txt"
ASKED, ASKED_SHORT = 95.0, 75.0  # per cent
SKIPPED = 77  # as ctest knows it

FORMAT = ["format_round_test", "format_parse_test", "format_limits_test", "format_published_test",
          "proof_format_reference --short"]
ROUND = ["kernel_round_test", "kernel_route_test", "kernel_large_test", "kernel_stochastic_test"]
PACK = ["kernel_pack_test", "tensor_storage_test"]
ENCODE = ["kernel_encode_test", "kernel_large_test", "tensor_storage_test"]
TENSOR = ["tensor_storage_test", "tensor_quantizer_test", "tensor_quantize_test"]
VALUE = FORMAT[:-1] + ["tensor_exponents_test", "tensor_rounding_error_test"] + FORMAT[-1:] + ["kernel_route_test", "kernel_pack_test", "kernel_round_test"]
ROOMS = ["base", "format", "kernel", "tensor"]  # from below; proofs begin with proof_

# File: what is compiled of it, the best instruction set of the tests (None: the machine's), tests.
FILES = {
    "format/format.c": (["format/format.c"], None, FORMAT),
    "format/names.c": (["format/names.c"], None, FORMAT),
    "format/parse.c": (["format/parse.c"], None, FORMAT),
    "format/print.c": (["format/print.c"], None, FORMAT),
    "format/reference.c": (["format/reference.c"], None, FORMAT),
    "format/value.h": (["format/format.c", "format/reference.c", "kernel/round/round.c",
                        "kernel/pack/pack.c", "tensor/exponent_histogram.c"], "scalar", VALUE),
    "kernel/lane.h": (["kernel/pack/variant.c:scalar", "kernel/round/variant.c:scalar"], "scalar", ["kernel_pack_test"] + ROUND),
    "kernel/round/variant.c": (["kernel/round/variant.c:scalar"], "scalar", ROUND),
    "kernel/round/tally.h": (["kernel/round/variant.c:scalar"], "scalar", ROUND),
    "kernel/round/words.inc": (["kernel/round/variant.c:scalar"], "scalar", ROUND),
    "kernel/round/round.c": (["kernel/round/round.c"], None, ["kernel_route_test"] + ROUND),
    "kernel/pack/variant.c": (["kernel/pack/variant.c:scalar"], "scalar", PACK),
    "kernel/pack/width.inc": (["kernel/pack/variant.c:scalar"], "scalar", PACK),
    "kernel/pack/pack.c": (["kernel/pack/pack.c"], None, PACK),
    "kernel/pack/vector_avx2.c": (["kernel/pack/vector_avx2.c"], "avx2", PACK),
    "kernel/pack/vector_avx512.c": (["kernel/pack/vector_avx512.c"], None, PACK),
    "kernel/pack/lanes_avx2.h": (["kernel/pack/vector_avx2.c", "kernel/pack/halves_avx2.c"], "avx2", PACK),
    "kernel/pack/halves_avx2.c": (["kernel/pack/halves_avx2.c"], "avx2", PACK),
    "kernel/pack/halves_avx512.c": (["kernel/pack/halves_avx512.c"], None, PACK),
    "kernel/encode/encode.c": (["kernel/encode/encode.c"], None, ENCODE),
    "kernel/encode/vector.h": (["kernel/encode/vector_avx2.c"], "avx2", ENCODE),
    "kernel/encode/parts.inc": (["kernel/encode/vector_avx2.c"], "avx2", ENCODE),
    "kernel/encode/vector_avx2.c": (["kernel/encode/vector_avx2.c"], "avx2", ENCODE),
    "kernel/encode/vector_avx512.c": (["kernel/encode/vector_avx512.c"], None, ENCODE),
    "tensor/storage.c": (["tensor/storage.c"], None, TENSOR),
    "tensor/quantize.c": (["tensor/quantize.c"], None, TENSOR),
    "tensor/quantizer.c": (["tensor/quantizer.c"], None, TENSOR),
}
# What no kernel of rounding or packing calls.
LEFT_OUT = {"kernel/lane.h": ("load", "store", "transpose_8")}
ISAS = ["scalar", "avx2", "avx512"]
# Rows of round.list that are compiled first for a changed function (or file): those that are made of it.
MAGIC = ("rne_magic", "rna_magic", "ru_magic", "rodd_magic", "sr_magic")
ALIGNED = ("rne_aligned", "rna_aligned", "ru_aligned", "rodd_aligned", "sr_aligned")
INTEGER = ("rne", "ru", "rodd", "sr")
FEW_ROWS = {"magic_rise": MAGIC, "round_magic": MAGIC, "round_aligned": ALIGNED, "round_integer": INTEGER,
            "goes_up": INTEGER, "is_outward": ("ru_magic", "rd_aligned"), "stochastic_bound": ("sr",), "exponent_of": ("rne",), "stream_magic": ("rne_magic",),
            "stream_aligned": ("rne_aligned",), "scan_finite": ("rz_aligned",), "scan_any": ("rz_aligned",),
            "kernel/round/words.inc": ("sr",),
            "kernel/round/tally.h": ("rne_aligned",),
            "kernel/lane.h": ("rne_aligned",)}
SOME_ROWS = ("rne_magic", "rna")
# Eight files whose tests take moments.
SHORT = ["format/reference.c", "format/format.c", "format/parse.c", "format/print.c",
         "kernel/encode/encode.c", "tensor/storage.c", "tensor/quantizer.c"]


def few_rows(mutant):
    """round.list with some rows alone."""
    rows = FEW_ROWS.get(mutant.change.function) or FEW_ROWS.get(mutant.path, SOME_ROWS)
    text = (SOURCE / "src/number/kernel/round/round.list").read_text()
    return "".join(line for line in text.splitlines(True)
                   if not line.startswith("HU_ROUND_VARIANT(") or line[17:].split(",")[0] in rows)


class Mutant:
    """One change of one file; `name` says which, and stays when lines move."""

    def __init__(self, path, text, change):
        self.path, self.text, self.change = path, text, change
        self.line = text.count("\n", 0, change.start) + 1
        begin = text.rfind("\n", 0, change.start) + 1
        end = text.find("\n", change.end)
        marked = text[begin:change.start] + "{" + text[change.start:change.end] + " => " + change.new + "}" + \
            text[change.end:end]
        self.name = f"{path} | {change.function or '-'} | {' '.join(marked.split())}"

    def changed(self):
        return self.text[:self.change.start] + self.change.new + self.text[self.change.end:]


def in_turns(lists):
    """One element of each list after the other, until all are used up."""
    lists = [iter(one) for one in lists]
    while lists:
        left = []
        for one in lists:
            for element in one:
                yield element
                left.append(one)
                break
        lists = left


def all_mutants(seed, only):
    """Mutants in the order in which they are tried."""
    by_file = []
    for path in FILES:
        if only not in path:
            continue
        text = (SOURCE / WING / path).read_text()
        rng = random.Random(f"{seed} {path}")
        by_kind = {kind: [] for kind in mutations.KINDS}
        for change in mutations.changes_of(text, rng):
            if change.function in LEFT_OUT.get(path, ()):
                continue
            by_kind[change.kind].append(Mutant(path, text, change))
        for mutants in by_kind.values():
            rng.shuffle(mutants)
        by_file.append(list(in_turns(by_kind.values())))
    return in_turns(by_file)


class Workshop:
    """Compiles, links and runs, in a folder of its own."""

    def __init__(self, build, folder):
        self.build, self.folder = build, pathlib.Path(folder)
        commands = json.loads((build / "compile_commands.json").read_text())
        self.commands = {}
        for command in commands:  # variants have one for each instruction set: room/variant.c:ISA
            isa = re.search(r"-DHU_ISA=(\w+)", command["command"])
            self.commands[command["file"] + (f":{isa[1]}" if isa else "")] = command
        self.links, self.unchanged, self.limits = {}, {}, {}
        self.limits_file = build / "mutants_limits.json"
        self.known_limits = json.loads(self.limits_file.read_text()) if self.limits_file.exists() else {}

    def compile(self, unit, changes, output):
        """True if src/unit compiles; changes: text by path, of files that stand for those of src."""
        shadow = self.folder / "src"
        subprocess.run(["rm", "-rf", shadow], check=True)
        for path, text in changes.items():
            (shadow / path).parent.mkdir(parents=True, exist_ok=True)
            (shadow / path).write_text(text)
        entry = self.commands[str(SOURCE / WING / unit)]
        words = shlex.split(entry["command"])
        words = words[next(i for i, w in enumerate(words) if "ccache" not in w):words.index("-o")]
        path = unit.split(":")[0]
        source = shadow / path if path in changes else SOURCE / WING / path
        words[1:1] = [f"-I{shadow}"]
        words = [w for w in words if w not in ("-O3", "-O2", "-g", "-Werror")] + ["-O1", "-w", "-o", output, "-c", source]
        return subprocess.run(words, cwd=entry["directory"], stderr=subprocess.DEVNULL).returncode == 0

    def original(self, unit, rows):
        """Object of the unchanged source; rows: texts that stand for round.list."""
        key = (unit, *rows.values())
        if key not in self.unchanged:
            output = self.folder / f"unchanged{len(self.unchanged)}.o"
            if not self.compile(unit, rows, output):
                sys.exit(f"tools/mutants.py: {WING}/{unit} does not compile as it is")
            self.unchanged[key] = output
        return self.unchanged[key]

    def weakened(self, unit):
        """Object of the build, giving way to other definitions."""
        output = self.folder / (unit.replace("/", "_") + ".weak.o")
        if not output.exists():
            words = shlex.split(self.commands[str(SOURCE / WING / unit)]["command"])
            subprocess.run(["objcopy", "--weaken", self.build / words[words.index("-o") + 1], output], check=True)
        return output

    def cap(self, isa):
        """Object that says that the machine has no more than isa."""
        output = self.folder / f"cap_{isa}.o"
        if not output.exists():
            code = f"int __wrap_hu_cpu_isa_native(void);\nint __wrap_hu_cpu_isa_native(void) {{ return {ISAS.index(isa)}; }}\n"
            subprocess.run(["cc", "-O1", "-fPIC", "-x", "c", "-", "-c", "-o", output], input=code.encode(), check=True)
        return output

    def link(self, test, objects, isa):
        """The test with objects in front of the build's archives."""
        if test not in self.links:
            line = subprocess.run(["ninja", "-C", self.build, "-t", "commands", test], capture_output=True, text=True,
                                  check=True).stdout.splitlines()[-1]
            self.links[test] = [w for w in shlex.split(line) if w not in (":", "&&")]
        words = list(self.links[test])
        words[words.index("-o") + 1] = self.folder / test
        first = next(i for i, w in enumerate(words) if str(w).endswith(".a"))
        words[first:first] = objects
        if isa:
            words[first:first] = ["-Wl,--wrap=hu_cpu_isa_native", self.cap(isa)]
        subprocess.run(words, cwd=self.build, check=True)

    def run(self, command, isa, limit):
        """None if the test passes, else why not. Ends at its first failure."""
        program, *arguments = command.split()

        def hold():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
        if isa:
            environment["HALFULP_MAX_ISA"] = isa
        with subprocess.Popen([self.folder / program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment, preexec_fn=hold, cwd=self.folder) as process:
            for line in process.stdout:
                if b"[  FAILED  ]" in line:
                    process.kill()
                    return "failed"
            status = process.wait()
        if status in (-24, -9):
            return "time"
        return None if status == 0 else "failed" if status > 0 else f"signal {-status}"

    def objects_for(self, test, mutant, rows, objects):
        """Those of rooms that the test sees, compiled when they are first asked for; None if the compiler refuses."""
        room = test.replace("proof_", "").split("_")[0]
        seen = [unit for unit in FILES[mutant.path][0] if unit.split("/")[0] in ROOMS[:ROOMS.index(room) + 1]]
        for unit in seen:
            if unit not in objects:
                objects[unit] = self.build_mutant(unit, mutant, rows)
        return None if None in objects.values() else [path for unit in seen for path in objects[unit]]

    def judge(self, mutant, rows, objects):
        """(test, how) of the first test that notices, ("refused", "") or None."""
        _, isa, tests = FILES[mutant.path]
        for command in tests:
            test = command.split()[0]
            seen = self.objects_for(test, mutant, rows, objects)
            if seen is None:
                return "refused", ""
            if not seen:
                continue
            self.prepare(command, isa)
            self.link(test, seen, isa)
            how = self.run(command, isa, self.limits[command, isa])
            if how:
                return command, how
        return None

    def prepare(self, command, isa):
        """Sees that the test passes as it is, and takes one and a half of its processor time as its limit; once for each build."""
        test = command.split()[0]
        key = f"{command} {isa} {(self.build / test).stat().st_mtime}"
        if key in self.known_limits:
            self.limits[command, isa] = self.known_limits[key]
        if (command, isa) in self.limits:
            return
        self.link(test, [], isa)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        how = self.run(command, isa, 600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if how:
            sys.exit(f"tools/mutants.py: {command} without any change: {how}")
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.limits[command, isa] = self.known_limits[key] = int(1.5 * spent) + 2
        self.limits_file.write_text(json.dumps(self.known_limits, indent=1))

    def shown_rows(self, unit, rows):
        """What stands for round.list in this unit."""
        return rows if unit.startswith("kernel/round/") and unit != "kernel/round/round.c" else {}

    def build_mutant(self, unit, mutant, rows):
        """Objects of a unit, or None if the compiler refuses."""
        shown = self.shown_rows(unit, rows)
        output = self.folder / ("mutant_" + unit.replace("/", "_") + ".o")
        if not self.compile(unit, dict(shown, **{mutant.path: mutant.changed()}), output):
            return None
        return [output, self.weakened(unit)] if shown else [output]

    def is_same(self, objects, rows):
        """The compiler made of the mutant what it makes of the file as it is."""
        return all(paths[0].read_bytes() == self.original(unit, self.shown_rows(unit, rows)).read_bytes()
                   for unit, paths in objects.items())

    def judge_mutant(self, mutant):
        """("killed", by whom), ("survived", ""), or ("refused" or "same", "")."""
        units = FILES[mutant.path][0]
        few = {"kernel/round/round.list": few_rows(mutant)}
        is_listed = mutant.change.function in FEW_ROWS or mutant.path in FEW_ROWS
        has_rows = any(self.shown_rows(unit, few) for unit in units)
        for rows in [few] if has_rows and is_listed else [few, {}] if has_rows else [{}]:
            objects = {}
            noticed = self.judge(mutant, rows, objects)
            if noticed:
                return ("killed", f"{noticed[0]} ({noticed[1]})") if noticed[1] else noticed
        return ("same" if self.is_same(objects, rows) else "survived"), ""


def equal_names():
    """Names of mutants that mean the same, with reasons: blocks of `name` and `reason`, see the file."""
    reasons, names = {}, []
    for line in EQUAL.read_text().splitlines() if EQUAL.exists() else []:
        if line.startswith("#") or not line.strip():
            names = [] if not line.strip() else names
        elif line.startswith(" "):
            reasons.update({name: line.strip() for name in names})
        else:
            names.append(line.strip())
    return reasons


def machine_has(build):
    """The best instruction set here, of those whose tests can run."""
    flags = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    return 2 if all(f" {f}" in flags for f in ("avx512f", "avx512bw", "avx512dq", "avx512vl")) else 1 if " avx2" in flags else 0


def can_run(path, best):
    return not (path.endswith("avx512.c") and best < 2 or path.endswith("avx2.c") and best < 1)


def report(found, reasons, asked):
    """Prints the figures and the survivors; 0 if enough are killed."""
    killed, equal, alive = ([f for f in found if f["status"] == status] for status in ("killed", "equal", "survived"))
    for f in alive:
        print(f"survived  {WING}/{f['path']}:{f['line']}  [{f['kind']}]  {f['name'].split(' | ', 1)[1]}")
    counted = max(1, len(found) - len(equal))
    share, raw = 100.0 * len(killed) / counted, 100.0 * len(killed) / max(1, len(found))
    timed = sum("(time)" in f["by"] for f in killed)
    print(f"{len(found)} mutants: {len(killed)} killed ({timed} by their time), {len(alive)} survived, {len(equal)} equal; "
          f"{share:.1f} % of those that are not equal, {raw:.1f} % of all")
    return 0 if share >= asked else 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--build", default=str(SOURCE / "build"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--results")
    for switch in ("--again", "--list", "--short"):
        parser.add_argument(switch, action="store_true")
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    best, reasons = machine_has(build), equal_names()
    results = pathlib.Path(options.results) if options.results else build / "mutants.jsonl"
    known = {}
    if not options.short and results.exists():
        known = {f["name"]: f for f in map(json.loads, results.read_text().splitlines())}
    if options.short:
        for path in list(FILES):
            if path not in SHORT:
                del FILES[path]
        options.count = len(SHORT)
    missing = [t for _, _, tests in FILES.values() for t in tests if not (build / t.split()[0]).exists()]
    if missing and not options.list:
        print(f"not built in {build}: {' '.join(sorted(set(missing)))}")
        return SKIPPED
    found, tried = [], set()
    with tempfile.TemporaryDirectory(prefix="halfulp-mutants-") as folder:
        workshop = Workshop(build, folder)
        for mutant in all_mutants(options.seed, options.only):
            if len(found) == options.count:
                break
            if mutant.name in tried or not can_run(mutant.path, best):
                continue
            tried.add(mutant.name)
            if options.list:
                found.append({})
                print(f"{WING}/{mutant.path}:{mutant.line}  [{mutant.change.kind}]  {mutant.name}")
                continue
            fact = known.get(mutant.name)
            if mutant.name in reasons:
                fact = {"name": mutant.name, "path": mutant.path, "kind": mutant.change.kind, "status": "equal", "by": ""}
            elif fact is None or options.again and fact["status"] == "survived":
                status, by = workshop.judge_mutant(mutant)
                fact = {"name": mutant.name, "path": mutant.path, "kind": mutant.change.kind, "status": status, "by": by}
                if not options.short:
                    with results.open("a") as out:
                        out.write(json.dumps(fact) + "\n")
            if fact["status"] in ("killed", "survived", "equal"):
                found.append(dict(fact, line=mutant.line))
    return 0 if options.list else report(found, reasons, ASKED_SHORT if options.short else ASKED)


if __name__ == "__main__":
    sys.exit(main())
