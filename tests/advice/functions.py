"""Advice of messages about functions: numpy's, look-ups, applications, training, layers, sessions."""

from __future__ import annotations

from advice.case import Case

NUMPY = [
    Case(
        "sort takes secret arrays: public numbers become some by mpc.constant",
        "mpc.sort([2, 1])",
        "mpc.sort(mpc.constant([2, 1]))[0]",
        [1, 2],
    ),
    Case(
        "it makes public numbers: call it with public ones, and mpc.constant makes them part",
        "np.linspace(given(0), 1, 3)",
        "mpc.constant(np.linspace(0, 1, 3))",
        [0.0, 0.5, 1.0],
    ),
    Case(
        "secrets are in no file: reveal first",
        "np.save(tmp / 'x.npy', given([3]))",
        "np.save(tmp / 'x.npy', given([3]).reveal()); np.load(tmp / 'x.npy')",
        [3],
    ),
    Case(
        "secrets have no text: reveal first, or print(repr(x)) for shape and dtype",
        "np.array_str(given([3]))",
        "np.array_str(given([3]).reveal())",
        "[3]",
    ),
    Case(
        "secrets have no text: reveal first, or print(repr(x)) for shape and dtype",
        "np.array_str(given([3]))",
        "x = given([3]); {0} or repr(x)",
        "SecretArray(shape=(1,), dtype=int(64))",
        r"or (print\(repr\(x\)\)) for",
    ),
    Case(
        "secrets are numbers: give text as codes",
        "np.char.isalpha(given([97]))",
        "given([ord('a')]) == ord('a')",
        [True],
    ),
    Case(
        "bins are public: state them",
        "np.histogram_bin_edges(given([1, 2]))",
        "np.histogram(given([1, 2, 4]), bins=[0, 2, 5])[0]",
        [1, 2],
    ),
    Case(
        "reveal the condition, or select with mpc.where",
        "np.argwhere(given([3, 5]) > 4)",
        "np.argwhere((given([3, 5]) > 4).reveal())",
        [[1]],
    ),
    Case(
        "reveal the condition, or select with mpc.where",
        "np.flatnonzero(given([3, 5]) > 4)",
        "x = given([3, 5]); mpc.where(x > 4, x, 0)",
        [0, 5],
    ),
    Case(
        "sort and compare neighbours",
        "np.unique(given([3, 5, 3]))",
        "y = given([3, 5, 3]).sort(); (y[1:] != y[:-1]).sum() + 1",
        2,
    ),
    Case(
        "secrets are numbers: give dates as days", "np.is_busday(given([3]))", "given([qr.days('2000-01-03')])", [10959]
    ),
    Case(
        "centre by np.average(x, weights=w), and add up weighted products",
        "np.cov(given([1.0, 2.0, 4.0]), aweights=[1, 1, 2])",
        "x, w = given([1.0, 2.0, 4.0]), np.array([1, 1, 2]); y = x - np.average(x, weights=w); "
        "(y * y * w).sum() / w.sum()",
        1.6875,
    ),
    Case(
        "fills no {}: convert the value first",
        "np.full_like(given([3], dtype=qr.int(8)), given(2.0))",
        "np.full_like(given([3], dtype=qr.int(8)), given(2.0).astype(qr.int(8)))",
        [2],
    ),
    Case(
        "name the arguments, as in {}=",
        "np.mean(given([[1.0, 3.0]]), 1, None, None, True)",
        "np.mean(given([[1.0, 3.0]]), 1, {0}True)",
        [[2.0]],
        r"as in (keepdims=)",
    ),
    Case(
        "run_circuit: none of the inputs is secret; use circuit.evaluate",
        "mpc.run_circuit(qr.Circuit.from_text('1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n'), [1], [1])",
        "circuit = qr.Circuit.from_text('1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n'); circuit.evaluate([1], [1])",
        [True],
    ),
    Case(
        'has no sharing "{}": use {}',
        "given([3]).to('Y') + 1",
        "given([3]).to('Y') + 1",
        [4],
        options="|protocol='aby'",
    ),
    Case(
        'there is no sharing {}: say "A" (arithmetic), "B" (Boolean) or "Y" (Yao)',
        "given([3]).to('yao')",
        "given([3]).to('Y')",
        [3],
        options="protocol='aby'",
    ),
]

