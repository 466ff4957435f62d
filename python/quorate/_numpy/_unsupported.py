"""Hints for numpy functions that take no secrets: what to write instead, or why there is no replacement."""

from __future__ import annotations

__all__ = ["instead"]

_SHAPE = "how long its result is would tell something of the secret: "
_LOOKED_UP = "a bounded argument can be looked up: qr.lookup(x, np.{name}, domain=(low, high)), which ends before high"
_TO_ONE = "from -1 to 1 it can be looked up: qr.lookup(x, np.{name}, domain=(-1, 1 + 2**-16)), whose last number is 1"
_PUBLIC = "it makes public numbers: call it with public ones, and mpc.constant makes them part of a program"
_FILE = "secrets are in no file: reveal first"
_TEXT = "secrets have no text: reveal first, or print(repr(x)) for shape and dtype"
_MEMORY = "a secret has no memory to look at"
_STRING = "secrets are numbers: give text as codes"
_COMPLEX = "secret numbers are real"
_NAN = "secret numbers are always numbers"
_IN_PLACE = "secret arrays do not change in place: x.at[i].set(v) gives a changed copy"
_LINALG = "not in this release"
_RECORDS = "secret arrays have no fields: one array for each"

_WHOLE: dict[str, str] = {
    "abs": "abs(x)",
    "allclose": "(abs(x - y) <= tolerance).all()",
    "apply_along_axis": "methods take axis=",
    "apply_over_axes": "methods take axis=, several as a tuple",
    "arctan2": "not in this release",
    "argwhere": _SHAPE + "reveal the condition, or select with mpc.where",
    "array_equiv": "(x == y).all()",
    "astype": "x.astype(qr.int(32)): dtypes are Quorate's",
    "bitwise_count": "abs(x).bits().sum(axis=-1)",
    "block": "np.concatenate along each axis",
    "broadcast_arrays": "np.broadcast_to each of them",
    "choose": "mpc.where, or mpc.take for a secret position",
    "compress": _SHAPE + "a public condition can be an index, x[condition]",
    "convolve": "sums of products of slices, x[i:] * y[j]; of a public y: x @ a matrix of it",
    "copysign": "np.where(y < 0, -abs(x), abs(x))",
    "copyto": _IN_PLACE,
    "correlate": "sums of products of slices, x[i:] * y[j]",
    "cross": "products of slices: x[1] * y[2] - x[2] * y[1]",
    "cumulative_prod": "x.cumprod(axis)",
    "cumulative_sum": "x.cumsum(axis)",
    "ediff1d": "np.diff(x.ravel())",
    "einsum": "np.tensordot, x @ y and transposes",
    "extract": _SHAPE + "a public condition can be an index, x[condition]",
    "fill_diagonal": _IN_PLACE,
    "fix": "np.trunc(x)",
    "flatnonzero": _SHAPE + "reveal the condition, or select with mpc.where",
    "float_power": "x ** n for whole n, qr.exp(n * qr.log(x)) for others",
    "fmod": "np.where(x < 0, -(-x % abs(y)), x % abs(y)); the sign of x % y is that of y",
    "gcd": "there is none: its rounds would tell the numbers",
    "gradient": "differences of slices: (x[2:] - x[:-2]) / 2 but for the first and the last one",
    "heaviside": "np.where(x < 0, 0, np.where(x == 0, y, 1))",
    "histogram2d": "as np.histogram, with the bits of both",
    "histogram_bin_edges": "bins are public: name them",
    "histogramdd": "as np.histogram, with the bits of all",
    "hypot": "qr.sqrt(x * x + y * y), where squares fit the dtype",
    "insert": "np.concatenate of slices",
    "interp": "qr.lookup of a bounded argument",
    "intersect1d": "qr.apps.psi(mpc, a, b) of sets that two parties have; reveal_to='nobody' keeps it secret",
    "isclose": "abs(x - y) <= tolerance",
    "isin": "(x[..., None] == values).any(axis=-1)",
    "kron": "(x[:, None, :, None] * y[None, :, None, :]).reshape(len(x) * len(y), -1)",
    "lcm": "there is none: its rounds would tell the numbers",
    "ldexp": "x * 2.0**n for public n",
    "lexsort": "np.lexsort((b, a)) is mpc.sort(mpc.sort(b, a)[1], b.argsort())[1]: sorts are stable",
    "lib.scimath.logn": "qr.log(x) * (1 / np.log(n))",
    "linalg.pinv": "not in this release; of a public matrix: x @ np.linalg.pinv(a)",
    "linalg.matmul": "x @ y",
    "linalg.matrix_power": "x @ x, as often as it takes",
    "linalg.multi_dot": "x @ y @ z",
    "linalg.norm": "qr.sqrt((x * x).sum(axis)), where squares fit the dtype",
    "linalg.vector_norm": "qr.sqrt((x * x).sum(axis)), where squares fit the dtype",
    "linalg.matrix_norm": "qr.sqrt((x * x).sum()), where squares fit the dtype",
    "linalg.outer": "np.outer(x, y)",
    "linalg.tensordot": "np.tensordot(x, y, axes)",
    "linalg.trace": "np.trace(x)",
    "linalg.diagonal": "np.diagonal(x)",
    "linalg.vecdot": "(x * y).sum(axis=-1)",
    "linalg.cross": "products of slices: x[1] * y[2] - x[2] * y[1]",
    "linalg.matrix_transpose": "x.swapaxes(-1, -2)",
    "logaddexp": "np.maximum(x, y) + qr.log(1 + qr.exp(-abs(x - y)))",
    "logaddexp2": "np.maximum(x, y) + qr.log(1 + qr.exp(-abs(x - y) * np.log(2))) / np.log(2)",
    "log1p": "qr.log(1 + x)",
    "expm1": "qr.exp(x) - 1",
    "log2": "qr.log(x) * (1 / np.log(2))",
    "log10": "qr.log(x) * (1 / np.log(10))",
    "exp2": "qr.exp(x * np.log(2))",
    "deg2rad": "x * (np.pi / 180)",
    "radians": "x * (np.pi / 180)",
    "rad2deg": "x * (180 / np.pi)",
    "degrees": "x * (180 / np.pi)",
    "matrix_transpose": "x.swapaxes(-1, -2)",
    "matvec": "x @ y",
    "vecmat": "x @ y",
    "vecdot": "(x * y).sum(axis=-1)",
    "meshgrid": "np.broadcast_to(x[:, None], shape)",
    "modf": "(x - np.trunc(x), np.trunc(x))",
    "nonzero": _SHAPE + "reveal the condition, or select with mpc.where",
    "packbits": "mpc.from_bits(x.reshape(-1, 8)[:, ::-1], qr.uint(8)), the lowest bit first without [:, ::-1]",
    "piecewise": "mpc.where",
    "poly": "products in turn",
    "polyadd": "x + y, of coefficients of one length",
    "polysub": "x - y, of coefficients of one length",
    "polyval": "Horner's rule: (a * x + b) * x + c",
    "place": _IN_PLACE,
    "put": _IN_PLACE,
    "put_along_axis": _IN_PLACE,
    "putmask": _IN_PLACE,
    "select": "mpc.where, one in the other",
    "setdiff1d": "np.setdiff1d(a, qr.apps.psi(mpc, a, b)) at the owner of a, who learns what is shared",
    "setxor1d": "qr.apps.psi(mpc, a, b), and each owner takes what it tells out of its own set",
    "sliding_window_view": "np.stack of slices",
    "lib.stride_tricks.sliding_window_view": "np.stack of slices",
    "take_along_axis": "mpc.take for secret positions; a public index picks: x[np.arange(n), index]",
    "trapezoid": "(x[1:] + x[:-1]).sum() * (step / 2)",
    "trim_zeros": _SHAPE + "reveal first",
    "union1d": _SHAPE + "sort and compare neighbours",
    "unpackbits": "x.bits()[..., ::-1].reshape(-1) of qr.uint(8), the lowest bit first without [..., ::-1]",
    "unstack": "list(x)",
    "unwrap": "not in this release",
    "vander": "np.stack of x ** n",
    "cbrt": _LOOKED_UP.format(name="cbrt"),
    "i0": _LOOKED_UP.format(name="i0"),
    "sinc": _LOOKED_UP.format(name="sinc"),
}

