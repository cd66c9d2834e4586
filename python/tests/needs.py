"""What a test needs of PyTorch, where the release that is installed may lack it."""

import pytest

from halfulp.torch import _release


def _since(what, has, release):
    found, first = _release.torch.__version__, ".".join(map(str, release))
    return pytest.mark.skipif(not has, reason=f"PyTorch {found}: {what} needs {first} or newer")


needs_export = _since("following a module", _release.HAS_EXPORT, _release.EXPORT_FROM)
needs_operations = _since(
    "torch.library.custom_op", _release.HAS_OPERATIONS, _release.OPERATIONS_FROM
)
needs_groups = _since(
    "a group of some processes",
    _release.RELEASE >= _release.GROUPS_FROM,
    _release.GROUPS_FROM,
)
needs_hooks_errors = _since(
    "an error of a hook that keeps its class", _release.RELEASE >= (2, 0), (2, 0)
)
needs_halves = _since("gloo with numbers of 16 bits", _release.RELEASE >= (2, 3), (2, 3))