LOOKUPS = [
    Case(
        "which does not fit {}: state a wider dtype=, or a smaller domain=",
        "qr.lookup(given([3]), lambda v: v * 100, (0, 9), qr.int(8))",
        "qr.lookup(given([3]), lambda v: v * 100, (0, 9), qr.int(16))",
        [300],
    ),
    Case(
        "which does not fit {}: state a wider dtype=, or a smaller domain=",
        "qr.lookup(given([1]), lambda v: v * 100, (0, 9), qr.int(8))",
        "qr.lookup(given([1]), lambda v: v * 100, (0, 2), qr.int(8))",
        [100],
    ),
    Case(
        "lookup of {}, and {}: state one for each",
        "x = given([1]); qr.lookup([x, x], lambda u, v: u + v, [(0, 4)])",
        "x = given([1]); qr.lookup([x, x], lambda u, v: u + v, [(0, 4), (0, 4)])",
        [2],
    ),
    Case(
        "give a function, an array of entries, or a secret array",
        "qr.lookup(given([1]), 5)",
        "qr.lookup(given([1]), [5, 6])",
        [6],
    ),
    Case(
        "state a smaller domain=, or look up fewer bits (input_bits=12)",
        "qr.lookup(given([8]), lambda v: v + 1, (0, 2**27))",
        "qr.lookup(given([8]), lambda v: v + 1, (0, 16))",
        [9],
    ),
    Case(
        "state a smaller domain=, or look up fewer bits (input_bits=12)",
        "qr.lookup(given([2**15]), lambda v: v + 1, (0, 2**27))",
        "qr.lookup(given([2**15]), lambda v: v + 1, (0, 2**27), {0})",
        [2**15 + 1],
        r"\((input_bits=12)\)",
    ),
    Case(
        "positions count from 0, and take no domain=",
        "qr.lookup(given([1]), given([5, 6]), (0, 2))",
        "qr.lookup(given([1]), given([5, 6]))",
        [6],
    ),
    Case(
        "lookup of integers with real results: state their dtype=, for instance qr.{}",
        "qr.lookup(given([1]), lambda v: v / 4, (0, 4))",
        "qr.lookup(given([1]), lambda v: v / 4, (0, 4), {0})",
        [0.25],
        r"for instance (qr\.fixed\(64, 16\))",
    ),
    Case(
        "lookup: entries from {} to {} do not fit {}: state a wider dtype=",
        "qr.lookup(given([1]), [0, 2**62, 2**63 + 5, 3])",
        "qr.lookup(given([1]), [0, 2**62, 2**63 + 5, 3], dtype=qr.int(96))",
        [2**62],
    ),
    Case(
        "not a finite number: state a domain= where the function has values",
        "qr.lookup(given([1.0], dtype=qr.fixed(16, 4)), np.log, (0, 4))",
        "qr.lookup(given([1.0], dtype=qr.fixed(16, 4)), np.log, (0.5, 4))",
        [0.0],
    ),
    Case(
        "not a number of {}: state dtype=, or round the results",
        "qr.lookup(given([1]), lambda v: v / 4, (0, 4), qr.int(8))",
        "qr.lookup(given([1]), lambda v: v / 4, (0, 4), qr.fixed(16, 4))",
        [0.25],
    ),
    Case(
        "not a number of {}: state dtype=, or round the results",
        "qr.lookup(given([3]), lambda v: v / 4, (0, 4), qr.int(8))",
        "qr.lookup(given([3]), lambda v: np.round(v / 4), (0, 4), qr.int(8))",
        [1],
    ),
    Case(
        "give its lowest number, and the number at which it ends",
        "qr.lookup(given([1]), lambda v: v + 1, 4)",
        "qr.lookup(given([1]), lambda v: v + 1, (0, 4))",
        [2],
    ),
    Case(
        "state a domain= where it has one",
        "qr.lookup(given([1]), lambda v: 12 // int(v), (0, 4))",
        "qr.lookup(given([1]), lambda v: 12 // int(v), (1, 4))",
        [12],
    ),
    Case(
        "state domain=(lowest, end), or bound= of the input",
        "qr.lookup(given([1]), lambda v: v + 1)",
        "qr.lookup(given([1]), lambda v: v + 1, domain=(0, 4))",
        [2],
    ),
    Case(
        "state domain=(lowest, end), or bound= of the input",
        "qr.lookup(given([1]), lambda v: v + 1)",
        "qr.lookup(given([1], bound=3), lambda v: v + 1)",
        [2],
    ),
    Case(
        "lookup of {}, and {}: state one for each",
        "x = given([1]); qr.lookup([x], lambda v: v, [])",
        "x = given([1]); qr.lookup([x], lambda v: v, [(0, 4)])",
        [1],
    ),
]

