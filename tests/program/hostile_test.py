"""What the surroundings of the program may do to it: closed descriptors, unknown caps, control characters in names,
paths that are long; and what the program file brings against a write behind the end of a buffer."""
import json
import os
import re
import struct
import subprocess
import time

from program import HALFULP, TINY, call, main, sanitizer

ESCAPES = "\x1b]0;title\x07\x1b[31m\x9b2J\r"


def fails(checks, code, parts, found):
    checks.same(found[0], code, f"exit code of {parts}: {found[2]!r}")
    for part in parts:
        checks.that(part in found[2], f"{part!r} in {found[2]!r}")


def is_plain(text):
    """No control character but line ends."""
    return not any(c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160) for c in text)


def caps(checks, cwd):
    for word in ("AVX2", "bogus", "avx", "avx2 "):
        fails(checks, 2, ["HALFULP_MAX_ISA", f"'{word}'", "scalar, avx2, avx512 or avx512vbmi"],
              call("doctor", cwd=cwd, env={**os.environ, "HALFULP_MAX_ISA": word}))
    for word in ("", "scalar", "avx512", "avx512vbmi"):
        checks.same(call("fmt", "fp16", cwd=cwd, env={**os.environ, "HALFULP_MAX_ISA": word})[0], 0,
                    f"HALFULP_MAX_ISA={word}")


def looked_up_bytes(checks, cwd):
    """avx512 leaves out what AVX-512 does not have everywhere; what a word takes away is a warning."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = re.search(r"^flags\s*:(.*)$", file.read(), re.M)
    flags = flags.group(1).split() if flags else []
    best = "avx512" if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags) else "other"
    has = best == "avx512" and "avx512vbmi" in flags
    for word, uses in (("", has), ("avx512vbmi", has), ("avx512", False), ("avx2", False)):
        rows = json.loads(call("doctor", "--json", cwd=cwd, env={**os.environ, "HALFULP_MAX_ISA": word})[1])["checks"]
        row, = (row for row in rows if row["check"] == "kernels")
        checks.same("with VBMI" in row["text"], uses, f"HALFULP_MAX_ISA={word}: {row}")
        if has:
            checks.same(row["result"], "ok" if uses else "warn", f"HALFULP_MAX_ISA={word}: {row}")


def stacks(checks, cwd):
    """The OpenMP runtime takes 16 KiB, on which no thread gets as far as its own work."""
    for name, word in (("OMP_STACKSIZE", "16k"), ("GOMP_STACKSIZE", "255"), ("OMP_STACKSIZE", "262143 B")):
        fails(checks, 2, [name, f"'{word}'", "at least 256K"], call("doctor", cwd=cwd, env={**os.environ, name: word}))
    for word in ("256", "262144b", "1M", "1 g", "many"):
        checks.same(call("fmt", "fp16", cwd=cwd, env={**os.environ, "OMP_STACKSIZE": word})[0], 0, f"stacks of {word}")
    code, _, err = call("train", *TINY, "threads=2", "model=cnn-s", "steps=1", "run.dir=run", cwd=cwd,
                        env={**os.environ, "OMP_STACKSIZE": "256K"})
    checks.same(code, 0, f"the smallest stacks: {err[-300:]}")


def close_all():
    for number in range(3):
        os.close(number)


def descriptors(checks, cwd):
    """The configuration is read from a FIFO that nobody fills, so that the program can be looked at."""
    os.mkfifo(f"{cwd}/fifo")
    child = os.fork()
    if child == 0:
        close_all()
        os.execv(HALFULP, [HALFULP, "train", f"config={cwd}/fifo"])
    writer = os.open(f"{cwd}/fifo", os.O_WRONLY)  # until the program has opened it
    for number in range(3):
        checks.same(os.readlink(f"/proc/{child}/fd/{number}"), "/dev/null", f"descriptor {number}")
    os.write(writer, b"no: such key\n")
    os.close(writer)
    checks.same(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 2, "exit code without descriptors")
    done = subprocess.run(["sh", "-c", f"exec '{HALFULP}' fmt fp16 >&-"], stderr=subprocess.PIPE, text=True, check=False)
    checks.same((done.returncode, "cannot write the result" in done.stderr), (5, True), "a closed stdout is said")


def controls(checks, cwd):
    for words in (["fmt", ESCAPES], [f"tra{ESCAPES}in"], ["train", f"precision={ESCAPES}"],
                  ["train", f"data=folder:{ESCAPES}"], ["why", ESCAPES], ["train", f"{ESCAPES}=1"]):
        code, out, err = call(*words, cwd=cwd)
        checks.that(code in (2, 3), f"exit {code} of {words!r}")
        checks.that(is_plain(out + err), f"{words!r}: {out + err!r}")
        checks.that("\\x1b" in err, f"{words!r} escaped in {err!r}")
    with open(f"{cwd}/c.yaml", "w", encoding="utf-8") as file:
        file.write('model:\n  name: "cnn\\e]0;x\\a"\n')
    code, out, err = call("train", "config=c.yaml", cwd=cwd)
    checks.same((code, is_plain(err), "cnn\\x1b]0;x\\x07" in err), (2, True, True), f"a name of a file: {err!r}")


def foreign_run(checks, cwd):
    """Names in the files of a run, as another program may have written them."""
    code, _, err = call("train", *TINY, "model=cnn-s", "model.width=0.05", "precision=hfp8", "steps=2", "run.dir=run",
                        cwd=cwd)
    checks.same(code, 0, f"a training: {err}")
    path = f"{cwd}/run/numerics.jsonl"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('["input"', '["in\\u001b[31mput"'))
    for verb in ("stats", "why"):
        code, out, err = call(verb, "run", cwd=cwd)
        checks.same((code, "control character" in err, is_plain(out + err)), (3, True, True), f"{verb}: {err!r}")


def long_paths(checks, cwd):
    """Longer than a buffer, shorter than what the system takes: 4,096 bytes, of which the start is cwd's."""
    deep = "/".join(["d" * 200] * 13)
    os.makedirs(f"{cwd}/{deep}/one")
    with open(f"{cwd}/{deep}/one/config.resolved.yaml", "w", encoding="utf-8") as file:
        file.write("model:\n  name: cnn-s\nprecision:\n  name: fp16\n")
    for folder in (f"{deep}/one", deep, f"{deep}//"):
        code, _, err = call("report", folder, "-o", "page.html", cwd=cwd)
        checks.same(code, 0, f"report of a path of {len(folder)} characters: {err[-300:]}")


