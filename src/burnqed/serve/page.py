"""The OpenAPI document as one HTML page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
code, pre { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .88em; }
h2 { font-size: 1.2rem; }
pre { background: #f3f3f0; padding: .7rem 1rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; }
tr + tr > * { border-top: 1px solid #e3e3e0; }
th[scope=row] { font-weight: normal; white-space: nowrap; width: 9rem; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #181818; } pre { background: #262626; }
  a { color: #9bf; } tr + tr > *, h2 { border-color: #444; }
}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'"


def page(document: Mapping[str, Any]) -> str:
    info = document["info"]
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    operations = [
        _operation(f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    title = f"{info['title']} {info['version']}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><h1>{_text(title)}</h1>"
        f'<p>{_prose(info["description"])} As a file: <a href="/openapi.json">openapi.json</a>.</p>'
        f"{''.join(operations)}<h2>What is sent</h2>"
        f"{''.join(_schema(name, schema) for name, schema in schemas.items())}</body></html>"
    )


def _operation(head: str, operation: Mapping[str, Any]) -> str:
    parts = [f"<h2><code>{_text(head)}</code></h2><p>{_prose(operation['summary'])}</p>"]
    for body in operation.get("requestBody", {}).get("content", {}).values():
        example = json.dumps(body["example"], ensure_ascii=False)
        parts.append(f"<p>Takes {_kind(body['schema'])}:</p><pre>{_text(example)}</pre>")
    rows = [
        (status, _prose(answer["description"]) if int(status) >= 400 else _answer(answer))
        for status, answer in operation["responses"].items()
    ]
    return "".join(parts) + _table(rows)


def _answer(answer: Mapping[str, Any]) -> str:
    kinds = (f"{_kind(one['schema'])} ({media})" for media, one in answer.get("content", {}).items())
    return ", or ".join(kinds) or "nothing"


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    about = "".join(f"<p>{_prose(p)}</p>" for p in schema.get("description", "").split("\n\n") if p)
    asked = schema.get("additionalProperties") is False  # an answer has all its fields
    optional = schema.get("properties", {}).keys() - schema.get("required", ()) if asked else ()
    rows = [
        (field, f"{_kind(one)}{', optional' if field in optional else ''}. {_prose(_described(one))}")
        for field, one in schema.get("properties", {}).items()
    ]
    return f'<h3 id="{_text(name)}">{_text(name)}</h3>{about}{_table(rows)}'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = (
        f'<tr><th scope="row"><code>{_text(name)}</code></th><td>{cell}</td></tr>'
        for name, cell in rows
    )
    return f"<table>{''.join(lines)}</table>"


def _described(schema: Mapping[str, Any]) -> str:
    inner = [one.get("description", "") for one in schema.get("anyOf", ()) if "$ref" not in one]
    return str(schema.get("description", "") or " ".join(inner))


def _kind(schema: Mapping[str, Any]) -> str:
    """A type in words, with a link where it has a description of its own."""
    if "$ref" in schema:
        name = _text(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "enum" in schema:
        return " or ".join(f"<code>{_text(json.dumps(one))}</code>" for one in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(map(_kind, schema[several]))
    if schema.get("type") == "array":
        return f"array of {_kind(schema['items']) if schema.get('items') else 'anything'}"
    bounds = {"minimum": "at least", "maximum": "at most", "minLength": "letters: at least"}
    said = [f"{words} {schema[key]:g}" for key, words in bounds.items() if key in schema]
    return ", ".join([_text(schema.get("type", "anything")), *said])


def _prose(text: str) -> str:
    """A docstring: words in backticks are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(" ".join(text.split())))


def _text(text: str) -> str:
    return html.escape(str(text))
