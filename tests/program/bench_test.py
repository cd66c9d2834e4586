"""`bench`: its time, its machine, the spread of its turns, everything in one file, and what it refuses."""
import json
import math
import os
import stat
import time

import program

SMALL = ["elements=1000", "m=16", "n=16", "k=16", "model=cnn-s", "model.width=0.25", "batch=8", "threads=1"]
BESIDE_ONEDNN = ["gemm", "conv"] if program.has_onednn() else []
KERNELS = ["round", "pack", "allreduce", *BESIDE_ONEDNN, "step"]
LIMIT = 0.1


def bench(checks, cwd, *words):
    code, out, err = program.call("bench", *words, "--json", cwd=cwd)
    checks.same((code, err), (0, ""), f"bench {words}: exit code and stderr")
    return json.loads(out) if code == 0 else {}


def verdict(rows, noisy, once):
    return "noisy" if 10 * noisy > rows else "unknown" if 2 * once > rows else "quiet"


def noise_of(checks, made, where):
    """The counts of noise follow from the spreads of the rows."""
    rows = [(row["spread"], row.get("reference_spread", 0.0))
            for row in made["rows"] + made.get("micro_kernels", [])]
    noisy = sum(any(s is not None and s > LIMIT for s in row) for row in rows)
    once = sum(None in row for row in rows)
    checks.that(all(s is None or s >= 0 for row in rows for s in row), f"{where}: spreads {rows}")
    checks.same(made["noise"], {"limit": LIMIT, "rows": len(rows), "noisy": noisy, "measured_once": once,
                                "verdict": verdict(len(rows), noisy, once)}, f"{where}: noise")
    return len(rows), noisy, once


def machine(checks, made):
    found = made["machine"]
    checks.that(found["processor"] and found["processors"] > 0 and found["halfulp"] and found["onednn"],
                f"names of {found}")
    checks.that(found["isa"] in ("scalar", "avx2", "avx512"), f"instruction set of {found}")
    checks.that(1e8 < found["hertz"] < 2e10, f"clock of {found}")
    lanes = found["peak_gmacs_per_second"] * 1e9 / found["hertz"]
    checks.that(math.isclose(found["macs_per_cycle"], lanes, rel_tol=1e-12), f"lanes of {found}")
    checks.that(0.1 < lanes < 200 and 0.1 < found["mixed_operations_per_cycle"] < 400, f"lanes of {found}")
    checks.that(found["memcpy_cached_bytes_per_second"] > 1e8, f"copies of {found}")


def everything(checks, cwd):
    """Every kernel, each with the machine, its rates beside their bounds, and the spread of its turns."""
    code, out, err = program.call("bench", "all", "seconds=0.3", *SMALL, "out=all.json", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "bench all: exit code and stderr")
    with open(f"{cwd}/all.json") as file:
        made = json.load(file)
    checks.same([k["kernel"] for k in made["kernels"]], KERNELS, "kernels")
    machine(checks, made)
    counts = [noise_of(checks, k, k["kernel"]) for k in made["kernels"]]
    rows, noisy, once = map(sum, zip(*counts))
    checks.same((made["noise"]["rows"], made["noise"]["noisy"], made["noise"]["measured_once"]),
                (rows, noisy, once), "noise of all")
    checks.that(f"{rows} rows, {noisy} of them noisy" in out, f"what is said of the file: {out!r}")
    for kernel in made["kernels"]:
        for row in kernel["rows"]:
            checks.that(row["turns"] >= 1 and (row["turns"] == 1) == (row["spread"] is None), f"turns of {row}")
    step = made["kernels"][-1]
    for row in made["kernels"][4]["rows"] if BESIDE_ONEDNN else ():
        checks.that(math.isclose(row["share_of_peak"], row["gflops"] / row["peak_gflops"], rel_tol=1e-12), f"{row}")
    checks.same((step["model"], step["batch"]), ("cnn-s", 8), "the step that was asked for")
    checks.that(0 < step["rows"][0]["share_of_peak"] < 3, f"share of {step['rows']}")
    checks.that(step["rows"][0]["seconds_to_first_step"] < made["seconds_taken"], "the other kernels' time is not its own")
    if not BESIDE_ONEDNN:
        return
    bounds = [row["share_of_bound"] for row in made["kernels"][3]["rows"]]
    checks.same([b is None for b in bounds], [r["semantics"] != "f32fma" for r in made["kernels"][3]["rows"]],
                "products with a bound")