APPS = [
    Case(
        "nearest: ask for the index, the distance, or both",
        "qr.apps.nearest(mpc, [[1, 9], [8, 0]], [7, 2], index=False, distance=False)",
        "qr.apps.nearest(mpc, [[1, 9], [8, 0]], [7, 2], dtype=qr.uint(8), distance=False)",
        1,
    ),
    Case(
        "coordinates are numbers: state dtype=qr.int(k), qr.uint(k) or qr.fixed(k, f)",
        "qr.apps.nearest(mpc, [[1], [0]], [0], dtype=qr.bit)",
        "qr.apps.nearest(mpc, [[1], [0]], [0], dtype=qr.uint(2))",
        (1, 0),
    ),
    Case(
        "use fewer fractional bits, or a smaller bound=",
        "qr.apps.nearest(mpc, [[1.0], [3.0]], [2.5], dtype=qr.fixed(64, 30), bound=1e6)",
        "qr.apps.nearest(mpc, [[1.0], [3.0]], [2.5], dtype=qr.fixed(64, 8), bound=1e6)",
        (1, 0.25),
    ),
    Case(
        "use fewer fractional bits, or a smaller bound=",
        "qr.apps.nearest(mpc, [[1.0], [3.0]], [2.5], dtype=qr.fixed(64, 26), bound=1e6)",
        "qr.apps.nearest(mpc, [[1.0], [3.0]], [2.5], dtype=qr.fixed(64, 26), bound=4)",
        (1, 0.25),
    ),
    Case(
        "nearest: real numbers do not go into {}: name dtype=qr.fixed(k, f)",
        "qr.apps.nearest(mpc, [[1.5], [3.0]], [2.5], dtype=qr.int(8))",
        "qr.apps.nearest(mpc, [[1.5], [3.0]], [2.5], dtype=qr.fixed(16, 4))",
        (1, 0.25),
    ),
    Case(
        "see dtype= and bound=",
        "qr.apps.nearest(mpc, [[1], [300]], [2], dtype=qr.uint(8))",
        "qr.apps.nearest(mpc, [[1], [300]], [2], dtype=qr.uint(10))",
        (0, 1),
    ),
    Case(
        "powmod: base, exponent and modulus are all public; use Python's pow",
        "qr.apps.powmod(mpc, 3, 4, 7)",
        "pow(3, 4, 7)",
        4,
    ),
    Case(
        "is negative; reduce it first",
        "qr.apps.powmod(mpc, -3, given(4, dtype=qr.uint(4)), 7)",
        "qr.apps.powmod(mpc, -3 % 7, given(4, dtype=qr.uint(4)), 7)",
        4,
    ),
    Case(
        "psi: element {} of a set is an empty text: leave out what is missing",
        "qr.apps.psi(mpc, ['w', ''], ['w', 'x'], texts=True)",
        "qr.apps.psi(mpc, ['w'], ['w', 'x'], texts=True).tolist()[0]",
        "w",
    ),
    Case(
        "psi: a payload is of numbers: state payload_dtype=qr.int(k), uint(k) or fixed(k, f)",
        "qr.apps.psi(mpc, [3, 9], [9, 2], bits=8, payload=[1, 0], payload_dtype=qr.bit)",
        "qr.apps.psi(mpc, [3, 9], [9, 2], bits=8, payload=[1, 0], payload_dtype=qr.int(8))",
        1,
    ),
    Case(
        "see bits=",
        "qr.apps.psi(mpc, [3, 900], [900, 2], bits=8)",
        "qr.apps.psi(mpc, [3, 900], [900, 2], bits=10)",
        [900],
    ),
    Case(
        "{}: party {} is here: give its values",
        "qr.apps.psi(mpc, None, [9, 2], sizes=(2, 2))",
        "qr.apps.psi(mpc, [3, 9], [9, 2], sizes=(2, 2))",
        [9],
    ),
]

