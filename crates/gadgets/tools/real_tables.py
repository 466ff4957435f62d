"""Makes the coefficient tables in ../src/real/tables (needs mpmath; run it from this folder).

Each function is cut into 64 segments (or two times 64) of one width h. On a segment it is a cubic in t, the distance
from the middle: c0 + c1 t1 + c2 t2^2 + c3 t3^3, where t1, t2, t3 are t rounded down to T1, T2, T3 bits after the
point, so that every product is exact in Z_2^64. c_j is a multiple of 2^-(G - j T_j). The coefficients interpolate at
the Chebyshev nodes, from the highest down: each is rounded before the lower ones are fitted to what is left. Where
results are rounded down later, c0 is then raised until the cubic is nowhere below the function (at the samples), so
that exact results stay so.
"""

import os

import mpmath as mp

mp.mp.prec = 160
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "src", "real", "tables")


def raw_signed(i, h):
    """The left end of segment i where i are the six bits of a two's complement number."""
    return (i if i < 32 else i - 64) * h


def unsigned(offset):
    return lambda i, h: offset + i * h


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def gelu(x):
    return x * mp.erfc(-x / mp.sqrt(2)) / 2


H = mp.mpf(1) / 64
# name: functions (one table each), left end, h, G, (T1, T2, T3), what it is
TABLES = {
    "sigmoid": ([sigmoid], raw_signed, mp.mpf(1) / 2, 61, (16, 16, 16), "the logistic function on [-16, 16)"),
    "tanh": ([mp.tanh], raw_signed, mp.mpf(1) / 4, 60, (16, 16, 16), "tanh on [-8, 8)"),
    "gelu": ([gelu], raw_signed, mp.mpf(1) / 4, 58, (16, 16, 16), "x Phi(x) on [-8, 8)"),
    "exp2": ([lambda x: mp.mpf(2) ** x], unsigned(0), H, 62, (30, 22, 16), "2^r on [0, 1)"),
    "log": ([mp.log], unsigned(1), H, 56, (24, 20, 16), "log(m) on [1, 2)"),
    "reciprocal": ([lambda m: 1 / m], unsigned(1), H, 62, (32, 23, 17), "1/m on [1, 2)"),
    "divisor": (
        [lambda m: 1 / m, lambda m: 1 / (m + mp.mpf(1) / 2)],
        unsigned(1),
        H / 2,
        62,
        (32, 24, 18),
        "1/m on [1, 2), in twice as many segments",
    ),
    "sqrt": (
        [mp.sqrt, lambda m: mp.sqrt(2 * m)],
        unsigned(1),
        H,
        62,
        (32, 22, 16),
        "sqrt(m), then sqrt(2m), on [1, 2)",
    ),
    "rsqrt": (
        [lambda m: 1 / mp.sqrt(m), lambda m: mp.sqrt(2 / m)],
        unsigned(1),
        H,
        62,
        (32, 22, 16),
        "1/sqrt(m), then sqrt(2/m), on [1, 2)",
    ),
}


def nodes(count, h):
    return [h / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def leading(values, points):
    """The leading coefficient of the polynomial through the points (the last divided difference)."""
    table = list(values)
    for level in range(1, len(points)):
        table = [(table[i + 1] - table[i]) / (points[i + level] - points[i]) for i in range(len(table) - 1)]
    return table[0]


def cubic(c, offset, h, after):
    """The value of a segment's cubic, in units of 2^-G, at `offset` from its left end."""
    t = [int(mp.floor(offset * mp.mpf(2) ** a)) - int(h / 2 * mp.mpf(2) ** a) for a in after]
    return c[0] + c[1] * t[0] + c[2] * t[1] ** 2 + c[3] * t[2] ** 3


def raised(c, f, left, h, scale, after, offsets):
    wanted = [mp.ceil(f(left + x) * mp.mpf(2) ** scale) - cubic(c, x, h, after) for x in offsets]
    return [c[0] + max(0, int(max(wanted))), *c[1:]]


def offsets_of(name, i, h):
    """Where the cubic must not be below the function: e^x is exact at 0 only, and must stay below 2 near 1."""
    if name == "exp2":
        return [mp.mpf(0)] if i == 0 else []
    if name not in ("reciprocal", "divisor", "sqrt", "rsqrt"):
        return []
    last = mp.mpf(2) ** -32
    return [h * j / 96 for j in range(96)] + [h * (j + 1) / 96 - last for j in range(96)]


def segment(f, left, h, scale, after):
    middle = left + h / 2
    grids = [scale] + [scale - j * t for j, t in zip((1, 2, 3), after, strict=False)]
    found = [0] * 4
    for degree in (3, 2, 1, 0):
        points = nodes(degree + 1, h)

        def done(t):
            return sum(mp.mpf(found[j]) / mp.mpf(2) ** grids[j] * t**j for j in range(degree + 1, 4))

        c = leading([f(middle + t) - done(t) for t in points], points)
        found[degree] = int(mp.nint(c * mp.mpf(2) ** grids[degree]))
    return found


def tables(name):
    functions, left, h, scale, after, _ = TABLES[name]
    rows = []
    for f in functions:
        for i in range(64):
            row, offsets = segment(f, left(i, h), h, scale, after), offsets_of(name, i, h)
            rows.append(raised(row, f, left(i, h), h, scale, after, offsets) if offsets else row)
    return rows


def write(name):
    _functions, _, h, scale, after, what = TABLES[name]
    rows = tables(name)
    lines = [
        f"//! Coefficients of {what}: made by `tools/real_tables.py`, not by hand.",
        "",
        "use super::Table;",
        "",
        "#[rustfmt::skip]",
        f"pub(in crate::real) const {name.upper()}: Table = Table {{",
        f"    scale: {scale},",
        f"    after_point: {list(after)},",
        f"    segment: {int(mp.log(h, 2))},",
        "    rows: &[",
    ]
    lines += ["        [" + ", ".join(str(c) for c in row) + "]," for row in rows]
    lines += ["    ],", "};", ""]
    with open(os.path.join(OUT, f"{name}.rs"), "w") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    for table in TABLES:
        write(table)
