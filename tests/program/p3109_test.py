"""Formats of IEEE P3109 and stochastic rounding by stated bits, as a user meets them: fmt, plans, training in them
(threads and storage change no bit), and what is refused.

    python3 tests/program/p3109_test.py tables DIRECTORY

compares `fmt NAME --decode` with the value tables that the working group publishes (github.com/P3109/Public, folder
"Value Tables/Hexadecimal"), of every format in DIRECTORY that float32 holds; it prints how many agree.
"""
import csv
import json
import math
import pathlib
import re
import subprocess
import sys

import program

SMALL = ["data=glyphs", "data.limit=88", "data.test_limit=24", "batch=48", "run.chunk=5", "run.log_every=1",
         "steps=4", "lr.warmup=0", "model=cnn-s"]
PRECISIONS = ["binary8p4se", "w=binary8p3sf,act=binary8p3ue:sat=finite,grad=binary8p3se,wgrad=8p2se",
              "binary8p3se sr:bits=4:kind=a", "act=e4m3 sr:bits=8,grad=e5m2 sr:bits=12:kind=b", "e5m2:ovf=propagate",
              "binary6p3sf:scale=current", "binary12p5se:scale=delayed3"]


def lines(*words, numbers, cwd="."):
    """What fmt prints for numbers on stdin."""
    done = subprocess.run([program.HALFULP, "fmt", *words], cwd=cwd, input="".join(f"{n}\n" for n in numbers), text=True,
                          capture_output=True, timeout=program.patience(300), check=True)
    return done.stdout.split()


def decoded(name, codes, cwd="."):
    return lines(name, "--decode", numbers=[f"0x{code:x}" for code in codes], cwd=cwd)


def shows(checks, cwd):
    """Limits, all values, rounding in every saturation."""
    _, out, _ = program.call("fmt", "Binary8p3se", "--json", cwd=cwd)
    made = json.loads(out)
    for key, value in {"name": "binary8p3se", "max": 49152, "min_normal": 2**-15, "min_subnormal": 2**-17,
                       "codes": 256}.items():
        checks.same(made[key], value, f"fmt binary8p3se: {key}")
    checks.same(decoded("8p1uf", [0, 1, 0x80, 0xFE, 0xFF], cwd), ["0", "5.87747175e-39", "1", "8.50705917e+37", "nan"],
                "fmt 8p1uf --decode")
    _, out, _ = program.call("fmt", "binary4p2se", "--table", "--csv", cwd=cwd)
    values = [row["value"] for row in csv.DictReader(out.splitlines())]
    checks.same(len(values), 16, "fmt binary4p2se --table")
    for name, expected in {"8p3se:sat=finite": ["49152", "-49152", "49152"],
                           "8p3se:sat=propagate": ["49152", "-49152", "inf"],
                           "8p3se:sat=none": ["inf", "-inf", "inf"], "8p3ue": ["57344", "nan", "inf"],
                           "8p4ue:sat=finite": ["53248", "0", "53248"],
                           "8p3sf:sat=none": ["57344", "-57344", "57344"]}.items():
        checks.same(lines(name, "--round", numbers=["60000", "-60000", "inf"], cwd=cwd), expected, f"fmt {name} --round")


def draws(checks, cwd):
    """Of 2^N draws of 1/8 of a quantum, about 2^N 0 or 1 go up, as the kind says; the seed decides."""
    ones = ["1.03125"] * 4000  # 1/8 of the quantum of e5m2
    for mode, share in {"sr": 1 / 8, "sr:bits=3": 1 / 8, "sr:bits=2": 0, "sr:bits=2:kind=b": 1 / 4,
                        "sr:bits=2:kind=a": 0, "sr:bits=8:kind=a": 1 / 8}.items():
        ups = lines("e5m2", f"--round={mode}", "seed=5", numbers=ones, cwd=cwd).count("1.25")
        checks.that(abs(ups - 4000 * share) <= 5 * math.sqrt(4000 * share * (1 - share)), f"{mode}: {ups} of 4000 up")
    made = program.call("plan", "model=cnn-s", "precision=binary8p4se", "precision.rounding=sr:bits=9:kind=b", cwd=cwd)
    checks.same(made[0], 0, f"plan precision.rounding=sr:bits=9:kind=b ({made[2]})")


def trains(precision):
    def test(checks, cwd):
        first = None
        for number, (threads, storage) in enumerate([(1, "packed"), (2, "float32"), (3, "dense")]):
            run = f"run{number}"
            made = program.train(f"precision={precision}", *SMALL, f"threads={threads}", f"storage={storage}", cwd=cwd,
                                 run=run)
            with open(f"{cwd}/{run}/numerics.jsonl") as file:
                found = made["weights_hash"], made["underflow_share"], made["overflow_share"], file.read()
            first = first or found
            checks.that(found == first, f"{precision} threads={threads} storage={storage}: {found[:3]}, not {first[:3]}")
        checks.that(made["train_loss"] < 3, f"{precision}: loss {made['train_loss']}")
    return test


def refuses(checks, cwd):
    for text, words in {"binary8p8se": ["K = 8, P = 8, signed", "P = 1..K-1 (signed)"],
                        "binary20p3se": ["K = 3..16"], "binary16p4ue": ["K - P up to 8 (signed), 7 (unsigned)"],
                        "binary8p3": ["binary8p3se"], "binary8p3se:sat=up": ["'finite', 'propagate' or 'none'"],
                        "e4m3 sr:bits=0": ["1..32"], "e4m3 sr:bits=8:kind=z": [":kind=a"],
                        "uniform8 sr:bits=8": ["expected rne or sr"], "e4m3fn:ovf=propagate": ["ovf=sat"]}.items():
        code, _, err = program.call("plan", "model=cnn-s", f"precision={text}", cwd=cwd)
        checks.same(code, 2, f"precision={text}: exit code ({err})")
        for word in words:
            checks.that(word in err, f"precision={text}: {word!r} in {err!r}")


# ---- published tables ----


def number(text):
    """A value of a published table: 0x0.8p-32, -0x1p+3, Inf, -Inf, NaN."""
    word = text.strip().lower()
    return float(word) if word.lstrip("-") in ("inf", "nan") else float.fromhex(word)


def compare_tables(directory):
    equal, wrong, beyond = 0, [], 0
    for path in sorted(pathlib.Path(directory).rglob("Binary*.csv")):
        k, p, signed, domain = re.fullmatch(r"Binary(\d+)p(\d+)([su])([ef])\.csv", path.name).groups()
        if int(k) - int(p) + (signed == "u") > 8:
            beyond += 1
            continue
        with open(path) as file:
            rows = [(int(row["codepoint"], 16), number(row["sprintf_a"])) for row in csv.DictReader(file)]
        ours = [float(word) for word in decoded(f"binary{k}p{p}{signed}{domain}", [code for code, _ in rows])]
        # Nine digits identify a float32; so do those of the published value, which is one.
        theirs = [float(f"{value:.9g}") for _, value in rows]
        is_equal = len(rows) == 2**int(k) and all(a == b or (a != a and b != b) for a, b in zip(ours, theirs))
        equal += is_equal
        wrong += [] if is_equal else [path.name]
    print(f"{equal} tables equal, {len(wrong)} not, {beyond} beyond float32")
    for name in wrong:
        print(f"  {name}")
    return 1 if wrong else 0


if sys.argv[1:2] == ["tables"]:
    sys.exit(compare_tables(sys.argv[2]))
program.main(shows, draws, refuses, *map(trains, PRECISIONS))