# Hints for methods of ufuncs, as in np.add.at.
_METHODS: dict[str, str] = {
    "add.at": "x.at[i].add(v), which gives a changed copy, of places that are named once",
    "subtract.at": "x.at[i].add(-v), which gives a changed copy, of places that are named once",
    "at": "x.at[i].set(f(x[i], v)), which gives a changed copy",
    "accumulate": "results in turn, np.stack of x[0], f(x[0], x[1]) and so on; of add, multiply, maximum, minimum, "
    "logical_and and logical_or there is one, which takes log2(n) steps",
    "multiply.outer": "np.outer(x, y), of one axis each",
    "outer": "the operator on x[:, None] and y",
    "reduceat": "sums and the like of slices: np.stack of x[:3].sum(), x[3:].sum()",
}

_GROUPS: list[tuple[str, str]] = [
    ("arccos arcsin", _TO_ONE),
    ("arccosh arcsinh arctan arctanh cos cosh sin sinh tan", _LOOKED_UP),
    (
        "arange array asanyarray asarray ascontiguousarray asfortranarray diag_indices_from empty empty_like eye "
        "frombuffer fromfunction fromiter fromstring full geomspace identity ix_ linspace logspace ones "
        "ravel_multi_index require tri tril_indices_from triu_indices_from unravel_index zeros",
        _PUBLIC,
    ),
    ("fromfile genfromtxt loadtxt save savetxt savez savez_compressed", _FILE),
    ("array2string array_repr array_str", _TEXT),
    ("may_share_memory shares_memory", _MEMORY),
    ("angle conjugate imag iscomplex iscomplexobj isreal isrealobj real real_if_close sort_complex", _COMPLEX),
    ("isneginf isposinf isnat", _NAN),
    ("can_cast common_type min_scalar_type result_type", "dtypes are Quorate's: x.dtype"),
    ("nextafter spacing frexp", "secrets are integers and fixed point: neighbours are 2^-f apart"),
    ("busday_count busday_offset datetime_as_string is_busday", "secrets are numbers: give dates as days"),
    ("unique unique_all unique_counts unique_inverse unique_values", _SHAPE + "sort and compare neighbours"),
    ("polyder polydiv polyfit polyint polymul roots", "not in this release"),
    ("einsum_path", "np.tensordot, x @ y and transposes"),
    (
        "count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle isupper rfind",
        _STRING,
    ),
    ("rindex startswith str_len", _STRING),
]


def instead(name: str) -> str:
    """Returns the hint that follows a function's name, such as `linalg.solve`, in messages and tables."""
    if name in _WHOLE:
        return _WHOLE[name]
    for names, text in _GROUPS:
        if name in names.split():
            return text.format(name=name)
    short = name.rpartition(".")[2]
    if name.startswith("linalg."):
        return _LINALG
    if name.startswith("lib.recfunctions."):
        return _RECORDS
    if name.startswith("lib.scimath."):
        return f"np.{short}, of real numbers" if short in ("log", "power", "sqrt") else instead(short)
    if short.startswith("_"):
        return _STRING
    for method in (name, short):
        if method in _METHODS:
            return _METHODS[method]
    if "." in name:
        return "x.sum(axis) and other methods; operators on what is computed side by side"
    return "operators, methods (x.sum(), x @ y), mpc.where, mpc.concatenate; or reveal first"