NN = [
    Case(
        "a slope of integers has no dtype: convert them first, x.astype(qr.fixed(64, 16))",
        "x = given([-2, 4]); qr.nn.leaky_relu(x, 0.5)",
        "x = given([-2, 4]); qr.nn.leaky_relu({0}, 0.5)",
        [-1.0, 4.0],
        r"first, (x\.astype\(qr\.fixed\(64, 16\)\))",
    ),
    Case(
        "is neither 'same' nor 'valid'; or give numbers",
        "qr.nn.max_pool2d(given([[[[1, 2], [3, 4]]]]), 2, padding='full')",
        "qr.nn.max_pool2d(given([[[[1, 2], [3, 4]]]]), 2, padding=0)",
        [[[[4]]]],
    ),
    Case(
        "max_pool2d: a window lies outside of the image; use less padding",
        "qr.nn.max_pool2d(given([[[[1, 2], [3, 4]]]]), 2, padding=3)",
        "qr.nn.max_pool2d(given([[[[1, 2], [3, 4]]]]), 2, padding=0)",
        [[[[4]]]],
    ),
    Case(
        "avg_pool2d of integers has no dtype: convert them first, x.astype(qr.fixed(64, 16))",
        "x = given([[[[1, 2], [3, 4]]]]); qr.nn.avg_pool2d(x, 2)",
        "x = given([[[[1, 2], [3, 4]]]]); qr.nn.avg_pool2d({0}, 2)",
        [[[[2.5]]]],
        r"first, (x\.astype\(qr\.fixed\(64, 16\)\))",
    ),
    Case(
        "avg_pool2d: a window lies outside of the image; use less padding",
        "qr.nn.avg_pool2d(given([[[[1.0, 2], [3, 4]]]]), 2, padding=2, count_include_pad=False)",
        "qr.nn.avg_pool2d(given([[[[1.0, 2], [3, 4]]]]), 2, padding=0)",
        [[[[2.5]]]],
    ),
    Case(
        "squares have no room; state a bound=",
        "qr.nn.layer_norm(given([[1.0, 3.0]], bound=1e28))",
        "qr.nn.layer_norm(given([[1.0, 3.0]], bound=4))",
        [[-1.0, 1.0]],
        near=1e-3,
    ),
]

