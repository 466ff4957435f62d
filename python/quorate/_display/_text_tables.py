"""Small tables, as text for terminals and as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["bars", "counted", "html_table", "number_bytes", "paragraph", "seconds", "text_table"]

# Transparent colours suit light and dark pages.
_BAR = "rgba(80,140,210,0.32)"
_CELL = "padding:1px 10px;white-space:nowrap;text-align:{align};color:inherit;background:{back}"


def seconds(value: float) -> str:
    """Formats a time in a suitable unit.

    >>> seconds(0.00123), seconds(2.5), seconds(0)
    ('1.23 ms', '2.5 s', '0 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return "0 s" if value <= 0 else f"{value * 1e6:.2g} us"


def number_bytes(value: float) -> str:
    """Formats a number of bytes in a suitable unit.

    >>> number_bytes(999), number_bytes(12_345_678)
    ('999 B', '12.3 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def counted(count: int, what: str) -> str:
    """Formats a count with its noun, in the singular or plural.

    >>> counted(1, "round"), counted(1200, "round"), counted(2, "entry")
    ('1 round', '1,200 rounds', '2 entries')
    """
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    r"""Returns the lines of a table; the first `left` columns, and a last one without a head, are flush left.

    >>> print(*text_table(["name", "n"], [["x", "10"], ["long name", "3"]]), sep="\n")
    name        n
    x          10
    long name   3
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        flush = [i < left or (i == len(head) - 1 and not head[i].strip()) for i in range(len(row))]
        return "  ".join(c.ljust(w) if f else c.rjust(w) for c, w, f in zip(row, widths, flush, strict=True)).rstrip()

    return [line(row) for row in [head, *rows]]


def bars(values: Sequence[float]) -> list[float]:
    """Returns the values as shares of the largest one, for the bars of a column.

    >>> bars([1, 4, 0])
    [0.25, 1.0, 0.0]
    """
    largest = max(values, default=0)
    return [value / largest if largest > 0 else 0.0 for value in values]


def paragraph(text: str, strong: str = "") -> str:
    """Returns an HTML paragraph of plain text, with an optional beginning in bold."""
    start = f"<b>{html.escape(strong)}</b>" if strong else ""
    return f'<p style="margin:4px 0;color:inherit">{start}{html.escape(text)}</p>'


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], shares: Sequence[Sequence[float | None]] = (), left: int = 1
) -> str:
    """Returns an HTML table of plain text; `shares`, from 0 to 1 or None, draws bars behind its cells.

    >>> "&lt;b&gt;" in html_table(["x"], [["<b>"]])
    True
    """

    def cell(tag: str, text: str, at: int, share: float | None) -> str:
        back = "transparent"
        if share is not None and share > 0:
            back = f"linear-gradient(to right,{_BAR} {100 * share:.1f}%,transparent {100 * share:.1f}%)"
        align = "left" if at < left or (at == len(head) - 1 and not head[at].strip()) else "right"
        style = _CELL.format(align=align, back=back)
        return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'

    def line(tag: str, row: Sequence[str], own: Sequence[float | None]) -> str:
        own = own or [None] * len(row)
        return "<tr>" + "".join(cell(tag, text, i, own[i]) for i, text in enumerate(row)) + "</tr>"

    body = "".join(line("td", row, shares[i] if i < len(shares) else ()) for i, row in enumerate(rows))
    style = "border-collapse:collapse;font-size:90%;background:transparent;color:inherit;margin:6px 0"
    return f'<table style="{style}"><thead>{line("th", head, ())}</thead><tbody>{body}</tbody></table>'
