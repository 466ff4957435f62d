"""Puts the form's files into one folder that any web server can serve, and prints their hashes.

    python clients/form/build.py --campaign wages.json --out dist/form      # `make form CAMPAIGN=wages.json`

The page of a campaign may connect to the campaign's servers alone, by its policy. Without a campaign, put one beside
the page as `campaign.json`: the policy then allows all of https until the page has read it. Each file that the page
loads is named with its hash (`integrity`), so that a changed one is not run.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parent / "js"
_FORM = ("about", "fields", "form", "giving", "identity", "numbers", "parts", "receipt", "result", "show", "status")
_CLIENT = ("bytes", "packets", "quorate", "tagged", "words")
_ANY = "connect-src 'self' https:;"


class _Wrong(Exception):
    """A file that cannot be used; the message is for the user."""


def files(campaign: bytes | None, texts: bytes) -> dict[str, bytes]:
    """Returns the content of each file of the folder by its name.

    Args:
        campaign: the campaign's canonical JSON, or None.
        texts: the texts of the page, as `texts.js`.
    """
    made = {f"{name}.js": (HERE / f"{name}.js").read_bytes().replace(b"../js/", b"./") for name in _FORM}
    made |= {f"{name}.js": (CLIENT / f"{name}.js").read_bytes() for name in _CLIENT}
    made |= {"texts.js": texts, "form.css": (HERE / "form.css").read_bytes()}
    page = (HERE / "index.html").read_text(encoding="utf-8")
    if campaign is not None:
        made["campaign.json"] = campaign
        page = _replaced(page, _ANY, f"connect-src 'self' {' '.join(_origins(campaign))};")
    named = {name: _integrity(data) for name, data in made.items()}
    page = _replaced(page, 'href="form.css"', f'href="form.css" integrity="{named["form.css"]}"')
    others = "".join(
        f'<link rel="modulepreload" href="{name}" integrity="{named[name]}">\n'
        for name in sorted(named)
        if name.endswith(".js") and name != "form.js"
    )
    script = '<script type="module" src="form.js"'
    page = _replaced(page, script, f'{others}{script} integrity="{named["form.js"]}"')
    return {**made, "index.html": page.encode()}


def _replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise _Wrong(f"index.html must have {old!r} once. Take the file of this release.")
    return text.replace(old, new)


def _integrity(data: bytes) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(data).digest()).decode()


def _origins(campaign: bytes) -> list[str]:
    """Returns the origins of the campaign's servers, or all of https where a policy cannot name one of them."""
    try:
        urls = [urllib.parse.urlsplit(server["url"]) for server in json.loads(campaign)["servers"]]
    except (ValueError, KeyError, TypeError):
        raise _Wrong("The campaign is not the file that `quorate campaign create` writes. Give that file.") from None
    if any(url.netloc.startswith("[") for url in urls):
        return ["https:"]
    return [f"{url.scheme}://{url.netloc}" for url in urls]


def sums(made: dict[str, bytes]) -> str:
    """Returns a line for each file, as `sha256sum *` prints them."""
    return "".join(f"{hashlib.sha256(made[name]).hexdigest()}  {name}\n" for name in sorted(made))


def write(folder: Path, made: dict[str, bytes]) -> None:
    """Writes the files into a folder, from which files of an earlier build are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.suffix in (".js", ".css", ".html", ".json"):
            path.unlink()
    for name, data in made.items():
        (folder / name).write_bytes(data)


def main() -> int:
    """Writes the folder and prints its hashes; the exit status is 2 if a file cannot be used."""
    parser = argparse.ArgumentParser(description="the form for a campaign's clients, in one folder")
    parser.add_argument("--campaign", type=Path, help="the file that `quorate campaign create` wrote")
    parser.add_argument("--texts", type=Path, default=HERE / "texts.js", help="a translation of texts.js")
    parser.add_argument("--out", type=Path, required=True, help="the folder")
    options = parser.parse_args()
    try:
        campaign = options.campaign.read_bytes() if options.campaign else None
        made = files(campaign, options.texts.read_bytes())
        write(options.out, made)
    except _Wrong as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename} cannot be used: {error.strerror}.", file=sys.stderr)
        return 2
    lines = sums(made)
    print(f"{lines}{hashlib.sha256(lines.encode()).hexdigest()}  of these lines, as `sha256sum * | sha256sum`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