LEARN = [
    Case(
        "takes a secret array, not {}: see mpc.input",
        "qr.learn.LinearRegression(epochs=1, batch_size=2).fit([[0.5], [-0.5]], given([0.5, 1.0], bound=1))",
        "qr.learn.LinearRegression(epochs=1, batch_size=2).fit(mpc.input([[0.5], [-0.5]], owner=0, "
        "bound=1), given([0.5, 1.0], bound=1)).n_iter_",
        1,
    ),
    Case(
        "takes secret labels or numbers, not {}: see mpc.input",
        "qr.learn.LinearRegression(epochs=1, batch_size=2).fit(given([[0.5], [-0.5]], bound=1), [0.5, 1.0])",
        "qr.learn.LinearRegression(epochs=1, batch_size=2).fit(given([[0.5], [-0.5]], bound=1), "
        "mpc.input([0.5, 1.0], owner=0, bound=1)).n_iter_",
        1,
    ),
    Case(
        "epochs={} and max_iter={} say one thing: state one of them",
        "qr.learn.LinearRegression(epochs=1, max_iter=2, batch_size=2).fit(*rows)",
        "qr.learn.LinearRegression(max_iter=2, batch_size=2).fit(*rows).n_iter_",
        2,
        before="rows = [given([[0.5], [-0.5]], bound=1), given([0.5, 1.0], bound=1)]",
    ),
    Case(
        "C and alpha say one thing, alpha = 1 / (C records): state one of them",
        "qr.learn.LogisticRegression(classes=2, epochs=1, batch_size=2, C=1.0, alpha=0.5).fit(*rows)",
        "qr.learn.LogisticRegression(classes=2, epochs=1, batch_size=2, alpha=0.5).fit(*rows).n_iter_",
        1,
        before="rows = [given([[0.5], [-0.5]], bound=1), given([0, 1], bound=1)]",
    ),
    Case(
        "labels are whole numbers or bits, not {}: convert with astype",
        "qr.learn.LogisticRegression(epochs=1, batch_size=2, classes=2).fit(given([[0.5], [-0.5]], "
        "bound=1), given([0.0, 1.0]))",
        "qr.learn.LogisticRegression(epochs=1, batch_size=2, classes=2).fit(given([[0.5], [-0.5]], "
        "bound=1), given([0.0, 1.0]).astype(qr.int(8))).n_iter_",
        1,
    ),
    Case(
        "is not fitted yet: call fit(X, y) first",
        "qr.learn.LinearRegression().predict(given([[0.5]], bound=1))",
        "X, y = given([[0.5], [-0.5]], bound=1), given([0.5, 1.0], bound=1); "
        "qr.learn.LinearRegression(epochs=1, batch_size=2).{0}.n_iter_",
        1,
        r"call (fit\(X, y\)) first",
    ),
    Case(
        "sum it up, or state along=",
        "x = given([1.0, 2.0]); qr.learn.gradient(x * x, [x])[0]",
        "x = given([1.0, 2.0]); qr.learn.gradient((x * x).sum(), [x])[0]",
        [2.0, 4.0],
    ),
    Case(
        "compute it again, from a new array of each parameter, w = w + 0",
        "qr.learn.gradient(loss, [w])[0]",
        "{0}; h = w * w; qr.learn.gradient((h * h).sum(), [w])[0]",
        [32.0],
        r"each parameter, (w = w \+ 0)",
        before="w = given([2.0]); h = w * w; loss = (h * h).sum(); loss.reveal(); del h; n = given([1.0]); "
        "m = [n * (i / 7) for i in range(20_000)][:0]; n.reveal(); n.reveal()",
    ),
    Case(
        "gradient takes fixed point, not {}: convert with astype",
        "x = given([1, 2]); qr.learn.gradient((x * x).sum(), [x])[0]",
        "x = given([1, 2]).astype(qr.real); qr.learn.gradient((x * x).sum(), [x])[0]",
        [2.0, 4.0],
    ),
    Case(
        "takes no session: secret arrays know theirs; write model.{}({})",
        "qr.learn.LinearRegression().fit(mpc, [[0.5]], [1.0])",
        "model, X, y = qr.learn.LinearRegression(epochs=1, batch_size=2), given([[0.5], [-0.5]], "
        "bound=1), given([0.5, 1.0], bound=1); {0}.n_iter_",
        1,
        r"write (model\.fit\(X, y\))",
    ),
    Case(
        "State how large features are (bound= of inputs, X.clip(low, high)) and y, scale them to about 1",
        "qr.learn.LinearRegression(epochs=1, batch_size=2).fit(given([[0.5], [-0.5]]), given([0.5, 1.0]))",
        "qr.learn.LinearRegression(epochs=1, batch_size=2).fit(given([[0.5], [-0.5]], bound=1), "
        "given([0.5, 1.0], bound=1)).n_iter_",
        1,
    ),
]

