"""Asks the server of this container whether it lives; the exit status is 0 if it does.

    python healthy.py [https://127.0.0.1:9443/healthz]

The certificate is not compared: the answer is used for nothing but this, and comes from this container.
"""

from __future__ import annotations

import ssl
import sys
import urllib.request

SECONDS = 5


def is_healthy(url: str) -> bool:
    """Returns whether the server answers with status 200 in time."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=SECONDS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(not is_healthy(sys.argv[1] if len(sys.argv) > 1 else "https://127.0.0.1:9443/healthz"))
