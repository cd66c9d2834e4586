"""gemm shows the errors of accumulators; bench kernel=gemm their rates beside references of the same run."""
import json
import os

import program

MODES = ["fmacs", "macs", "fmac", "mac", "fmac8", "kahan", "kahan-cpd"]


def gemm(checks, cwd, *words):
    code, out, err = program.call("gemm", *words, "--json", cwd=cwd)
    if not checks.same((code, err), (0, ""), f"gemm {words}: exit code and stderr"):
        return {"rows": []}
    return json.loads(out)


def errors_by_accumulator(checks, cwd):
    result = gemm(checks, cwd, "m=24", "n=20", "k=700", "threads=2")
    checks.same((result["m"], result["n"], result["k"]), (24, 20, 700), "shape")
    exact = {row["accumulator"]: row for row in result["rows"] if row["semantics"] == "exact"}
    checks.same(list(exact), [m if m == "fmacs" else f"{m}:1/6/9/d" for m in MODES], "rows")
    l2 = {name.split(":")[0]: row["relative_l2"] for name, row in exact.items()}
    checks.that(0 < l2["fmacs"] < 1e-5, f"fmacs is near the exact sums: {l2}")
    checks.that(l2["fmac"] > 4 * l2["fmac8"] > 0, f"blocks of eight help: {l2}")
    checks.that(l2["fmac"] > 4 * l2["kahan"] > 0, f"compensation helps: {l2}")
    checks.same(exact["fmacs"]["differs_from_fmacs"], 0.0, "fmacs is itself")
    for row in result["rows"]:
        checks.same(row["input"], "1/6/9/d", "input format")
        checks.same(row["accumulators"], 24 * 20 * 700, "accumulators")
        checks.that(row["max_relative_error"] >= row["mean_relative_error"] >= 0, f"{row}")
    again = gemm(checks, cwd, "m=24", "n=20", "k=700", "threads=1")
    checks.same(again["rows"], result["rows"], "one thread gives what two give")
    other = gemm(checks, cwd, "m=24", "n=20", "k=700", "seed=2")
    checks.that(other["rows"] != result["rows"], "another seed, other numbers")


def semantics_and_data(checks, cwd):
    """A block of (7,12) differs between the semantics; positive terms stall in narrow formats."""
    rows = gemm(checks, cwd, "accumulator=fmac:e7m12,kahan:fp(5,8,0)", "m=16", "n=16", "k=512",
                "gemm.data=uniform", "gemm.input=fp32")["rows"]
    checks.same([(r["accumulator"], r["semantics"]) for r in rows][:2],
                [("fmac:e7m12", "exact"), ("fmac:e7m12", "f32fma")], "both semantics where they differ")
    checks.same(rows[-1]["accumulator"], "kahan:fp(5,8,0)", "commas within parentheses")
    rows = gemm(checks, cwd, "accumulator=fmac:e5m2,fmac:e5m2:sub=n", "accumulator.semantics=exact",
                "gemm.data=lognormal", "m=8", "n=8", "k=2000")["rows"]
    checks.same(len(rows), 2, "one semantics")
    checks.that(rows[0]["mean_relative_error"] > 0.7, f"sums of positive terms stall: {rows[0]}")
    rows = gemm(checks, cwd, "accumulator=fmac:e2m1,fmac:fp16", "gemm.input=fp16", "m=8", "n=8",
                "k=64", "gemm.data=lognormal", "accumulator.semantics=exact")["rows"]
    checks.that(rows[0]["overflows"] > 0, f"e2m1 saturates: {rows[0]}")
    checks.same((rows[0]["nonfinite_elements"], rows[1]["overflows"]), (0, 0), "finite")


def table(checks, cwd):
    code, out, err = program.call("gemm", "m=8", "n=8", "k=32", cwd=cwd)
    checks.same((code, err), (0, ""), "gemm as a table")
    checks.that(out.startswith("accumulator") and "8 x 8 x 32, normal data" in out, out)