def markdown(checks, cwd):
    words = ["all", "repeat=1", *SMALL, "precision=hfp8"]
    code, out, err = program.call("bench", *words, "-o", "all.md", cwd=cwd)
    checks.same((code, out.count("\n")), (0, 1), f"bench {words}: {err}")
    checks.same([line.split(":")[0] for line in err.splitlines()], [f"bench {k}" for k in KERNELS], "progress")
    with open(f"{cwd}/all.md") as file:
        lines = file.read().splitlines()
    checks.that(lines[0].startswith("    halfulp bench all ") and all(w in lines[0] for w in words[1:]),
                f"the command: {lines[0]}")
    checks.that("processor" in lines[2] and "multiply-adds a cycle" in lines[6], f"the machine: {lines[:8]}")
    checks.same([line[3:] for line in lines if line.startswith("## ")], [*KERNELS, "noise"], "headings")
    tables = [line for line in lines if line.startswith("|--")]
    checks.that(len(tables) >= 5 + len(BESIDE_ONEDNN) and all("---:|" in line for line in tables), f"tables: {tables}")
    checks.that(any("rows were measured once" in line for line in lines[-6:]), f"the end: {lines[-6:]}")
    words = ["gemm", "m=16", "n=16", "k=16"] if BESIDE_ONEDNN else ["round", "format=fp16", "elements=1000"]
    code, out, _ = program.call("bench", *words, "seconds=0.1", "threads=1", cwd=cwd)
    for part in ("one core: ", "GHz", *(["of bound"] if BESIDE_ONEDNN else []), "spread %", " rows, or what they stand beside, spread by more than 10 %"):
        checks.that(code == 0 and part in out, f"{part!r} in {out!r}")


def shapes_without_time(checks, made):
    shapes = {(row["m"], row["n"], row["k"]) for row in made["rows"]}
    checks.same((shapes, len(made["rows"]) + made["left_out"]), ({(16, 32768, 144)}, 11 * 14 + 8),
                "rows without time are left out")


def time_is_kept(checks, cwd):
    start = time.monotonic()
    if BESIDE_ONEDNN:
        made = bench(checks, cwd, "kernel=gemm", "seconds=0", "threads=1")
        checks.that(time.monotonic() - start < 30, "no time at all")
        shapes_without_time(checks, made)
    for seconds in (0.2, 1.5):
        made = bench(checks, cwd, "round", "format=fp16", "elements=65536", f"seconds={seconds}", "threads=1")
        checks.same(made["seconds_asked"], seconds, "what was asked")
        checks.that(made["seconds_taken"] < seconds + 2, f"{seconds} s: took {made['seconds_taken']}")
    checks.that(made["machine"]["memcpy_memory_bytes_per_second"] > 1e7, "copies from memory")
    made = bench(checks, cwd, "pack", "repeat=5", "seconds=0", "format=e5m2", "elements=1000")
    checks.same([row["turns"] for row in made["rows"]], [5] * 4, "repeat= is exact")
    made = bench(checks, cwd, "repeat=3", "seconds=0", *SMALL[4:])
    checks.same([row["turns"] for row in made["rows"]], [3], "steps, too")


def recipes(checks, cwd):
    """A batch that nobody gave is the recipe's."""
    made = bench(checks, cwd, "model=lstm-lm-s", "model.width=0.125", "seconds=0", "threads=1")
    checks.same((made["model"], made["batch"]), ("lstm-lm-s", 32), "model and batch")


def refused(checks, cwd):
    """Files that cannot be made are told at once, as others tell them; mistyped words by their nearest."""
    os.mkdir(f"{cwd}/folder")
    for path in ("", "folder", "none/x.md"):
        code, out, err = program.call("bench", "all", f"out={path}", cwd=cwd, timeout=10)
        plan = program.call("plan", "model=cnn-s", f"out={path}", cwd=cwd)
        checks.same((code, out, err), (plan[0], "", plan[2]), f"out={path}")
        checks.that(code in (2, 3), f"out={path}: exit {code}")
    checks.same(os.listdir(cwd), ["folder"], "nothing is left behind")
    for words, part in ((["gemn"], "expected one of: step round pack allreduce gemm conv all"),
                        (["gemm", "kernel=gemm"], "found 'gemm' beside kernel="),
                        (["kernle=gemm"], "unknown key 'kernle'"),
                        (["all", "gemm.data=uniform"], "'gemm.data', which bench kernel=all"),
                        (["round", "seconds=-1"], "bench.seconds")):
        code, out, err = program.call("bench", *words, cwd=cwd)
        checks.that((code, out) == (2, "") and part in err, f"bench {words}: exit {code}, {err!r}")
    with open(f"{cwd}/kept.md", "w") as file:
        file.write("old\n")
    os.chmod(f"{cwd}/kept.md", 0o640)
    program.call("bench", "round", "format=nvfp5", "out=kept.md", cwd=cwd)
    with open(f"{cwd}/kept.md") as file:
        checks.same(file.read(), "old\n", "a failure leaves the old file")
    code, _, err = program.call("bench", "round", "format=fp16", "elements=64", "repeat=1", "out=kept.md", cwd=cwd)
    checks.same((code, stat.S_IMODE(os.stat(f"{cwd}/kept.md").st_mode)), (0, 0o640), f"its permissions stay {err}")


program.main(everything, markdown, time_is_kept, recipes, refused)
