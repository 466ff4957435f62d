"""Private set intersection, and the nearest record, of the customers of two parties.

    python examples/match.py                                  # all parties in this process
    quorate run examples/match.py                             # a process for each, over TLS on this machine
    quorate party examples/match.py --config party.toml       # one party of a deployment
    quorate explain examples/match.py --network wan           # what it would cost

Parties 0 and 1 have customers; party 1 also has the amount that each of its customers spent. Both learn the number of
shared customers and the sum of their amounts. Party 1 alone learns which customers are shared. Then party 1 finds the
profile of party 0 that is nearest to a profile of its own, without showing that profile. The numbers of customers are
public: --customers 1000, the same at all parties.
"""

import argparse

import numpy as np

import quorate as qr

PROFILE = qr.uint(10)  # each number of a profile is from 0 to 1023


def customers(party, count):
    """Returns a party's customers: identifiers of 32 bits, the amount that each spent, and the profile of each."""
    rng = np.random.default_rng(party)
    common = np.random.default_rng(7).choice(2**32, count, replace=False)[: count // 4]
    names = np.unique(np.concatenate([common, rng.choice(2**32, 2 * count, replace=False)]))
    names = np.concatenate([common, np.setdiff1d(names, common)])[:count]
    return names, rng.integers(0, 5000, count), rng.integers(0, 1024, (count, 8))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--customers", type=int, default=500)
    count = parser.parse_args().customers

    with qr.session() as mpc:
        # At a party that does not have the values, only sizes and dtypes are used.
        own = [customers(party, count) if mpc.me == party else (None, None, None) for party in (0, 1)]
        sets = {"sizes": (count, count), "bits": 32}
        told = qr.apps.psi(
            mpc, own[0][0], own[1][0], **sets, cardinality=True, payload=own[1][1], payload_dtype=qr.int(32)
        )
        shared = qr.apps.psi(mpc, own[0][0], own[1][0], **sets, reveal_to=1)
        wanted = None if own[1][2] is None else own[1][2][0]
        found = qr.apps.nearest(mpc, own[0][2], wanted, shapes=((count, 8), (8,)), dtype=PROFILE)
        if isinstance(told, tuple):
            print("shared customers, and what they spent:", *told)
        if isinstance(shared, np.ndarray):
            print("the first of them:", *shared[:3])
        if isinstance(found, tuple):
            print("the most similar profile is number", found[0], "at a squared distance of", found[1])
        print(mpc.stats())


if __name__ == "__main__":
    main()
