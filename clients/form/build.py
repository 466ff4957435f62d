"""Puts the form's files into one folder that any web server can serve, and prints their hashes.

    python clients/form/build.py --campaign wages.json --out dist/form      # `make form CAMPAIGN=wages.json`

The page of a campaign may connect to the campaign's servers alone, by its policy. Without a campaign, put one beside
the page as `campaign.json`: the policy then allows all of https until the page has read it. Each file that the page
loads is named with its hash (`integrity`), so that a changed one is not run. `.sha256sums` lists the hashes of all
files, by which a later build finds those that it may replace. All other files of the folder stay.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parent / "js"
_FORM = ("about", "fields", "form", "giving", "identity", "numbers", "parts", "receipt", "result", "show", "status")
_CLIENT = ("bytes", "packets", "quorate", "tagged", "words")
_ANY = "connect-src 'self' https:;"
_SUMS = ".sha256sums"

#: The addresses that a campaign may name, as `quorate_client.campaign` reads them; group 1 is the origin.
_ADDRESS = re.compile(
    r"(https://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{0,4})?)(?:/[A-Za-z0-9._~-]+)*", re.ASCII
)
_SUM = re.compile(r"[0-9a-f]{64}  ([A-Za-z0-9_]+\.(?:js|css|html|json))")


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
        found = [_ADDRESS.fullmatch(server["url"]) for server in json.loads(campaign)["servers"]]
    except (ValueError, KeyError, TypeError):
        found = []
    origins = [one[1] for one in found if one]
    if not origins or len(origins) < len(found):
        raise _Wrong("The campaign is not the file that `quorate campaign create` writes. Give that file.")
    return ["https:"] if any("[" in origin for origin in origins) else origins


def sums(made: dict[str, bytes]) -> str:
    """Returns a line for each file, as `sha256sum *` prints them."""
    return "".join(f"{hashlib.sha256(made[name]).hexdigest()}  {name}\n" for name in sorted(made))


def write(folder: Path, made: dict[str, bytes]) -> None:
    """Writes the files into a folder, with `.sha256sums`, and removes what an earlier build has written there.

    The files are written beside the folder first, and each takes its place whole: `index.html` after what it loads.

    Raises:
        _Wrong: the folder has a file of one of the names, and no earlier build has written it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    earlier = _earlier(folder)
    foreign = sorted(name for name in made if (folder / name).exists() and name not in earlier)
    if foreign:
        raise _Wrong(f"{folder} has files that are not of an earlier build: {', '.join(foreign)}. Name another folder.")
    both = sums(made) + sums({name: (folder / name).read_bytes() for name in earlier})
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.resolve().parent))
    try:
        for name, data in made.items():
            (beside / name).write_bytes(data)
        _put(beside, folder, _SUMS, both.encode())  # for the next build, should this one be interrupted
        for name in (*sorted(made.keys() - {"index.html"}), "index.html"):
            os.replace(beside / name, folder / name)
        for name in earlier - made.keys():
            (folder / name).unlink(missing_ok=True)
        _put(beside, folder, _SUMS, sums(made).encode())
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _put(beside: Path, folder: Path, name: str, data: bytes) -> None:
    (beside / name).write_bytes(data)
    os.replace(beside / name, folder / name)


def _earlier(folder: Path) -> set[str]:
    """Returns the names of the files that an earlier build has written, and that have not changed since."""
    path = folder / _SUMS
    lines = set(path.read_text(encoding="utf-8", errors="replace").splitlines()) if path.is_file() else set()
    names = {found[1] for line in lines if (found := _SUM.fullmatch(line)) and (folder / found[1]).is_file()}
    return {name for name in names if sums({name: (folder / name).read_bytes()}).rstrip("\n") in lines}


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
