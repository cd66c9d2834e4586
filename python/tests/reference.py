"""The definition of rounding, taken literally in float64: a second implementation, for tests.

Exact for float64 numbers whose quotient by a unit of the format is below 2**52.
"""

from types import SimpleNamespace

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


def drawn_gradients(workers, elements, seed, magnitude=1.0, rho=0.2, sigma=1.0):
    """What `halfulp comm` draws: [workers, elements] (docs/reference/numerics/workers.md)."""
    from halfulp._ffi import lib

    def normals(what, worker):
        stream = int(lib.hu_stream_id(b"gradient", what.encode()))
        pair = random_words(
            SimpleNamespace(seed=seed, stream=stream, step=worker), 0, 2 * elements
        ).reshape(-1, 2)
        u, turn = (pair[:, 0] + 1.0) * 2.0**-32, pair[:, 1] * 2.0**-32
        return (np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * turn)).astype(np.float32)

    size = np.exp(sigma * normals("size", 0).astype(np.float64)).astype(np.float32)
    mean = (rho * size.astype(np.float64) * normals("mean", 0)).astype(np.float32)
    rows = [
        mean.astype(np.float64) + size.astype(np.float64) * normals("noise", w)
        for w in range(workers)
    ]
    return np.stack([(row / workers * magnitude).astype(np.float32) for row in rows])


def xxh64(data, seed=0):
    """XXH64 of bytes (Collet, xxHash specification 0.1.1)."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5, mask = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5, 2**64 - 1

    def turned(x, by):
        return ((x << by) | (x >> (64 - by))) & mask

    def mixed(lane, word):
        return turned((lane + word * p2) & mask, 31) * p1 & mask

    size, at = len(data), 0
    if size >= 32:
        lanes = [(seed + p1 + p2) & mask, (seed + p2) & mask, seed, (seed - p1) & mask]
        words = np.frombuffer(data, np.uint64, size // 32 * 4).tolist()
        for i, word in enumerate(words):
            lanes[i % 4] = mixed(lanes[i % 4], word)
        at = size // 32 * 32
        found = sum(turned(v, by) for v, by in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            found = ((found ^ mixed(0, lane)) * p1 + p4) & mask
    else:
        found = (seed + p5) & mask
    found = (found + size) & mask
    while at + 8 <= size:
        found ^= mixed(0, int.from_bytes(data[at : at + 8], "little"))
        found, at = (turned(found, 27) * p1 + p4) & mask, at + 8
    if at + 4 <= size:
        found ^= int.from_bytes(data[at : at + 4], "little") * p1 & mask
        found, at = (turned(found, 23) * p2 + p3) & mask, at + 4
    for byte in data[at:]:
        found = turned(found ^ byte * p5 & mask, 11) * p1 & mask
    found = (found ^ (found >> 33)) * p2 & mask
    found = (found ^ (found >> 29)) * p3 & mask
    return found ^ (found >> 32)
