"""fmt shows formats: all codes of narrow ones, several side by side, pictures, and what it does not do in silence."""
import csv
import io
import json
import math
import os
import re
import subprocess
import xml.etree.ElementTree as xml

import program
from program import TINY

SVG = "{http://www.w3.org/2000/svg}"
# exponent bits, mantissa bits, bias, which codes are no numbers
FORMATS = {"e2m1": (2, 1, 1, "fin"), "e3m2": (3, 2, 3, "fin"), "e5m2": (5, 2, 15, "ieee"), "e4m3fn": (4, 3, 7, "fn"),
           "fp(4,3,4)": (4, 3, 11, "fin"), "e3m0": (3, 0, 3, "ieee"), "e4m3": (4, 3, 7, "ieee")}


def fmt(checks, *words, cwd, code=0):
    found, out, err = program.call("fmt", *words, cwd=cwd)
    checks.same(found, code, f"fmt {words}: exit code ({err})")
    return out, err


def decode(code, exp, man, bias, specials):
    """(class, value) by the definition alone."""
    sign, field, fraction = code >> (exp + man), (code >> man) & ((1 << exp) - 1), code & ((1 << man) - 1)
    full = field == (1 << exp) - 1
    if specials == "ieee" and full:
        return ("NaN", math.nan) if fraction else ("inf", -math.inf if sign else math.inf)
    if specials == "fn" and full and fraction == (1 << man) - 1:
        return "NaN", math.nan
    if field == 0:
        value, kind = fraction * 2.0 ** (1 - bias - man), "subnormal" if fraction else "zero"
    else:
        value, kind = (1 + fraction / 2 ** man) * 2.0 ** (field - bias), "normal"
    return kind, math.copysign(value, -1 if sign else 1)


def same_number(a, b):
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def tables(checks, cwd):
    """Text, CSV and JSON hold every code with the class and value of its definition."""
    for name, form in FORMATS.items():
        expected = [decode(code, *form) for code in range(2 ** (1 + form[0] + form[1]))]
        rows = list(csv.DictReader(io.StringIO(fmt(checks, name, "--csv", cwd=cwd)[0])))
        checks.same([int(row["code"], 16) for row in rows], list(range(len(expected))), f"{name}: codes")
        checks.same([row["class"] for row in rows], [kind for kind, _ in expected], f"{name}: classes")
        checks.that(all(same_number(float(row["value"]), value) for row, (_, value) in zip(rows, expected)),
                    f"{name}: values")
        checks.that(all(int(row["bits"].replace(" ", ""), 2) == i and len(row["bits"].split()) == (3 if form[1] else 2)
                        for i, row in enumerate(rows)), f"{name}: bits")
        made = json.loads(fmt(checks, name, "--table", "--json", cwd=cwd)[0])
        checks.same([row["class"] for row in made["table"]], [row["class"] for row in rows], f"{name}: JSON")
        values = {value for _, value in expected if math.isfinite(value)}
        checks.same(made["numbers"], len(values), f"{name}: different numbers")
        if 1.0 in values:
            checks.same(made["epsilon"], min(value for value in values | {2.0} if value > 1) - 1 if form[1] else 1.0,
                        f"{name}: epsilon")
        text = fmt(checks, name, "--table", cwd=cwd)[0].splitlines()
        checks.same([line.split()[-1 if kind in ("zero", "inf", "NaN") else -4] for line, (kind, _) in
                     zip(text[4:], expected)], [f"{value:.9g}".replace("nan", "NaN") for _, value in expected], f"{name}: text")
    out, _ = fmt(checks, "mxfp4", "e2m1", "--csv", cwd=cwd)
    rows = out.splitlines()[1:]
    checks.same((len(rows), rows[:16]), (32, rows[16:]), "the elements of a block format")


def side_by_side(checks, cwd):
    out, err = fmt(checks, "e4m3fn", "e5m2", "1/6/9", "mxfp8", "fp(4,3,4):ovf=inf", "e2m1:ovf=sat", cwd=cwd)
    rows = {line[:17].strip(): line[17:].split() for line in out.splitlines()}
    checks.same(rows["largest"][:3], ["448", "57344", "4.29077299e+09"], "largest")
    checks.same(rows["bits"][:4], ["8", "8", "16", "8"], "bits")
    checks.same(err, "", "nothing to note")
    both = json.loads(fmt(checks, "e4m3fn", "e5m2", "--json", cwd=cwd)[0])["formats"]
    one = json.loads(fmt(checks, "e4m3fn", "--json", cwd=cwd)[0])
    checks.same(both[0], one, "as JSON each as alone")