def program_headers(data):
    """(type, flags, offset, size) of each program header of a 64-bit ELF file of this byte order."""
    start, size, count = (struct.unpack_from("=Q", data, 32)[0], *struct.unpack_from("=HH", data, 54))
    for i in range(count):
        kind, flags, offset, _, _, length = struct.unpack_from("=IIQQQQ", data, start + i * size)
        yield kind, flags, offset, length


def hardening(checks, cwd):
    with open(HALFULP, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02" or sanitizer():
        return
    headers = {kind: rest for kind, *rest in program_headers(data)}
    dynamic, relro, stack = 2, 0x6474e552, 0x6474e551
    checks.same(struct.unpack_from("=H", data, 16)[0], 3, "the program can be loaded anywhere")
    checks.that(relro in headers, "tables are read-only after the start")
    checks.that(stack in headers and headers[stack][0] & 1 == 0, "the stack cannot be run")
    _, offset, length = headers[dynamic]
    tags = dict(struct.unpack_from("=QQ", data, at) for at in range(offset, offset + length, 16))
    checks.that(tags.get(30, 0) & 8, "functions are bound at the start")
    checks.that(b"__stack_chk_fail" in data, "canaries")
    checks.that(b"__snprintf_chk" in data or b"__memcpy_chk" in data, "checked copies")


main(caps, looked_up_bytes, stacks, descriptors, controls, foreign_run, long_paths, hardening)
