"""An integer model of ../src/real, and its error over the domains (needs numpy and mpmath).

Every function maps elements of Z_2^64 with f bits after the point exactly as the protocol does; `python real_model.py`
prints the largest and the mean error in units of 2^-f; with `samples`, what ../../rss/tests/real_samples.txt holds.
"""

import sys

import numpy as np
import real_tables

U = np.uint64
TABLES = {
    n: (np.array(real_tables.tables(n), dtype=object) % 2**64, *real_tables.TABLES[n][2:5]) for n in real_tables.TABLES
}
TABLES = {n: (t[0].astype(np.uint64), int(np.log2(float(t[1]))), t[2], t[3]) for n, t in TABLES.items()}
LOG2E = int(real_tables.mp.nint(real_tables.mp.log(real_tables.mp.e, 2) * 2**36))
LN2 = int(real_tables.mp.nint(real_tables.mp.log(2) * 2**56))


def poly(name, index, low, low_bits):
    """The cubic at segment `index`; `low` is the place in it, a fraction of the segment with `low_bits` bits."""
    rows, h, _scale, after = TABLES[name]
    c = [rows[:, j][index] for j in range(4)]
    t = []
    for a in after:
        width = a + h
        part = low >> U(low_bits - width) if low_bits >= width else low << U(width - low_bits)
        t.append(part - (U(1) << U(width - 1)))
    return c[0] + c[1] * t[0] + (c[2] * t[1]) * t[1] + (c[3] * t[2]) * (t[2] * t[2])


def sar(x, s):
    return (x.view(np.int64) >> np.int64(s)).view(np.uint64)


def direct(name, x, f):
    """sigmoid, tanh, gelu: x as int64."""
    _, h, scale, _ = TABLES[name]
    u = x.astype(np.int64)
    cell = f + h  # bits of x within a segment
    wide = np.clip(u, -(256 << f), 256 << f) << np.int64(max(-cell, 0))
    cell = max(cell, 0)
    index = ((wide >> np.int64(cell)) & 63).astype(np.uint64)
    low = (wide & np.int64((1 << cell) - 1)).view(np.uint64)
    p = poly(name, index.astype(int), low, cell) + (U(1) << U(scale - f - 1))
    y = sar(p, scale - f).view(np.int64)
    top = wide >> np.int64(cell + 5)
    y = np.where((top == 0) | (top == -1), y, 0)
    one = {"sigmoid": (1 << f, 0), "tanh": (1 << f, -(1 << f)), "gelu": (u, 0)}[name]
    return np.where(top > 0, one[0], np.where(top < -1, one[1], y))


def normal(x, seen=32):
    """Position of the leading bit, and 32 bits after it, of which the first `seen` count."""
    p = np.floor(np.log2(x.astype(np.longdouble))).astype(np.int64)
    p = np.where((U(1) << p.astype(np.uint64)) > x, p - 1, p)
    p = np.where((x >> p.astype(np.uint64)) > 1, p + 1, p)
    left = x << (63 - p).astype(np.uint64)
    return p, (left << U(1)) >> U(32) & U(2**32 - 2 ** (32 - max(seen, 6)))


def place(p64, u, top):
    """P / 2^(top - u), zero for u < 0."""
    sh = top - u
    return np.where((u < 0) | (sh > 63), U(0), p64 >> np.clip(sh, 0, 63).astype(np.uint64))


def log(x, f):
    p, m = normal(x, f + 5)
    v = poly("log", (m >> U(26)).astype(int), m & U((1 << 26) - 1), 26)
    v = v + (p - f).view(np.uint64) * U(LN2) + (U(1) << U(56 - f - 1))
    return sar(v, 56 - f).view(np.int64)


def root(name, x, f):
    p, m = normal(x, 32 if name == "sqrt" else f + 2)
    v = p + f if name == "sqrt" else 3 * f - p
    v64 = poly(name, (64 * (v & 1) + (m >> U(26)).astype(np.int64)).astype(int), m & U((1 << 26) - 1), 26)
    return place(v64, v >> 1, 62)


def sqrt(x, f, k=64):
    """Roots of numbers of k bits: those from 2^31 on are corrected by x 2^f - s^2."""
    s = root("sqrt", x, f)
    p, m = normal(x)
    e = (p + f) >> 1
    most = (k - 2 + f) >> 1
    if most < 31:
        return s
    q = k - 2 - max(3, most - 29)
    rows = TABLES["sqrt"][0].view(np.int64)
    # 1 / (2 sqrt) is the derivative: with 12 bits after the point, and its slope with 2.
    half = np.arange(128) >= 64
    g0, g1 = nearest(rows[:, 1], 18 + half), nearest(rows[:, 2], 15 + half)
    index = 64 * ((p + f) & 1) + (m >> U(26)).astype(np.int64)
    t = ((m >> U(22)) & U(15)).astype(np.int64) - 8
    w = (g0[index] + g1[index] * t) << np.clip(q - e - 12, 0, 63)
    r = ((x << U(f)) - s * s).view(np.int64)
    return np.where(e >= 31, s + ((r * w) >> q).view(np.uint64), s)


def nearest(x, shift):
    return (x + (np.int64(1) << (shift - 1))) >> shift