SESSIONS = [
    Case(
        'network {}: give "lan", "wan" or qr.Network(rtt_ms=, mbit=)',
        "mpc.explain(given(3), network=5)",
        "mpc.explain(given(3), network=qr.Network(rtt_ms=5, mbit=100)).network",
        ...,
    ),
    Case(
        "network {} is not known: say lan, wan, or RTT_MS,MBIT (for instance 70,100)",
        "mpc.explain(given(3), network='moon').online.rounds",
        "mpc.explain(given(3), network='{0}').online.rounds",
        2,
        r"for instance (70,100)",
    ),
    Case(
        "write to={} for the party that learns the results",
        "mpc.reveal_all(given(3), 1)",
        "mpc.reveal_all(given(3), {0})",
        [3],
        r"write (to=1) for",
    ),
    Case(
        "write {}(*arrays)",
        "mpc.reveal_all([given(3), given(4)])",
        "arrays = [given(3), given(4)]; mpc.{0}",
        [3, 4],
        r"write (reveal_all\(\*arrays\))",
    ),
    Case("leave it out, it is public", "mpc.reveal_all(given(3), 'name')", "mpc.reveal_all(given(3))", [3]),
    Case(
        "reveal it there",
        "other = qr.local('rss'); x = other.input(3, owner=0); mpc.reveal_all(x)",
        "other = qr.local('rss'); x = other.input(3, owner=0); other.reveal_all(x)",
        [3],
    ),
    Case(
        "explain it there",
        "other = qr.local('rss'); x = other.input(3, owner=0); mpc.explain(x)",
        "other = qr.local('rss'); x = other.input(3, owner=0); (other.explain(x), x)[1]",
        3,
    ),
    Case(
        "input: party {} is here{}: give its values",
        "given(None, shape=2, dtype=qr.int(8))",
        "given([1, 2], shape=2, dtype=qr.int(8))",
        [1, 2],
    ),
    Case("announce: party {} is here: give its number", "mpc.announce(None, owner=0)", "mpc.announce(3, owner=0)", 3),
    Case(
        "compare it with each party's (mpc.me == 0), and tell local sessions by mpc.is_local",
        "[10, 20, 30][mpc.me]",
        "[10 if {0} else 20, mpc.is_local]",
        [10, True],
        r"each party's \((mpc\.me == 0)\)",
    ),
    Case("for a message take {mpc.me!r}", "f'party{mpc.me}.csv'", "f'{{mpc.me!r}}'", ...),
    Case(
        "take 48, or allow_weak",
        "given(3, dtype=qr.int(16)) * 2",
        "given(3, dtype=qr.int(16)) * 2",
        6,
        options="protocol='spdz2k', mac=32|protocol='spdz2k', mac=32, allow_weak=True",
    ),
    Case(
        "take 48, or allow_weak",
        "given(3, dtype=qr.int(16)) * 2",
        "given(3, dtype=qr.int(16)) * 2",
        6,
        options="protocol='spdz2k', mac=32|protocol='spdz2k', mac=48",
    ),
    Case(
        "this session is closed; open a new one",
        "mpc.close(); given(3)",
        "mpc.close(); mpc = qr.local('rss'); mpc.input(3, owner=0)",
        3,
    ),
    Case(
        "list the same words in the same order for both, or write x + 0 for codes as plain numbers",
        "a = mpc.input_frame({'t': ['x']}, owner=0, columns={'t': ['x', 'y']}); "
        "b = mpc.input_frame({'t': ['x']}, owner=1, columns={'t': ['y', 'x']}); a['t'] == b['t']",
        "a = mpc.input_frame({{'t': ['x']}}, owner=0, columns={{'t': ['x', 'y']}}); "
        "b = mpc.input_frame({{'t': ['x']}}, owner=1, columns={{'t': ['x', 'y']}}); a['t'] == b['t']",
        [True],
    ),
    Case(
        "list the same words in the same order for both, or write x + 0 for codes as plain numbers",
        "a = mpc.input_frame({'t': ['x']}, owner=0, columns={'t': ['x', 'y']}); "
        "b = mpc.input_frame({'t': ['x']}, owner=1, columns={'t': ['y', 'x']}); a['t'] == b['t']",
        "a = mpc.input_frame({{'t': ['x']}}, owner=0, columns={{'t': ['x', 'y']}}); "
        "b = mpc.input_frame({{'t': ['x']}}, owner=1, columns={{'t': ['y', 'x']}}); "
        "(a['t'] + 0) == (b['t'] + 0)",
        [False],
    ),
    Case(
        "allow more, let go of arrays (del), or run the computation in parts",
        "x = given(np.zeros(10**5)); x * x",
        "x = given(np.zeros(10**5)); (x * x)[0]",
        0.0,
        options="max_memory='100KB'|max_memory='100MB'",
    ),
    Case(
        "give one array of bits for each",
        "mpc.run_circuit(qr.Circuit.from_text('1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n'), given([True]))",
        "mpc.run_circuit(qr.Circuit.from_text('1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n'), "
        "given([True]), given([True]))",
        [True],
    ),
    Case("{} by zero has no value: check the divisors", "given([3.0]) / 0.0", "given([3.0]) / 2.0", [1.5]),
    Case(
        "cannot prove a choice of one: let another party input it",
        "mpc.input([0, 1], owner=2).assert_one_hot()",
        "mpc.input([0, 1], owner=1).assert_one_hot()",
        [0, 1],
        options="protocol='pika', malicious=True",
    ),
    Case(
        "state the columns, such as columns={",
        "mpc.input_frame({'age': [1]}, owner=0, columns={})",
        "mpc.input_frame({{'age': [1]}}, owner=0, {0})['age']",
        [1],
        r"such as (columns=\{.*\}) \(",
    ),
]

