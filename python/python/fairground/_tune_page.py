"""A tuner's result in a notebook: the front and the importance as pictures, and the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 460, 280, 70, 40
_COLOURS = {"default": "#c0392b", "front": "#1f6fb2", "done": "#8a8f98", "pruned": "#d5d8dc"}


def _scale(values: Sequence[float], low_at: float, high_at: float) -> tuple[float, float]:
    """Factor and offset that bring these values to the picture, with a twentieth of room at each end."""
    low, high = min(values), max(values)
    room = (high - low) / 20 or abs(high) / 20 or 1.0
    factor = (high_at - low_at) / (high - low + 2 * room)
    return factor, low_at - factor * (low - room)


def _kind(row: Mapping[str, Any]) -> str:
    return "default" if row["trial"] == 0 else "front" if row["front"] else str(row["state"])


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" fill="currentColor" {more}>{escape(text)}</text>'


def _points(trials: Sequence[Mapping[str, Any]], front: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> str:
    """Trials by the first two objectives; with one objective by their order."""
    across, up = (metrics[0], metrics[1]) if len(metrics) > 1 else ("trial", metrics[0])
    shown = [row for row in trials if row["state"] != "failed"]
    fx, ox = _scale([float(row[across]) for row in shown], _LEFT, _WIDTH - 10)
    fy, oy = _scale([float(row[up]) for row in shown], _HEIGHT - _BOTTOM, 24)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="trials and front">']
    parts.append(f'<path d="M{_LEFT} 24V{_HEIGHT - _BOTTOM}H{_WIDTH - 10}" fill="none" stroke="currentColor" stroke-width="1"/>')
    for values, axis in (([float(row[across]) for row in shown], "x"), ([float(row[up]) for row in shown], "y")):
        for value in sorted({min(values), max(values)}):
            if axis == "x":
                parts.append(_text(fx * value + ox, _HEIGHT - _BOTTOM + 14, f"{value:.4g}", 'text-anchor="middle"'))
            else:
                parts.append(_text(_LEFT - 5, fy * value + oy + 4, f"{value:.4g}", 'text-anchor="end"'))
    parts.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 8, across, 'text-anchor="middle"'))
    parts.append(_text(4, 14, up))
    if len(metrics) > 1 and len(front) > 1:
        line = " ".join(f"{fx * row[across] + ox:.1f},{fy * row[up] + oy:.1f}" for row in front)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{_COLOURS["front"]}" stroke-width="1.5"/>')
    for row in sorted(shown, key=lambda row: ("pruned", "done", "front", "default").index(_kind(row))):
        title = escape(", ".join(f"{key} {value}" for key, value in row.items() if value is not None and key not in ("front", "why")))
        at = f'cx="{fx * row[across] + ox:.1f}" cy="{fy * row[up] + oy:.1f}"'
        parts.append(f'<circle {at} r="4" fill="{_COLOURS[_kind(row)]}"><title>{title}</title></circle>')
    parts.append("</svg>")
    words = {"default": "the default", "front": "on the front", "done": "finished", "pruned": "stopped early"}
    legend = " ".join(f'<span style="color:{_COLOURS[kind]}">●</span> {word}' for kind, word in words.items())
    return "".join(parts) + f"<div><small>{legend}</small></div>"


def _bars(importance: Sequence[Mapping[str, Any]]) -> str:
    if not importance:
        return ""
    height = 20 * len(importance) + 10
    parts = [f'<svg viewBox="0 0 640 {height}" width="640" role="img" aria-label="importance of each axis">']
    for place, row in enumerate(importance):
        y = 20 * place + 4
        parts.append(_text(4, y + 12, f"{row['axis']} for {row['objective']}"))
        parts.append(f'<rect x="400" y="{y}" width="{180 * row["share"]:.1f}" height="14" fill="{_COLOURS["front"]}"/>')
        parts.append(_text(405 + 180 * row["share"], y + 12, f"{100 * row['share']:.0f} %"))
    return "<h4>Importance</h4>" + "".join(parts) + "</svg>"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    names = [name for name in rows[0] if name not in ("front", "why")]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in names) + "</tr>" for row in rows)
    return f"<h4>{title}</h4><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def page(
    summary: str,
    trials: Sequence[Mapping[str, Any]],
    front: Sequence[Mapping[str, Any]],
    importance: Sequence[Mapping[str, Any]],
    check: Sequence[Mapping[str, Any]],
    metrics: Sequence[str],
) -> str:
    """The result as HTML."""
    parts = [f'<pre style="white-space:pre-wrap">{escape(summary)}</pre>', _points(trials, front, metrics), _bars(importance)]
    return "<div>" + "".join(parts) + _table("Check", check) + _table("Front", front) + "</div>"