def overflows(checks, cwd):
    """What too large a number becomes, by the word of ovf=, in all three answers and in the list."""
    words = {"e5m2": "inf", "e5m2:ovf=propagate": "propagate", "posit8": "sat", "posit8:ovf=propagate": "propagate",
             "posit8:ovf=none": "none", "binary8p3se": "none", "binary8p3se:sat=propagate": "propagate", "hif8:ovf=nan": "nan"}
    for name, word in words.items():
        checks.that(f"overflow {word}, " in fmt(checks, name, cwd=cwd)[0], f"{name}: text")
        checks.same(json.loads(fmt(checks, name, "--json", cwd=cwd)[0])["overflow"], word, f"{name}: JSON")
        row = [line for line in fmt(checks, name, "e4m3fn", cwd=cwd)[0].splitlines() if line.startswith("overflow to")]
        checks.same(row[0].split()[2:], [word, "nan"], f"{name}: side by side")
    listed = {line.split()[0]: line.split()[7] for line in fmt(checks, "--list", cwd=cwd)[0].splitlines()[2:] if line[:1] == "b"}
    checks.same((listed["binary8p4se"], listed["bf16"]), ("none", "inf"), "the list")
    for name, ends in {"nf4": True, "ternary": True, "posit8": False, "e2m1": False}.items():
        checks.same("none: the numbers end at 1" in fmt(checks, name, cwd=cwd)[0], ends, f"{name}: a number above 1")


def rotations(checks, cwd):
    """Lines that are no multiple of the rotation's length have a stated short form."""
    out, _ = fmt(checks, "e2m1:tile=1x24:scale=e4m3fn:hadamard=16", cwd=cwd)
    checks.that("lines in groups of 16, what is left in smaller powers of two" in out, f"rotation: {out}")


def said(checks, cwd):
    """What was typed, what e4m3 is not, and numbers that nobody reads."""
    out, _ = fmt(checks, "e3m2:bias=5", cwd=cwd)
    checks.that(out.startswith("e3m2:bias=5, which is fp(3,2,2): "), f"typed and canonical: {out[:60]!r}")
    out, _ = fmt(checks, "fp(3,2,5)", cwd=cwd)
    checks.that("bias 8 (the usual 3 + 5)" in out, f"the third number is added: {out[:90]!r}")
    for name, warns in {"e4m3": True, "e4m3:bias=9": True, "E4M3": True, "e4m3fn": False, "e5m2": False,
                        "e4m3:specials=fn": False, "fp(4,3,4)": False}.items():
        out, _ = fmt(checks, name, cwd=cwd)
        checks.same("OCP" in out and "is e4m3fn" in out, warns, f"{name}: note {out!r}")
        checks.same("note" in json.loads(fmt(checks, name, "--json", cwd=cwd)[0]), warns, f"{name}: note as JSON")
    for data, flags, told in (("0.1\n", [], True), ("", [], False), ("0.1\n", ["--round"], False)):
        done = subprocess.run([program.HALFULP, "fmt", "e5m2", *flags], input=data, capture_output=True, text=True,
                              cwd=cwd)
        checks.same((done.returncode, "stdin is not read" in done.stderr), (0, told), f"stdin {data!r} {flags}")


def zero_bytes(checks, cwd):
    """A number that ends in a zero byte is not the number before it."""
    for data in (b"1\0002\n", b"1\n2\0\n", b"\0\n", b"1\0"):
        done = subprocess.run([program.HALFULP, "fmt", "e5m2", "--round"], input=data, capture_output=True, cwd=cwd)
        checks.that(done.returncode == 2 and b"zero byte" in done.stderr, f"{data}: {done.returncode} {done.stderr}")


