"""A run as one page of HTML that needs nothing else: figures, a chart by kind, each hole, and its denoising step by step."""

from __future__ import annotations

import html
import json
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #1c2024; background: #fff }
table { border-collapse: collapse } td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left } pre { background: #f5f6f8; padding: .5em; white-space: pre-wrap; margin: .3em 0 }
.good { color: #18794e } .bad { color: #c62a2f } details { border-bottom: 1px solid #ddd; padding: .4em 0 } summary { cursor: pointer }
.steps { display: flex; gap: .8em; align-items: center } .steps input { flex: 1 } svg text { font-size: 13px; fill: currentColor }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #16181c } pre { background: #22252b } td, th, details { border-color: #444 } }
"""
# Drafts come as data, and go onto the page as text alone.
_SCRIPT = """
const drafts = JSON.parse(document.getElementById('drafts').textContent);
document.querySelectorAll('.steps').forEach((box) => {
  const steps = drafts[box.dataset.hole], slider = box.querySelector('input'), at = box.querySelector('output');
  const canvas = box.nextElementSibling;
  const show = (n) => { slider.value = n; canvas.textContent = steps[n]; at.textContent = `step ${n + 1} of ${steps.length}`; };
  slider.max = steps.length - 1;
  slider.addEventListener('input', () => show(Number(slider.value)));
  box.querySelector('button').addEventListener('click', () => {
    let n = 0; show(0);
    const timer = setInterval(() => { n += 1; if (n >= steps.length) clearInterval(timer); else show(n); }, 250);
  });
  show(steps.length - 1);
});
"""


def render(report: dict[str, Any], drafts: list[list[str]]) -> str:
    """drafts: of each hole, the draft after each step."""
    title = f"midfill check: {report['count']} holes, {report['model']}"
    verdict = (
        "".join(f'<li class="bad">{_text(line)}</li>' for line in report["missed"])
        or '<li class="good">all thresholds are kept</li>'
    )
    holes = "".join(_hole(number, hole, drafts[number]) for number, hole in enumerate(report["holes"]))
    # "</script>" in a draft must not end the script
    data = json.dumps(drafts).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><h1>{_text(title)}</h1><p>{report['files']} files, seed {report['seed']}</p><ul>{verdict}</ul>"
        f"{_table(report)}<h2>Exact answers by kind</h2>{_chart(report)}<h2>Holes</h2>{holes}"
        f'<script type="application/json" id="drafts">{data}</script><script>{_SCRIPT}</script></body></html>\n'
    )


def _table(report: dict[str, Any]) -> str:
    keys = ["exact", "layout", "similarity", "empty", *(["pass"] if report.get("pass") is not None else [])]
    head = "".join(f"<th>{name}</th>" for name in ("", "holes", *keys, "breaks", "ms p50", "ms p95"))
    rows = []
    for name, figures in [*report["by_kind"].items(), ("all", report)]:
        cells = [figures["count"], *(_rate(figures.get(key)) for key in keys), figures["breaks"]]
        cells += ["-" if value is None else f"{value:.0f}" for value in figures["ms"].values()]
        rows.append(f"<tr><td>{_text(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _chart(report: dict[str, Any]) -> str:
    bars = []
    for number, (name, figures) in enumerate(report["by_kind"].items()):
        y, share = number * 26, figures["exact"] or 0.0
        bars.append(
            f'<text x="0" y="{y + 15}">{_text(name)}</text><rect x="110" y="{y + 2}" width="{400 * share:.0f}" height="18" fill="#3e63dd"/>'
            f'<rect x="110" y="{y + 2}" width="400" height="18" fill="none" stroke="#8889"/><text x="520" y="{y + 15}">{share:.0%} of {figures["count"]}</text>'
        )
    return f'<svg role="img" aria-label="exact answers by kind" width="640" height="{26 * len(bars)}">{"".join(bars)}</svg>'


def _hole(number: int, hole: dict[str, Any], drafts: list[str]) -> str:
    said = (
        "breaks the syntax"
        if hole["breaks"]
        else "exact"
        if hole["exact"]
        else "same code"
        if hole["layout"]
        else "empty"
        if hole["empty"]
        else f"similarity {hole['similarity']:.2f}"
    )
    if hole.get("passed") is not None:
        said += ", tests pass" if hole["passed"] else ", tests fail"
    good = not hole["breaks"] and (hole["exact"] or hole["layout"] or hole.get("passed"))
    player = (
        f'<div class="steps" data-hole="{number}"><button>Play</button><input type="range" min="0" value="0" aria-label="step"><output></output></div><pre></pre>'
        if drafts
        else ""
    )
    return (
        f'<details><summary>{_text(hole["path"])}:{hole["line"]}, {_text(hole["kind"])}: <span class="{"good" if good else "bad"}">{said}</span>, '
        f"{hole['confidence']:.0%} sure, {hole['ms']:.0f} ms</summary>expected<pre>{_text(hole['expected'])}</pre>"
        f"filled<pre>{_text(hole['text'])}</pre>{player}</details>"
    )


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _text(text: str) -> str:
    return html.escape(text)
