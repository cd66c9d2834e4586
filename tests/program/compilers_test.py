"""The rounding and packing kernels give the same bits from gcc and clang, with and without
optimisation, on every instruction set. The library as it was built, clang where it is here, and the
scalar kernels without optimisation, whose vectors take a compiler a minute; with the argument
exhaustive every compiler that is here, at every level of optimisation, on every instruction set."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import program

SOURCE = os.path.abspath(os.environ.get("HALFULP_SOURCE", "."))
FLAGS = ["-std=gnu17", "-w", "-fopenmp", "-D_DEFAULT_SOURCE", "-D_POSIX_C_SOURCE=200809L",
         "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
         f"-I{SOURCE}/src/number", f"-I{SOURCE}/include"]
AVX2 = ["-mavx2", "-mfma", "-mf16c", "-mbmi2"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mbmi2"]
FLAGS_OF_ISA = {"scalar": [], "avx2": AVX2, "avx512": AVX512}
FLAGS_OF_FILE = {**FLAGS_OF_ISA, "vbmi": [*AVX512, "-mavx512vbmi"]}  # no variants of their own
BASE = ["cpu", "elementary", "memory", "rng", "status", "text"]
LIBRARY = os.path.join(os.path.dirname(os.path.abspath(os.environ.get("HALFULP", "build/halfulp"))), "libhalfulp.a")
BUILT = "the library"
# Compiler, level, and whether its vectors are compiled, too. A sanitized library needs what is not linked here.
SHORT = [("gcc", "-O3", True) if program.sanitizer() else (BUILT, "as built", True), ("gcc", "-O0", False)]
SHORT += [("clang", "-O3", True)] if shutil.which("clang") else []
FULL = [(compiler, f"-O{level}", True) for compiler in ("gcc", "clang") for level in range(4)]


def has_flag(flag):
    try:
        with open("/proc/cpuinfo") as info:
            return flag in info.read()
    except OSError:
        return False


def has_set(isa):
    flags = {"avx512": "avx512vl", "vbmi": "avx512vbmi"}
    return has_flag(flags[isa]) if isa in flags else os.uname().machine == "x86_64"


def sources(vectors):
    """Source files with the flags of their instruction set, variants once for each; what this machine has not, or is not
    asked for, is left out, and its symbols stay null."""
    names = [f"{SOURCE}/src/number/base/{name}.c" for name in BASE]
    for room in ("format", "format/table", "kernel/round", "kernel/pack", "kernel/table"):
        names += sorted(glob.glob(f"{SOURCE}/src/number/{room}/*.c"))
    for name in names:
        sets = [isa for isa in FLAGS_OF_FILE if name.endswith(f"{isa}.c")]
        is_variant = name.endswith("variant.c")
        for isa in FLAGS_OF_ISA if is_variant else sets or ["scalar"]:
            if isa != "scalar" and not (vectors and has_set(isa)):
                continue
            yield name, FLAGS_OF_FILE[isa] + ([f"-DHU_ISA={isa}"] if is_variant else [])


def build(compiler, level, vectors, folder):
    """The program's path; its parts are compiled two at a time."""
    running, objects = [], []
    parts, libraries = [*sources(vectors)], []
    if compiler == BUILT:
        compiler, level, parts, libraries = "gcc", "-O3", [], [LIBRARY]
    for name, flags in [*parts, (f"{SOURCE}/tests/program/round_bits.c", [])]:
        target = os.path.join(folder, f"{len(objects)}.o")
        objects.append(target)
        running.append(subprocess.Popen([compiler, level, *FLAGS, '-DHALFULP_VERSION="0"', *flags, "-c", name, "-o", target]))
        if len(running) == 2 and running.pop(0).wait() != 0:
            raise SystemExit(f"{compiler} {level}: compiling failed")
    if any(process.wait() != 0 for process in running):
        raise SystemExit(f"{compiler} {level}: compiling failed")
    made = os.path.join(folder, "round_bits")
    subprocess.run([compiler, level, "-fopenmp", "-no-pie", *objects, *libraries, "-o", made,
                    "-Wl,--unresolved-symbols=ignore-all", "-lxxhash", "-lm"], check=True)
    return made


def main():
    hashes = {}
    for compiler, level, vectors in FULL if {"exhaustive", "--full"} & {*sys.argv} else SHORT:
        if compiler != BUILT and not shutil.which(compiler):
            print(f"{compiler} {level}: no such compiler here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            words = [build(compiler, level, vectors, folder), *(() if vectors else ("scalar",))]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        print(f"{compiler} {level}: {done.stdout.strip()}, exit code {done.returncode}", flush=True)
        if done.returncode != 0:
            return 1
        hashes[compiler, level] = done.stdout
    if len(hashes) < 2 or len(set(hashes.values())) != 1:
        print("FAILED: the bits differ, or there was nothing to compare")
        return 1
    print(f"{len(hashes)} builds, the same bits")
    return 0


sys.exit(main())