def reciprocal(x, f):
    p, m = normal(x, f + 2)
    v = poly("reciprocal", (m >> U(26)).astype(int), m & U((1 << 26) - 1), 26)
    return place(v, 2 * f - p, 62)


def divide(a, b, f):
    """Quotients that are proven small; the others are exact, rounded down."""
    pa, ma = normal(a)
    pb, mb = normal(b)
    y = (poly("divisor", (mb >> U(25)).astype(int), mb & U((1 << 25) - 1), 25) + U((1 << 30) - 1)) >> U(30)
    q = y * ((U(1) << U(30)) + (ma >> U(2)))
    u = pa - pb + f
    too_large = (u > 63) | ((u == 63) & (q >> U(62) > 0))
    return np.where(too_large, U(2**63 - 1), place(q, np.minimum(u, 62), 62) << np.clip(u - 62, 0, 1).astype(np.uint64))


def exp(x, f, g=None):
    """X as int64; g bits after the result's point."""
    g = f if g is None else g
    z = x.view(np.uint64) * U(LOG2E) + U(g << (f + 36))
    u = sar(z, f + 36).view(np.int64)
    r = z & U((1 << (f + 36)) - 1)
    p = poly("exp2", (r >> U(f + 30)).astype(int), r & U((1 << (f + 30)) - 1), f + 30)
    assert (p < U(1 << 63)).all() and (p >= U(1 << 62)).all()
    return place(p, u, 62)


def report(name, f, got, want):
    """want: the real result in units of 2^-f."""
    err = np.abs(got.astype(np.longdouble) - want)
    worst = int(np.argmax(err))
    print(f"{name:24} f {f:2} max {float(err[worst]):9.4f} mean {float(err.mean()):.4f} at {worst}")


def main():
    rng = np.random.default_rng(1)
    from scipy.special import erfc

    for f in (16, 15, 12, 8, 3, 1, 0):
        L = np.longdouble
        unit = L(2) ** f
        x = np.arange(-20 * 2**f, 20 * 2**f, dtype=np.int64)
        r = x.astype(L) / unit
        report("sigmoid", f, direct("sigmoid", x, f), unit / (1 + np.exp(-r)))
        report("tanh", f, direct("tanh", x, f), unit * np.tanh(r))
        d = r.astype(float)
        report("gelu", f, direct("gelu", x, f), (d * erfc(-d / 2**0.5) / 2).astype(L) * unit)
        x = np.arange(-30 * 2**f, 8 * 2**f + 1, dtype=np.int64)
        e = np.exp(x.astype(L) / unit) * unit
        report("exp x <= 8", f, exp(x, f), e)
        x = np.arange(8 * 2**f, int((63 - f) * np.log(2) * 2**f), dtype=np.int64)
        e = np.exp(x.astype(L) / unit) * unit
        got = exp(x, f).astype(L)
        print(
            f"   exp beyond: relative 2^{np.log2(float((np.maximum(np.abs(got - e) - 1, 0) / e).max() + 1e-30)):.2f}",
            f"2^{np.log2(float((np.abs(got - e) / e).max())):.2f}",
        )
        x = np.concatenate([np.arange(1, 2**20, dtype=np.uint64), (2 ** rng.uniform(0, 63, 10**6)).astype(np.uint64)])
        r = x.astype(L)
        report("log", f, log(x, f), np.log(r / unit) * unit)
        report("rsqrt", f, root("rsqrt", x, f), unit / np.sqrt(r / unit))
        report("reciprocal", f, reciprocal(x, f), unit * unit / r)
        report("sqrt", f, sqrt(x, f), np.sqrt(r * unit))
        b = np.roll(x, 123457)
        want = r / b.astype(L) * unit
        keep = want < 2.0**30
        report("division, proven small", f, divide(x[keep], b[keep], f), want[keep])


def samples():
    """Lines `function f x y`, the integers that a test expects of the protocol."""
    rng = np.random.default_rng(7)
    for f in (16, 13, 8, 2, 1, 0):
        near = np.concatenate(
            [rng.integers(-20 * 2**f, 20 * 2**f, 60), np.arange(-8, 9), rng.integers(-(2**62), 2**62, 6)]
        )
        wide = (2 ** rng.uniform(0, 63, 70)).astype(np.uint64)
        wide = np.concatenate([wide, np.arange(1, 20, dtype=np.uint64), U(2) ** np.arange(0, 63, 5, dtype=np.uint64)])
        low = np.clip(rng.integers(-20 * 2**f, int((62 - f) * 0.693 * 2**f), 80), -(60 << f), None)
        divisor = wide[::-1] >> U(9) | U(7)
        every = [
            ("sigmoid", near, direct("sigmoid", near, f)),
            ("tanh", near, direct("tanh", near, f)),
            ("gelu", near, direct("gelu", near, f)),
            ("exp", low, exp(low, f)),
            ("log", wide, log(wide, f)),
            ("sqrt", wide, sqrt(wide, f)),
            ("rsqrt", wide, root("rsqrt", wide, f)),
            ("reciprocal", wide, reciprocal(wide, f)),
            ("divide", wide, divide(wide, divisor, f)),
        ]
        for name, x, y in every:
            print(name, f, ",".join(map(str, x)), ",".join(map(str, y)))


if __name__ == "__main__":
    sys.exit(samples() if sys.argv[1:] == ["samples"] else main())
