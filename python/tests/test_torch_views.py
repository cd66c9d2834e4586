"""Views of tensors whose axes have names: what NumPy makes of the same."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from halfulp.torch._views import Axis, View, ViewError, extent  # noqa: E402


def read(view, flat):
    """The numbers of a view, whose storage lies flat in memory, by PyTorch's dimensions."""
    array = flat.reshape([axis.size for axis in view.storage])
    order = [view.storage.index(axis) for axis in view.axes]
    return array.transpose(order).reshape(view.shape)


@pytest.mark.parametrize("seed", range(300))
def test_views_are_those_of_numpy(seed):
    random = np.random.default_rng(seed)
    shape = random.choice([1, 2, 3, 4, 6, 8], random.integers(2, 5)).tolist()
    axes = [(Axis(int(s)),) if s > 1 else () for s in shape]
    view = View(axes, tuple(axis for dim in axes for axis in dim))
    flat = np.arange(np.prod(shape))
    array = flat.reshape(shape)
    for _ in range(6):
        if random.random() < 0.5:
            order = random.permutation(array.ndim).tolist()
            array, view = array.transpose(order), view.permuted(order)
        else:
            left, new = array.size, []
            while left > 1 and len(new) < 5:
                new.append(int(random.choice([d for d in range(1, left + 1) if left % d == 0])))
                left //= new[-1]
            new.append(left)
            try:
                view = view.viewed(new)
            except ViewError:  # of axes such as 3 x 2 as 2 x 3: no product of axes is that
                continue
            array = array.reshape(new)
        np.testing.assert_array_equal(read(view, flat), array)
        assert extent(view.axes) == array.size