AND = "two = qr.Circuit.from_text('2 6\\n2 2 2\\n1 2\\n\\n2 1 0 2 4 AND\\n2 1 1 3 5 AND\\n')"
X_Y = "X, y = given([[0.5], [-0.5]], bound=1), given([0, 1])"

MORE = [
    Case(
        "mpc.where(mask, x, v) puts what changes nothing in place of elements that do not count",
        "np.max(x, where=mask, initial=0)",
        "{0}.max()",
        3,
        r"where=: (mpc\.where\(mask, x, v\))",
        "x, mask, v = given([3, 5]), np.array([True, False]), 0",
    ),
    Case("reveal first", "np.trim_zeros(given([0, 3]))", "np.trim_zeros(given([0, 3]).reveal())", [3]),
    Case(
        "say which there are: classes=3 for 0, 1 and 2, or classes=[1, 2, 5]",
        "qr.learn.LogisticRegression(epochs=1, batch_size=2).fit(X, y)",
        "qr.learn.LogisticRegression(epochs=1, batch_size=2, classes=2).fit(X, y).n_iter_",
        1,
        before=X_Y,
    ),
    Case(
        "the model was fitted in another session; reveal it there",
        "m.predict(qr.local('rss').input([[0.5]], owner=0, bound=1))",
        "m.reveal().predict(np.array([[0.5]])).shape",
        (1,),
        before=X_Y + "; m = qr.learn.LinearRegression(epochs=1, batch_size=2).fit(X, given([0.5, 1.0], bound=1))",
    ),
    Case(
        "the last axis is its wires, the axes before it the batch",
        "mpc.run_circuit(two, given([[True], [True]]), given([True, True]))",
        "mpc.run_circuit(two, given([[True, False], [True, True]]), given([True, True]))",
        [[True, False], [True, True]],
        before=AND,
    ),
    Case(
        "takes bits, not {}: x.bits() gives the bits of numbers, lowest first",
        "x = given(3, dtype=qr.uint(2)); mpc.run_circuit(two, x.reshape(1), [True, True])",
        "x = given(3, dtype=qr.uint(2)); mpc.run_circuit(two, {0}, [True, True])",
        [True, True],
        r"(x\.bits\(\)) gives",
        AND,
    ),
    Case(
        "allow more, let go of arrays (del), or run the computation in parts",
        "x = given(np.zeros(10**5)); x * x",
        "x = given(np.zeros(10**5)); (x * x)[:100].sum()",
        0.0,
        options="max_memory='100KB'|max_memory='50MB'",
    ),
]

CASES = [*MORE, *NUMPY, *LOOKUPS, *APPS, *NN, *LEARN, *SESSIONS]
