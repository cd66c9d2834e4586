"""The program as a user runs it: verb fmt, keys, YAML files, flags, errors and exit codes."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

HALFULP = os.environ.get("HALFULP", "build/halfulp")
HALFULP = os.path.abspath(HALFULP)


def run(*words, stdin="", cwd=None, env=None):
    """(exit code, stdout, stderr) of one call."""
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run([HALFULP, *words], input=data, capture_output=True, cwd=cwd,
                          env={**os.environ, **(env or {})}, timeout=120)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def ok(test, *words, stdin="", cwd=None):
    code, out, err = run(*words, stdin=stdin, cwd=cwd)
    test.assertEqual((code, err), (0, ""), words)
    return out


def lines(test, *words, stdin=""):
    return ok(test, *words, stdin="".join(f"{line}\n" for line in stdin)).splitlines()


# format, mode, {number: rounded}; the worked examples of the specification of the cast.
TWO = lambda n: f"0x1p{n}"
WORKED = [
    ("e5m2", "rne", {"1.125": 1.0, "1.375": 1.5, "1.625": 1.5, "1.875": 2.0, "61439": 57344.0,
                     "61440": math.inf, TWO(-17): 0.0, "0x1.8p-17": 2.0**-16, "0x5p-17": 2.0**-15,
                     "0x7p-17": 2.0**-14}),
    ("e5m2", "rna", {"1.125": 1.25, "0x5p-17": 3 * 2.0**-16}),
    ("fp(4,3,4)", "rne", {"30.9": 30.0, "31": 30.0, "100": 30.0, TWO(-14): 0.0,
                          "0xfp-14": 2.0**-10, "1.0625": 1.0}),
    ("fp(4,3,4)", "rna", {TWO(-14): 2.0**-13, "0xfp-14": 2.0**-10, "1.0625": 1.125}),
    ("e3m0", "rne", {"1.5": 2.0, "3": 4.0, "0.375": 0.5, "0.125": 0.0, "0.1875": 0.25,
                     "11.9": 8.0, "12": math.inf}),
    ("fp16", "rne", {"65519": 65504.0, "65520": math.inf, TWO(-25): 0.0, "0x1.8p-25": 2.0**-24,
                     "2049": 2048.0, "2051": 2052.0}),
    ("1/6/9", "rne", {"0x1.004p0": 1.0, "0x1.00cp0": 1 + 2.0**-8}),
    ("e4m3fn:ovf=sat", "rne", {"464": 448.0, "465": 448.0}),
    ("e4m3fn", "rne", {"464": 448.0, "465": math.nan}),
    ("e5m2", "rz", {"1.9": 1.75, "-1.9": -1.75, "1e9": 57344.0}),
    ("e5m2", "ru", {"1.1": 1.25, "-1.1": -1.0, "1e9": math.inf, "-1e9": -57344.0}),
    ("e5m2", "rd", {"1.1": 1.0, "-1.1": -1.25, "1e9": 57344.0, "-1e9": -math.inf}),
    ("e5m2", "rodd", {"1.1": 1.25, "1.3": 1.25, "1.5": 1.5, "1e9": 57344.0}),
]

# name: exp_bits, man_bits, bias, specials, max, min_normal, min_subnormal, overflow_threshold, underflow
LIMITS = {
    "fp32": (8, 23, 127, "ieee", (2 - 2.0**-23) * 2.0**127, 2.0**-126, 2.0**-149,
             (2 - 2.0**-24) * 2.0**127, 2.0**-150),
    "tf32": (8, 10, 127, "ieee", (2 - 2.0**-10) * 2.0**127, 2.0**-126, 2.0**-136,
             (2 - 2.0**-11) * 2.0**127, 2.0**-137),
    "bf16": (8, 7, 127, "ieee", (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-133,
             (2 - 2.0**-8) * 2.0**127, 2.0**-134),
    "fp16": (5, 10, 15, "ieee", 65504.0, 2.0**-14, 2.0**-24, 65520.0, 2.0**-25),
    "1/6/9": (6, 9, 31, "ieee", (2 - 2.0**-9) * 2.0**31, 2.0**-30, 2.0**-39,
              (2 - 2.0**-10) * 2.0**31, 2.0**-40),
    "fp(4,3,4)": (4, 3, 11, "fin", 30.0, 2.0**-10, 2.0**-13, 31.0, 2.0**-14),
    "e5m2": (5, 2, 15, "ieee", 57344.0, 2.0**-14, 2.0**-16, 61440.0, 2.0**-17),
    "e4m3": (4, 3, 7, "ieee", 240.0, 2.0**-6, 2.0**-9, 248.0, 2.0**-10),
    "e4m3fn": (4, 3, 7, "fn", 448.0, 2.0**-6, 2.0**-9, 464.0, 2.0**-10),
    "e4m3fnuz": (4, 3, 8, "fnuz", 240.0, 2.0**-7, 2.0**-10, 248.0, 2.0**-11),
    "e5m2fnuz": (5, 2, 16, "fnuz", 57344.0, 2.0**-15, 2.0**-17, 61440.0, 2.0**-18),
    "e4m3b11fnuz": (4, 3, 11, "fnuz", 30.0, 2.0**-10, 2.0**-13, 31.0, 2.0**-14),
    "e3m4": (3, 4, 3, "ieee", 15.5, 2.0**-2, 2.0**-6, 15.75, 2.0**-7),
    "e3m2": (3, 2, 3, "fin", 28.0, 2.0**-2, 2.0**-4, 30.0, 2.0**-5),
    "e2m3": (2, 3, 1, "fin", 7.5, 1.0, 2.0**-3, 7.75, 2.0**-4),
    "e2m1": (2, 1, 1, "fin", 6.0, 1.0, 2.0**-1, 7.0, 2.0**-2),
}


class Fmt(unittest.TestCase):
    def assert_same(self, found, expected, what):
        if math.isnan(expected):
            self.assertEqual(found, "nan", what)
        else:
            self.assertEqual(struct.pack("<f", float(found)), struct.pack("<f", expected), what)

    def test_worked_examples(self):
        for name, mode, rows in WORKED:
            out = lines(self, "fmt", name, f"--round={mode}", stdin=rows)
            self.assertEqual(len(out), len(rows))
            for found, (number, expected) in zip(out, rows.items()):
                self.assert_same(found, expected, (name, mode, number))

    def test_round_without_mode_is_nearest_even(self):
        rows = WORKED[0][2]
        self.assertEqual(lines(self, "fmt", "e5m2", "--round", stdin=rows),
                         lines(self, "fmt", "e5m2", "--round=rne", stdin=rows))

    def test_limits_as_json(self):
        for name, row in LIMITS.items():
            made = json.loads(ok(self, "fmt", name, "--json"))
            keys = ["exp_bits", "man_bits", "bias", "specials", "max", "min_normal", "min_subnormal",
                    "overflow_threshold", "underflow_threshold"]
            self.assertEqual([made[key] for key in keys], list(row), name)
            self.assertIn("name", made)

    def test_numbers_of_codes(self):
        for name, codes in {"e2m1": 16, "e5m2": 256, "1/6/9/d": 65536, "fp16": 65536}.items():
            self.assertEqual(json.loads(ok(self, "fmt", name, "--json"))["codes"], codes)

    def test_flags_stand_anywhere(self):
        plain = ok(self, "fmt", "e5m2", "--json")
        self.assertEqual(ok(self, "--json", "fmt", "e5m2"), plain)
        self.assertEqual(ok(self, "fmt", "--json", "seed=3", "e5m2"), plain)

    def test_a_name_may_hold_an_equals_sign(self):
        made = json.loads(ok(self, "fmt", "e4m3fn:ovf=sat", "--json"))
        self.assertEqual((made["overflow"], made["specials"]), ("sat", "fn"))

    def test_list_names_every_format(self):
        rows = json.loads(ok(self, "fmt", "--list", "--json"))["formats"]
        names = [row["name"] for row in rows]
        for name in LIMITS:
            self.assertTrue(name in names or name + "/d" in names, name)
        table = ok(self, "fmt", "--list")
        for name in names:
            self.assertIn(f"\n{name} ", table)
            self.assertEqual(json.loads(ok(self, "fmt", name, "--json"))["name"], name)

    def test_plain_output_says_the_limits(self):
        out = ok(self, "fmt", "e4m3fn")
        for text in ["448", "464", "0.015625", "0.001953125", "2^-6", "e4m3fn", "bias 7"]:
            self.assertIn(text, out)

    def test_every_code_decodes_and_encodes_back(self):
        for name, bits in {"e2m1": 4, "e3m2": 6, "e4m3fn": 8, "e5m2": 8, "e5m2fnuz": 8,
                           "fp(4,3,4)": 8}.items():
            codes = [f"{code:x}" for code in range(2**bits)]
            values = lines(self, "fmt", name, "--decode", stdin=codes)
            back = lines(self, "fmt", name, "--encode", stdin=values)
            self.assertEqual(len(values), 2**bits)
            different = [(c, v, b) for c, v, b in zip(codes, values, back)
                         if int(b, 16) != int(c, 16) and v != "nan"]
            self.assertEqual(different, [], name)
            self.assertEqual(lines(self, "fmt", name, "--round", stdin=values), values)

    def test_fp16_agrees_with_the_half_floats_of_python(self):
        rng = random.Random(7)
        numbers = [struct.unpack("<f", struct.pack("<f", rng.uniform(-1, 1) * 2.0**rng.randint(-26, 15)))[0]
                   for _ in range(2000)]
        text = [float.hex(x) for x in numbers]
        rounded = lines(self, "fmt", "fp16", "--round", stdin=text)
        codes = lines(self, "fmt", "fp16", "--encode", stdin=text)
        for x, found, code in zip(numbers, rounded, codes):
            half = struct.pack("<e", x)
            self.assert_same(found, struct.unpack("<e", half)[0], x)
            self.assertEqual(int(code, 16), struct.unpack("<H", half)[0], x)

    def test_printed_numbers_identify_a_float32(self):
        rng = random.Random(8)
        words = [rng.getrandbits(32) for _ in range(2000)]
        values = [struct.unpack("<f", struct.pack("<I", w))[0] for w in words]
        finite = [(w, v) for w, v in zip(words, values) if math.isfinite(v)]
        out = lines(self, "fmt", "fp32", "--round", stdin=[float.hex(v) for _, v in finite])
        back = [struct.unpack("<I", struct.pack("<f", float(text)))[0] for text in out]
        self.assertEqual(back, [w for w, _ in finite])

    def test_special_numbers(self):
        self.assertEqual(lines(self, "fmt", "e5m2", "--round",
                               stdin=["nan", "-nan", "inf", "-inf", "-0", "1e39", " 1 "]),
                         ["nan", "nan", "inf", "-inf", "-0", "inf", "1"])

    def test_empty_input_is_empty_output(self):
        self.assertEqual(ok(self, "fmt", "e5m2", "--round", stdin=""), "")

    def test_a_bad_number_names_its_line(self):
        for flag, good, bad in [("--round", "1", "one"), ("--round", "1", ""), ("--round", "1", "1 2"),
                                ("--round", "1", "9" * 600), ("--encode", "1", "x"),
                                ("--decode", "3c", "zz"), ("--decode", "3c", "-1"),
                                ("--decode", "3c", "100"), ("--decode", "3c", "fffffffffffffffff")]:
            code, _, err = run("fmt", "e5m2", flag, stdin=f"{good}\n{good}\n{bad}\n{good}\n")
            self.assertEqual(code, 2, (flag, bad))
            self.assertIn("stdin:3:", err)

    def test_what_has_no_code_cannot_be_encoded(self):
        code, out, err = run("fmt", "e2m1", "--encode", stdin="1\nnan\n")
        self.assertEqual((code, out), (2, "0x2\n"))
        self.assertIn("stdin:2:", err)

    def test_stochastic_rounding_repeats_by_seed_and_is_unbiased(self):
        numbers = ["1.0625"] * 4000  # a quarter between 1 and 1.25
        first = lines(self, "fmt", "e5m2", "--round=sr", "seed=5", stdin=numbers)
        self.assertEqual(first, lines(self, "fmt", "seed=5", "e5m2", "--round=sr", stdin=numbers))
        self.assertNotEqual(first, lines(self, "fmt", "e5m2", "--round=sr", "seed=6", stdin=numbers))
        self.assertEqual(set(first), {"1", "1.25"})
        ups = first.count("1.25")  # binomial: mean 1000, deviation 27.4
        self.assertLess(abs(ups - 1000), 5 * 27.4)

    def test_flags_that_exclude_each_other(self):
        for words in [["e5m2", "--json", "--round"], ["e5m2", "--encode", "--decode"],
                      ["e5m2", "--list"], ["e5m2", "--decode", "--round"], [],
                      ["--list", "--table"], ["e5m2", "--csv", "--json"], ["e5m2", "--csv", "--round"],
                      ["e5m2", "fp16", "--round"], ["e5m2", "out=x.html", "tensor=fc.out"],
                      ["e5m2", "out=x.gif"], ["fp16", "--table"]]:
            self.assertEqual(run("fmt", *words)[0], 2, words)


class Usage(unittest.TestCase):
    def assert_fails(self, words, code, *texts, cwd=None):
        found, out, err = run(*words, cwd=cwd)
        self.assertEqual((found, out), (code, ""), words)
        self.assertEqual(err.count("\n"), 1, err)
        for text in texts:
            self.assertIn(text, err)

    def test_alone_it_prints_short_help(self):
        out = ok(self)
        self.assertIn("fmt", out)
        self.assertLessEqual(out.count("\n"), 40)

    def test_help_and_version(self):
        self.assertRegex(ok(self, "--version"), r"^halfulp \d+\.\d+\.\d+\n$")
        self.assertEqual(ok(self, "-h"), ok(self, "--help"))
        self.assertLessEqual(ok(self, "--help").count("\n"), 70)
        self.assertIn("--encode", ok(self, "fmt", "--help"))
        self.assertEqual(ok(self, "help"), ok(self, "--help"))
        self.assertEqual(ok(self, "help", "fmt"), ok(self, "fmt", "--help"))
        self.assert_fails(["help", "fmtt"], 2, "'fmtt'")

    def test_unknown_verb(self):
        self.assert_fails(["fmtt"], 2, "'fmtt'", "halfulp --help lists; nearest: 'fmt'")
        self.assert_fails(["docter", "lr=0.1"], 2, "'doctor'")

    def test_unknown_format(self):
        self.assert_fails(["fmt", "e4m3fm"], 2, "'e4m3fn'")
        self.assert_fails(["fmt", "e9m3"], 2)
        self.assert_fails(["fmt", "e5m2", "--round=rnx"], 2, "rne")

    def test_unknown_key(self):
        self.assert_fails(["fmt", "e5m2", "sead=3"], 2, "command line", "'sead'", "'seed'")
        self.assert_fails(["doctor", "lr.schedul=step"], 2, "command line", "'lr.schedule'")
        self.assert_fails(["doctor", "precision.rule=[]"], 2, "'precision.rules'")
        self.assert_fails(["doctor", "=3"], 2, "unknown key ''")
        self.assert_fails(["doctor", "clip_norm=1"], 2, "'clip_norm'", "'optimizer.clip_norm'")

    def test_unknown_flag(self):
        self.assert_fails(["fmt", "e5m2", "--jason"], 2, "'--json'")
        self.assert_fails(["doctor", "--list"], 2, "--list")
        self.assert_fails(["fmt", "e5m2", "--json=1"], 2, "without a value")
        self.assert_fails(["--json"], 2)

    def test_words_too_many(self):
        self.assert_fails(["fmt"] + ["e5m2"] * 17, 2, "found 'e5m2'")
        self.assert_fails(["doctor", "now"], 2, "'now'")

    def test_values_of_the_wrong_kind(self):
        for word, texts in {"batch=many": ["run.batch", "'many'", "integer"],
                            "batch=0": ["from 1"], "lr=fast": ["lr.base"], "lr=1e999": ["finite"],
                            "precision.master=maybe": ["on or off"], "optimizer=sgdd": ["adamw"],
                            "storage=": ["packed float32 dense"], "seed=1.5": ["integer"],
                            "lr.milestones=[1, 2": ["line:2:1"],
                            "lr.milestones=[[1]]": ["line:1:"]}.items():
            place = "command line" if "." in word.split("=")[0] else f": {word}: key '"
            self.assert_fails(["doctor", word], 2, place, *texts)

    def test_a_full_disk_is_no_result(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([HALFULP, "fmt", "e5m2"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 5)


class Yaml(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, text, name="a.yaml"):
        data = text if isinstance(text, bytes) else text.encode()
        with open(os.path.join(self.folder.name, name), "wb") as file:
            file.write(data)
        return f"config={name}"

    def fails(self, text, code, *texts):
        found, out, err = run("doctor", self.write(text), cwd=self.folder.name)
        self.assertEqual((found, out), (code, ""), (text[:80], err))
        self.assertEqual(err.count("\n"), 1, err)
        for expected in texts:
            self.assertIn(expected, err)

    def resolved(self, *words):
        code, out, _ = run("doctor", "--json", *words, cwd=self.folder.name)
        self.assertIn(code, (0, 1))
        return json.loads(out)["config"]

    def test_unknown_keys_have_a_place_and_a_neighbour(self):
        self.fails("seed: 3\nlr:\n  base: 0.1\n  shedule: step\n", 2, "a.yaml:4:3", "'lr.schedule'")
        self.fails("modle: cnn-s\n", 2, "a.yaml:1:1", "'model'")
        self.fails("run: 5\n", 2, "a.yaml:1:1", "run")

    def test_wrong_values_have_a_place(self):
        self.fails("seed: 3\nbatch: many\n", 2, "a.yaml:2:1", "'many'", "integer")
        self.fails("optimizer: {name: sgd, nesterov: perhaps}\n", 2, "a.yaml:1:24", "on or off")
        self.fails("model: [a, b]\n", 2, "a.yaml:1:1", "list")
        self.fails("lr.knots: [{a: 1, b: 2}]\n", 2, "a.yaml:1:12")

    def test_syntax_errors_have_a_place(self):
        self.fails("batch: 3\n  x: [\n", 2, "a.yaml:2:4")
        self.fails("lr: {base: 0.1\n", 2, "a.yaml:2:1")
        self.fails("lr:\n\tbase: 0.1\n", 2, "a.yaml:2:1")

    def test_what_we_do_not_take(self):
        self.fails("seed: 1\nseed: 2\n", 2, "a.yaml:2:1", "a.yaml:1:1", "second time")
        self.fails("batch: 3\nrun: {batch: 4}\n", 2, "a.yaml:2:7", "a.yaml:1:1")
        self.fails("seed: &x 1\nbatch: *x\n", 2, "a.yaml:1:7", "anchor")
        self.fails("seed: !!int 1\n", 2, "a.yaml:1:7", "tag")
        self.fails("seed: 1\n---\nseed: 2\n", 2, "a.yaml:2:1", "document")
        self.fails("- seed\n", 2, "a.yaml:1:1", "list")
        self.fails("[" * 1000 + "]" * 1000, 2, "a.yaml:1:17", "levels")
        self.fails("lr.milestones: [" + "1," * 20000 + "]", 2, "10,000 values")
        self.fails('model: "a\\0b"\n', 2, "zero byte")
        self.fails("? [a]\n: 1\n", 2, "a.yaml:1:3")

    def test_files_of_another_kind_are_data_errors(self):
        self.fails(b"\xff\xfe\x00binary", 3, "a.yaml", "offset 0")
        self.fails(b"seed: 1\n\x01\n", 3, "a.yaml", "offset 8")
        self.fails(b" " * 1100000, 3, "a.yaml", "1048576")
        code, out, err = run("doctor", "config=missing.yaml", cwd=self.folder.name)
        self.assertEqual((code, out), (3, ""))
        self.assertIn("missing.yaml", err)

    def test_damaged_bytes_never_crash(self):
        text = b"model: cnn-s\nlr: {base: 0.1, milestones: [1, 2]}\nprecision:\n  rules:\n    - 'a: b'\n"
        rng = random.Random(3)
        for _ in range(60):
            damaged = bytearray(text)
            for _ in range(rng.randint(1, 4)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            code, _, err = run("fmt", "e5m2", self.write(bytes(damaged)), cwd=self.folder.name)
            self.assertIn(code, (0, 2, 3), (bytes(damaged), err))

    def test_words_win_over_files(self):
        file = self.write("seed: 7\nbatch: 32\nlr:\n  base: 0.5\n")
        resolved = self.resolved(file, "batch=64")
        for text in ["seed: 7", "batch: 64", "base: 0.5"]:
            self.assertIn(text, resolved)
        self.assertEqual(self.resolved("batch=64", file), resolved)

    def test_three_spellings_of_one_key(self):
        first = self.resolved(self.write("lr: 0.25\nbatch: 8\n"))
        self.assertEqual(self.resolved(self.write("lr: {base: 0.25}\nrun: {batch: 8}\n")), first)
        self.assertEqual(self.resolved(self.write("lr.base: 0.25\nrun.batch: 8\n")), first)
        self.assertEqual(self.resolved("lr=0.25", "batch=8"), first)
        self.assertEqual(self.resolved("lr.base=0.25", "run.batch=8"), first)

    def test_lists_in_all_spellings(self):
        first = self.resolved('precision.rules=["conv3.weight: e4m3", "*.grad: e5m2"]')
        self.assertIn('    - "conv3.weight: e4m3"\n    - "*.grad: e5m2"\n', first)
        block = "precision:\n  rules:\n  - conv3.weight: e4m3\n  - '*.grad: e5m2'\n"
        self.assertEqual(self.resolved(self.write(block)), first)
        self.assertEqual(self.resolved("precision.rules=conv3.weight: e4m3, *.grad: e5m2"), first)
        self.assertIn('    - "conv3.weight: fp(4,3,4)"\n    - "*.grad: e5m2"\n',
                      self.resolved("precision.rules=conv3.weight: fp(4,3,4),*.grad: e5m2"))
        self.assertIn("rules: []\n", self.resolved("precision.rules=[]"))

    def test_the_value_begins_after_the_first_equals_sign(self):
        self.assertIn('name: "w=e4m3,act=e5m2"', self.resolved("precision=w=e4m3,act=e5m2"))

    def test_the_resolved_configuration_reads_back(self):
        odd = 'a: "b" \\ #\t\u00e9\u20ac\n- \'c\' {}[]&*!|>%@` \u2028 \U0001f642 \u0085'
        first = self.resolved(f"model={odd}", "lr=0.1", "data=- x", "run.dir=~", "precision=1/6/9",
                              'precision.rules=["a: b", "", "#x", "true"]', "epochs=2.5")
        self.assertEqual(self.resolved(self.write(first)), first)
        plain = self.resolved()
        self.assertEqual(self.resolved(self.write(plain)), plain)
        self.assertEqual(self.resolved(self.write("")), plain)

    def test_arguments_that_are_not_text(self):
        done = subprocess.run([HALFULP, "doctor", b"run.dir=\xff"], capture_output=True)
        self.assertEqual(done.returncode, 2)


class Doctor(unittest.TestCase):
    def test_lines_have_verdicts(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out, _ = run("doctor", cwd=folder)
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(code, 0, out)
        for line in out.split("\n\n")[0].splitlines():
            self.assertIn(line.split()[0], ("ok", "warn"))
        self.assertRegex(out, r"ok +rounding +0 differences")

    def test_json_and_exit_code_agree(self):
        code, out, _ = run("doctor", "--json", "run.dir=/nowhere/at/all")
        made = json.loads(out)
        self.assertEqual((code, made["ok"]), (1, False))
        results = {row["check"]: row["result"] for row in made["checks"]}
        self.assertEqual(results["disk"], "fail")
        self.assertEqual(results["float"], "ok")

    def test_a_data_set_that_is_not_there_fails(self):
        self.assertEqual(run("doctor", "data=idx:/nowhere/at/all")[0], 1)

    def test_the_isa_cap_is_seen(self):
        code, out, _ = run("doctor", env={"HALFULP_MAX_ISA": "scalar"})
        self.assertEqual(code, 0)
        self.assertRegex(out, r"kernels +scalar")
        self.assertRegex(out, r"ok +rounding +0 differences")


if __name__ == "__main__":
    unittest.main(verbosity=1, argv=sys.argv)
