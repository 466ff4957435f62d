"""How docstrings of this project are read for the reference: `Example:` heads code, as `Examples:` does elsewhere."""

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Renames the section before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
