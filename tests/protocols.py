"""Which protocol a test runs on, by the number of parties: what holds for one must hold for all."""

from __future__ import annotations

from typing import Any

import quorate as qr


def among(parties: int, **options: Any) -> qr.Session:
    """A local session of so many parties: two under `aby`, more under `rss`.

    What wraps is part of what is compared, so values are not held to their dtypes unless `check=True` is asked for.
    """
    return qr.local("aby" if parties == 2 else "rss", parties=parties, **{"check": False, **options})