def bad_lines(checks, cwd):
    """What stands on a line that is no number, in the words of that line."""
    for data, flag, told in (("0.1 0.2", "--round", "found '0.1 0.2', expected one number a line\n"),
                             ("1;2", "--encode", "expected one number a line\n"),
                             ("0,1", "--round", "found '0,1', expected a number with a point: 0.1\n"),
                             ("3f,30", "--decode", "found '3f,30', expected one code a line\n"),
                             ("abc", "--round", "expected a decimal or hexadecimal number, inf or nan\n"),
                             ("x", "--decode", "found 'x', expected a hexadecimal code\n")):
        for name in ("e5m1",) if flag == "--decode" else ("e5m1", "mxfp8"):
            done = subprocess.run([program.HALFULP, "fmt", name, flag], input=f"1\n{data}\n", capture_output=True, text=True,
                                  cwd=cwd)
            checks.same((done.returncode, "stdin:2: " in done.stderr, done.stderr.endswith(told)), (2, True, True),
                        f"{name} {flag} {data!r}: {done.stderr!r}")


def once(checks, cwd):
    """Numbers on stdin are rounded as they are written, not by way of float32."""
    for name, flags, text, expected in (
            ("fp16", ["--round=rz"], "0.99999999999 1e39 -1e99999", "0.999511719 65504 -65504"),
            ("fp16", ["--round=ru"], "1.00000000000001 1e-50 -1e-50", "1.00097656 5.96046448e-08 -0"),
            ("fp16", ["--round"], "65519.9999 65520 nan -inf", "65504 inf nan -inf"),
            ("e4m3fn", ["--round"], "431.99999999999994 464.00000001 464", "416 nan 448"),
            ("e4m3fn", ["--encode"], "431.99999999999994 464.00000001 464", "0x7d 0x7f 0x7e"),
            ("e4m3fn", ["--encode", "--round=ru"], "1e-300 0x1.0000000000000000001p3", "0x01 0x51")):
        done = subprocess.run([program.HALFULP, "fmt", name, *flags], input=text.replace(" ", "\n") + "\n",
                              capture_output=True, text=True, cwd=cwd)
        checks.same(done.stdout.split(), expected.split(), f"{name} {flags}: {text}: {done.stderr}")


def stream(checks, name, flags, numbers, cwd):
    done = subprocess.run([program.HALFULP, "fmt", name, *flags], input="\n".join(numbers) + "\n", capture_output=True,
                          text=True, cwd=cwd)
    checks.same((done.returncode, done.stderr), (0, ""), f"{name} {flags}")
    return done.stdout.split("\n")[:-1]


def mx_scale(largest, rule):
    """Of E4M3 elements, by the words of OCP MX 1.0 and torchao."""
    fraction, exponent = math.frexp(largest)  # fraction 1/2 .. 1
    k = exponent - 1 - 8
    up = {"floor": False, "ceil": fraction > 0.5, "rceil": fraction > 448 / 512, "even": fraction >= 1 - 2.0 ** -5}
    return k + up[rule]


