"""The definition of rounding, taken literally in float64: a second implementation, for tests.

Exact for float64 numbers whose quotient by a unit of the format is below 2**52.
"""

import numpy as np


def _units(x, fmt):
    """The distance of numbers of the format around each number: a power of two."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(x) & (x != 0), np.abs(x), 1.0))
    return np.ldexp(1.0, np.maximum(exponent - 1, fmt.emin) - fmt.man)


def _whole(quotient, negative, mode):
    """The whole number of units."""
    down = np.floor(quotient)
    rest = quotient - down
    odd = np.mod(down, 2) == 1
    up = {
        "rne": (rest > 0.5) | ((rest == 0.5) & odd),
        "rna": rest >= 0.5,
        "rz": np.zeros_like(odd),
        "ru": (rest > 0) & ~negative,
        "rd": (rest > 0) & negative,
        "rodd": (rest > 0) & ~odd,
    }[mode]
    return down + up


def rounded(x, fmt, mode):
    """Every number of x (float64) rounded to the format, as float32; NaNs are one NaN."""
    with np.errstate(invalid="ignore"):  # NaNs that signal
        x = np.asarray(x, np.float64)
    negative = np.signbit(x)
    finite = np.isfinite(x)
    unit = _units(x, fmt)
    magnitude = _whole(np.where(finite, np.abs(x), 0.0) / unit, negative, mode) * unit
    inward = {
        "rz": np.ones_like(negative),
        "rodd": np.ones_like(negative),
        "ru": negative,
        "rd": ~negative,
    }.get(mode, np.zeros_like(negative))
    beyond = magnitude > fmt.max
    too_large = {"inf": np.inf, "sat": fmt.max, "nan": np.nan}[fmt.overflow]
    magnitude = np.where(beyond, np.where(inward, fmt.max, too_large), magnitude)
    magnitude = np.where(np.isinf(x), too_large, magnitude)
    if not fmt.subnormals:
        magnitude = np.where(magnitude < fmt.min_normal, 0.0, magnitude)
    y = np.where(negative, -magnitude, magnitude)
    if fmt.specials == "fnuz":
        y = np.where(y == 0, 0.0, y)
    return np.where(np.isnan(x), np.nan, y).astype(np.float32)


def random_words(key, first, count):
    """The random words of a key: Threefry4x32 of 12 rounds (Salmon et al., SC 2011, table 2)."""
    rotations = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
    low = 2**32 - 1
    k = [key.seed & low, key.seed >> 32, key.stream & low, key.stream >> 32]
    k.append(0x1BD11BDA ^ k[0] ^ k[1] ^ k[2] ^ k[3])
    k = np.array(k, np.uint32)
    block = np.arange(first // 4, (first + count + 3) // 4, dtype=np.uint64)
    step = np.full(block.size, key.step, np.uint64)
    counter = (block, block >> np.uint64(32), step, step >> np.uint64(32))
    x = [(c & np.uint64(low)).astype(np.uint32) + k[i] for i, c in enumerate(counter)]
    for r in range(12):
        for (to, other), by in zip(
            ((0, 1), (2, 3)) if r % 2 == 0 else ((0, 3), (2, 1)), rotations[r % 8]
        ):
            x[to] = x[to] + x[other]
            x[other] = (x[other] << np.uint32(by) | x[other] >> np.uint32(32 - by)) ^ x[to]
        if r % 4 == 3:
            x = [v + k[(r // 4 + 1 + i) % 5] for i, v in enumerate(x)]
            x[3] = x[3] + np.uint32(r // 4 + 1)
    return np.stack(x, axis=1).reshape(-1)[first % 4 :][:count]


def bits(x):
    """Bit patterns, all NaNs alike."""
    x = np.asarray(x, np.float32)
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


def boundaries(fmt, count, seed):
    """Numbers around those of a format, around the middles between two, and of every magnitude."""
    random = np.random.default_rng(seed)
    if fmt.bits <= 16:
        members = fmt.values()
        members = members[np.isfinite(members) & (members > 0)]
        if members.size > count // 8:
            members = np.sort(random.choice(members, count // 8, replace=False))
    else:
        members = random.standard_normal(count // 8).astype(np.float32)
        members = np.sort(np.abs(members))
    ends = np.array([fmt.max, fmt.min_normal, fmt.min_subnormal, 1.0], np.float32)
    with np.errstate(over="ignore"):
        points = np.concatenate(
            [members, ends, ends / 2, ends * 2, (members[1:] + members[:-1]) / 2]
        )
        near = [np.nextafter(points, np.float32(t)) for t in (0, np.inf)]
    pattern = random.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32).view(np.float32)
    special = np.array([0.0, np.inf, np.nan, 1e-45, 3.4028235e38], np.float32)
    found = np.concatenate([points, *near, special]).astype(np.float32)
    found = np.concatenate([found, -found, pattern])
    return found[:count] if found.size >= count else np.resize(found, count)