def mistakes(checks, cwd):
    for words, code, part in [
            (["accumulator=fmax:fp16"], 2, "unknown mode 'fmax'; the nearest are 'fmac'"),
            (["accumulator=fmac:e5m10,fmac0:fp16"], 2, "block of 0 terms"),
            (["accumulator=fmac:e5x"], 2, "column 3"),
            (["accumulator="], 2, "unknown mode ''"),
            (["k=0"], 2, "from 1 to"),
            (["gemm.input=fp61"], 2, "'fp16'"),
            (["gemm.data=cauchy"], 2, "one of: normal uniform lognormal"),
            (["gemm.input=mxfp8"], 2, "found a block format"),
            (["gemm.input=uniform8"], 2, "found uniform integers"),
            (["accumulator=fmac8:uniform8"], 2, "uniform8"),
            (["gemm.input=e4m3fn:scale=current"], 2, "scale=2^K"),
            (["gemm.input=e4m3fn:scale=now"], 2, "column 14: found 'now'"),
            (["gemm.input=e4m3fn rz"], 2, "rounding mode"),
            (["accumulator=fmac8:mxfp8"], 2, "found the block format 'mxfp8'"),
            (["data=uniform"], 2, "'data.name', which gemm does not read"),
            (["accumulator.rules=fc: fmacs"], 2, "'accumulator.rules'"),
            (["m=1000000", "n=1000000", "k=1000000"], 5, "memory")]:
        found, _, err = program.call("gemm", *words, cwd=cwd)
        checks.that(found == code and part in err, f"gemm {words}: exit {found}, {err!r}")


def bench(checks, cwd):
    code, out, err = program.call("bench", "kernel=gemm", "m=32", "n=40", "k=48", "threads=2", "--json",
                                  cwd=cwd)
    if not program.has_onednn():
        checks.same((code, out), (2, ""), "bench beside what is not there")
        checks.that("bench gemm measures beside oneDNN, which is not " in err, f"refused: {err}")
        return
    if not checks.same((code, err), (0, ""), "bench: exit code and stderr"):
        return
    result = json.loads(out)
    rows = result["rows"]
    checks.same(result["kernel"], "gemm", "kernel")
    checks.same([(r["mode"], r["semantics"]) for r in rows if r["mode"] != "quantise+fmacs"],
                [(m, s) for m in MODES for s in ("exact", "f32fma")], "every mode, both semantics")
    checks.same([r["reference"] for r in rows if r["mode"] == "quantise+fmacs"],
                ["hu_round_f32 + dnnl_sgemm"], "fused rounding has its own reference")
    for row in rows:
        checks.same((row["m"], row["n"], row["k"], row["threads"]), (32, 40, 48, 2), "case")
        checks.same(row["format"], "fp32" if row["mode"] == "fmacs" else "1/6/9/d", "format")
        checks.that(row["gmacs_per_second"] > 0 and abs(
            row["ratio"] * row["reference_gmacs_per_second"] / row["gmacs_per_second"] - 1) < 1e-12,
            f"ratio of {row}")
        checks.that(abs(row["share_of_peak"] * row["peak_gmacs_per_second"]
                        / row["gmacs_per_second"] - 1) < 1e-12, f"share of peak of {row}")
    for row in result["micro_kernels"]:
        share = row["gmacs_per_second"] * row["bound_instructions"] / row["peak_gmacs_per_second"]
        checks.that(0 < row["share_of_bound"] and abs(row["share_of_bound"] / share - 1) < 1e-12,
                    f"share of the bound of {row}")
    code, out, _ = program.call("bench", "kernel=gemm", "m=16", "accumulator=kahan:bf16",
                                "accumulator.semantics=exact", cwd=cwd)
    checks.that(code == 0 and "kahan  exact" in out and "512" in out, f"bench as a table: {out}")


