"""The examples of the documentation's pages run, each page from top to bottom in one go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN = {"applications.md": 4, "data.md": 4, "models.md": 2, "numbers.md": 3}
"""How many examples each page has at least."""


@pytest.mark.parametrize("page", RUN)
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(blocks) >= RUN[page]
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{page}, example {number}", "exec"), names)
