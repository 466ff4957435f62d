"""The folder of the form: what a build replaces, what it leaves, and which campaigns it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forming import FORM, build

TEXTS = (FORM / "texts.js").read_bytes()


def test_a_build_leaves_the_files_of_others(tmp_path: Path) -> None:
    module, folder = build(), tmp_path / "www"
    folder.mkdir()
    for name in ("other.json", "site.css", "page.html", "theirs.js"):
        (folder / name).write_text("theirs")
    module.write(folder, module.files(None, TEXTS) | {"old.js": b"of the earlier release"})
    module.write(folder, module.files(None, TEXTS + b"\n"))
    assert (folder / "texts.js").read_bytes() == TEXTS + b"\n"
    assert {path.read_text() for path in folder.glob("*") if path.name in ("other.json", "site.css")} == {"theirs"}
    assert (folder / "page.html").exists() and (folder / "theirs.js").exists() and not (folder / "old.js").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["www"]


@pytest.mark.parametrize("name", ["index.html", "texts.js"])
def test_a_build_refuses_a_folder_with_another_site(tmp_path: Path, name: str) -> None:
    module = build()
    (tmp_path / name).write_text("theirs")
    with pytest.raises(module._Wrong, match=f"not of an earlier build: {name}"):
        module.write(tmp_path, module.files(None, TEXTS))
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "theirs"


def test_a_build_that_was_interrupted_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, folder = build(), tmp_path / "www"
    module.write(folder, module.files(None, TEXTS))
    replace, done = module.os.replace, []

    def fail(one: Path, other: Path) -> None:
        if len(done) == 9:
            raise OSError(28, "No space left on device", str(other))
        done.append(replace(one, other))

    with monkeypatch.context() as patched:
        patched.setattr(module.os, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            module.write(folder, module.files(None, TEXTS + b"\n"))
    made = module.files(None, TEXTS + b"\n\n")
    module.write(folder, made)
    assert {path.name: path.read_bytes() for path in folder.glob("[a-z]*")} == made
    assert [path.name for path in tmp_path.iterdir()] == ["www"]


@pytest.mark.parametrize(
    "url",
    [
        'https://x"><meta http-equiv=refresh content="0;url=https://evil.example">',
        "https://x; script-src *",
        "https://x *",
        "http://x",
        "https://user@x",
        "https://x\n",
        "https://",
        "data:x",
        7,
    ],
)
def test_addresses_that_no_campaign_has_are_refused(url: object) -> None:
    module = build()
    with pytest.raises(module._Wrong, match="not the file that `quorate campaign create` writes"):
        module.files(json.dumps({"servers": [{"url": "https://one.example"}, {"url": url}]}).encode(), TEXTS)


def test_the_policy_has_the_origins_of_servers() -> None:
    module = build()
    for urls, policy in (
        (["https://one.example:9443/path", "https://two.example"], "https://one.example:9443 https://two.example"),
        (["https://one.example", "https://[2001:db8::1]:9443"], "https:"),
    ):
        data = json.dumps({"servers": [{"url": url} for url in urls]}).encode()
        assert f"connect-src 'self' {policy};".encode() in module.files(data, TEXTS)["index.html"]
