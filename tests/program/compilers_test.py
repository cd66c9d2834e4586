"""The rounding and packing kernels give the same bits from gcc and clang, with and without
optimisation, on every instruction set. Two builds; with the argument --full every compiler that is
here, at every level of optimisation."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.environ.get("HALFULP_SOURCE", "."))
FLAGS = ["-std=gnu17", "-w", "-fopenmp", "-D_DEFAULT_SOURCE", "-D_POSIX_C_SOURCE=200809L",
         "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
         f"-I{SOURCE}/src/number", f"-I{SOURCE}/include"]
AVX2 = ["-mavx2", "-mfma", "-mf16c", "-mbmi2"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mbmi2"]
FLAGS_OF_ISA = {"scalar": [], "avx2": AVX2, "avx512": AVX512}
BASE = ["cpu", "elementary", "memory", "rng", "status", "text"]
SHORT = [("gcc", "-O0"), ("clang" if shutil.which("clang") else "gcc", "-O3")]
FULL = [(compiler, f"-O{level}") for compiler in ("gcc", "clang") for level in range(4)]


def has_avx512():
    try:
        with open("/proc/cpuinfo") as info:
            return "avx512vl" in info.read()
    except OSError:
        return False


def sources():
    """Source files with the flags of their instruction set, variants once for each; without AVX-512
    here, its files are left out and their symbols stay null."""
    names = [f"{SOURCE}/src/number/base/{name}.c" for name in BASE]
    for room in ("format", "kernel/round", "kernel/pack"):
        names += sorted(glob.glob(f"{SOURCE}/src/number/{room}/*.c"))
    for name in names:
        sets = [isa for isa in FLAGS_OF_ISA if name.endswith(f"{isa}.c")]
        is_variant = name.endswith("variant.c")
        for isa in FLAGS_OF_ISA if is_variant else sets or ["scalar"]:
            if isa == "avx512" and not has_avx512() or isa == "avx2" and os.uname().machine != "x86_64":
                continue
            yield name, FLAGS_OF_ISA[isa] + ([f"-DHU_ISA={isa}"] if is_variant else [])


def build(compiler, level, folder):
    """The program's path; its parts are compiled two at a time."""
    running, objects = [], []
    for name, flags in [*sources(), (f"{SOURCE}/tests/program/round_bits.c", [])]:
        target = os.path.join(folder, f"{len(objects)}.o")
        objects.append(target)
        running.append(subprocess.Popen([compiler, level, *FLAGS, '-DHALFULP_VERSION="0"', *flags, "-c", name, "-o", target]))
        if len(running) == 2 and running.pop(0).wait() != 0:
            raise SystemExit(f"{compiler} {level}: compiling failed")
    if any(process.wait() != 0 for process in running):
        raise SystemExit(f"{compiler} {level}: compiling failed")
    program = os.path.join(folder, "round_bits")
    subprocess.run([compiler, level, "-fopenmp", "-no-pie", *objects, "-o", program,
                    "-Wl,--unresolved-symbols=ignore-all", "-lxxhash", "-lm"], check=True)
    return program


def main():
    hashes = {}
    for compiler, level in FULL if "--full" in sys.argv else SHORT:
        if not shutil.which(compiler):
            print(f"{compiler} {level}: no such compiler here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([build(compiler, level, folder)], stdout=subprocess.PIPE, text=True)
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