def blocks(checks, cwd):
    """Numbers through block formats: each block has its scale, whose rounding is asked for."""
    value = {code: decode(code, *FORMATS["e4m3fn"])[1] for code in range(256)}
    finite = sorted(x for x in value.values() if math.isfinite(x))
    numbers = [(-1) ** i * (1 + i * 37 % 101 / 101) * 2.0 ** (i // 32 * 3 - i % 5) for i in range(100)]
    numbers[0], numbers[40] = 957.0, -1.984375
    texts = [repr(x) for x in numbers]
    for rule in ("floor", "ceil", "rceil", "even"):
        name = "mxfp8" if rule == "floor" else f"mxfp8:scale={rule}"
        rounded = stream(checks, name, ["--round"], texts, cwd)
        codes = [line.split() for line in stream(checks, name, ["--encode"], texts, cwd)]
        for i, x in enumerate(numbers):
            k = mx_scale(max(abs(y) for y in numbers[i // 32 * 32:][:32]), rule)
            nearest = min(finite, key=lambda y, u=x / 2.0 ** k: abs(y - u)) * 2.0 ** k
            checks.same((float(rounded[i]), int(codes[i][1], 16)), (nearest, k + 127), f"{name}: {x}")
            checks.same(value[int(codes[i][0], 16)] * 2.0 ** k, nearest, f"{name}: code of {x}")
    checks.same(stream(checks, "mxfp8:scale=rceil", ["--round"], ["957"], cwd), ["960"], "rounded up nothing saturates")
    checks.same(stream(checks, "mxfp4", ["--round"], ["4", "2.5000000001", "2.5", "-nan"][:3], cwd), ["4", "3", "2"],
                "as it is written")
    checks.same(len({line.split()[2] for line in stream(checks, "nvfp4", ["--encode"], texts, cwd)}), 1, "one tensor")
    checks.same(stream(checks, "nvfp4", ["--round"], ["2688", "448", "-6", "200"], cwd), ["2688", "448", "-0", "224"],
                "nvfp4")
    checks.same(json.loads(fmt(checks, "mxfp4:scale=ceil", "--json", cwd=cwd)[0])["scale_rounding"], "ceil", "JSON")
    checks.that("expected floor, ceil" in fmt(checks, "mxfp4:scale=up", cwd=cwd, code=2)[1], "which scales there are")


def pictures(checks, cwd):
    names = ["e4m3fn", "e2m1", "fp16", "e5m2:ovf=sat", "1/6/9/n:sub=nearest"]
    for end in ("svg", "html"):
        fmt(checks, *names, f"out=f.{end}", cwd=cwd)
        with open(f"{cwd}/f.{end}", encoding="utf-8") as file:
            text = file.read()
        checks.that(not re.search(r"nan|[^a-z]inf[^a-z]", re.sub("<style>.*?</style>", "", text, flags=re.S)),
                    f"{end}: places are numbers")
        checks.that("<script" not in text and "url(" not in text, f"{end}: nothing from elsewhere")
        tree = xml.fromstring(text.removeprefix("<!doctype html>\n"))
        shown = [part.strip() for part in tree.itertext()]
        for name in names:
            checks.that(any(part.startswith(name) for part in shown), f"{end}: {name} is named")
        for heading in ("The numbers", "Error against magnitude", "Bits of precision in every binade"):
            checks.that(heading in shown, f"{end}: {heading}")
    svg = xml.parse(f"{cwd}/f.svg").getroot()
    checks.same(svg.tag, f"{SVG}svg", "a picture of its own")
    ticks = [at.get("d").count("M") for at in svg.iter(f"{SVG}path") if at.get("class") == "number c1"]
    checks.same(ticks[0], 6, "every normal number of e2m1 is a tick")
    fmt(checks, "fp32", "bf16", "fp(1,0,0)", "e8m23", "out=f.svg", cwd=cwd)
    xml.parse(f"{cwd}/f.svg")


def tensor(checks, cwd):
    """What formats lose of a recorded tensor, against a count of its histogram."""
    program.train(*TINY, "steps=3", "run.histogram_every=1", cwd=cwd)
    with open(f"{cwd}/run/histograms.jsonl") as file:
        last = {row[0]: row for row in json.loads(file.readlines()[-1])["tensors"]}
    _, elements, zero, _, first, bins, *_ = last["conv2.out.grad"]
    fmt(checks, "e5m2", "1/6/9", "out=f.html", "run=run", "tensor=conv2.out.grad", cwd=cwd)
    cells = [cell.text for cell in xml.fromstring(open(f"{cwd}/f.html").read().removeprefix("<!doctype html>\n")).iter("td")]
    for at, lowest in ((0, -17), (5, -40)):
        lost = 100 * sum(count for i, count in enumerate(bins) if first + i < lowest) / elements
        checks.same(cells[at + 1], f"{lost:.3g}", f"{cells[at]}: to zero")
        checks.that(0 < float(cells[at + 4]) <= 100, f"{cells[at]}: error {cells[at + 4]}")
    _, err = fmt(checks, "e5m2", "out=f.svg", "run=run", "tensor=conv2.out.grid", cwd=cwd, code=2)
    checks.that("'conv2.out.grad'" in err, f"nearest tensor: {err}")
    fmt(checks, "e5m2", "out=f.svg", "run=nothing", "tensor=conv2.out", cwd=cwd, code=3)
    checks.that(not os.path.exists(f"{cwd}/f.svg"), "nothing is written then")


program.main(tables, side_by_side, overflows, rotations, said, zero_bytes, bad_lines, once, blocks, pictures, tensor)