def keys_of_kernels(checks, cwd):
    """What a kernel would not read is an error; a fixed scale is a bias."""
    for words, part in [
            (["kernel=gemm", "gemm.data=uniform"], "'gemm.data', which bench kernel=gemm"),
            (["kernel=round", "precision=e4m3"], "'precision.name', which bench kernel=round"),
            (["kernel=pack", "m=8"], "'gemm.m', which bench kernel=pack"),
            (["kernel=allreduce", "m=8"], "'gemm.m', which bench kernel=allreduce"),
            (["format=e4m3"], "'bench.format', which bench kernel=step"),
            (["kernel=round", "format=e4m3:scale=current"], "found a scale that depends on a tensor"),
            (["kernel=pack", "format=e4m3:tile=1x0:scale=f32"], "expected RxC")]:
        code, _, err = program.call("bench", *words, cwd=cwd)
        checks.that(code == 2 and part in err, f"bench {words}: exit {code}, {err!r}")
    code, out, err = program.call("bench", "kernel=round", "format=e4m3fn:scale=2^3", "elements=64",
                                  "repeat=1", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "bench kernel=round: exit code and stderr")
    checks.same({row["format"] for row in json.loads(out)["rows"]}, {"e4m3fn:bias=4"}, "format")
    for kernel, modes in [("round", ["rne", "rne"]), ("pack", ["round+pack", "unpack"])]:
        for text in ("nvfp4", "e4m3fn:tile=128x128:scale=f32", "nvfp4:hadamard=16"):
            code, out, err = program.call("bench", f"kernel={kernel}", f"format={text}", "elements=2048",
                                          "repeat=1", "--json", cwd=cwd)
            checks.same((code, err), (0, ""), f"bench kernel={kernel} {text}: exit code and stderr")
            checks.same([row["mode"] for row in json.loads(out)["rows"]], modes, f"modes of {text}")
    for kernel, modes in [("round", ["range", "rne", "rne", "sr", "sr"]),
                          ("pack", ["round+pack", "unpack"])]:
        code, out, err = program.call("bench", f"kernel={kernel}", "format=Uniform5", "elements=77",
                                      "repeat=1", "threads=2", "--json", cwd=cwd)
        rows = json.loads(out)["rows"] if code == 0 else []
        checks.same([(row["format"], row["mode"]) for row in rows],
                    [("uniform5", mode) for mode in modes], f"bench kernel={kernel} uniform5 {err}")
    code, scaled, err = program.call("fmt", "e4m3fn:scale=2^3", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "fmt with a fixed scale")
    plain = json.loads(program.call("fmt", "e4m3fn:bias=4", "--json", cwd=cwd)[1])
    checks.same(json.loads(scaled) | {"typed": "e4m3fn:bias=4"}, plain, "its bias")
    for text, part in [("e4m3fn:scale=current", "depends on a tensor"), ("e4m3fn rz", "mode"),
                       ("e4m3fn:scale=", "column 14"), ("mxfp9", "'mxfp8'"),
                       ("uniform8", "uniform integers"), ("uniform17", "bits 2..16")]:
        code, _, err = program.call("fmt", text, cwd=cwd)
        checks.that(code == 2 and part in err, f"fmt {text}: exit {code}, {err!r}")


def allreduce(checks, cwd):
    """What is done with numbers that travel, each beside the memcpy of the array that bounds it."""
    code, out, err = program.call("bench", "kernel=allreduce", "format=1/6/9", "elements=5000",
                                  "repeat=2", "threads=2", "--json", cwd=cwd)
    if not checks.same((code, err), (0, ""), "bench kernel=allreduce: exit code and stderr"):
        return
    result = json.loads(out)
    rows = result["rows"]
    checks.same(result["kernel"], "allreduce", "kernel")
    checks.same([(r["mode"], r["counters"], r["reference_bytes_per_element"]) for r in rows],
                [("quantise", False, 4), ("quantise", True, 4), ("add", False, 2), ("add", True, 2),
                 ("decode", False, 4), ("pack", False, 2), ("unpack", False, 2)], "rows")
    for row in rows:
        checks.same((row["format"], row["elements"], row["threads"], row["reference"]),
                    ("1/6/9/d", 5000, 2, "memcpy"), "case")
        checks.that(row["gelements_per_second"] > 0 and abs(
            row["ratio"] * row["reference_gelements_per_second"] / row["gelements_per_second"] - 1)
            < 1e-12, f"ratio of {row}")


def without_its_library(checks, cwd):
    """oneDNN is opened when it is asked for: where its library is not, everything else works. Hidden by files that are none:
    not for a build that was told of another oneDNN than the system's, which it looks for first."""
    for version in (2, 3):
        open(os.path.join(cwd, f"libdnnl.so.{version}"), "w").close()
    hidden = {"env": {**os.environ, "LD_LIBRARY_PATH": cwd}}
    code, out, err = program.call("doctor", cwd=cwd, **hidden)
    line = next(line for line in out.splitlines() if "oneDNN" in line)
    checks.that(code == 0 and ("not on this machine" in line or "not in this build" in line), f"doctor: {line} {err}")
    for words in (["plan", "model=cnn-s", "products=onednn"], ["bench", "kernel=gemm"]):
        code, _, err = program.call(*words, cwd=cwd, **hidden)
        checks.that(code == 2 and "oneDNN, which is not " in err.replace("onednn", "oneDNN"), f"{words}: {code} {err}")
    words = ["train", "model=cnn-s", "data=glyphs", "data.limit=256", "epochs=1", "--json"]
    hashes = []
    for folder, more in (("hidden", hidden), ("there", {})):
        code, out, err = program.call(*words, f"run.dir={folder}", cwd=cwd, **more)
        checks.same(code, 0, f"train: {err}")
        with open(os.path.join(cwd, folder, "result.json"), encoding="utf-8") as file:
            hashes.append(json.load(file)["weights_hash"])
    checks.same(hashes[0], hashes[1], "the same bits")


program.main(errors_by_accumulator, semantics_and_data, table, mistakes, keys_of_kernels, bench,
             allreduce, without_its_library)
