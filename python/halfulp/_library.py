"""The extension; loaded first, so that one sentence says what a system lacks for it."""

_OPENMP = "libgomp.so.1"
_ADVICE = (
    f"halfulp needs {_OPENMP}, GCC's OpenMP library, which the loader does not find here. It is "
    "the system's, so that one process has one of them: apt-get install libgomp1 (Debian, "
    "Ubuntu), dnf install libgomp (Fedora, Red Hat), zypper install libgomp1 (openSUSE), or "
    "conda install libgomp"
)

try:
    from ._ffi import ffi, lib
except ImportError as error:
    if _OPENMP not in str(error):
        raise
    raise ImportError(_ADVICE) from error

__all__ = ["ffi", "lib"]
