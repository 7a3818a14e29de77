"""GET /docs: the OpenAPI document as one page without a script, which asks nobody for anything.

Its styles are within it, and the policy names their digest. Imported when somebody opens it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Collection, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from handler.docs_shapes import Shapes

Json = Mapping[str, Any]

POLICY = (
    "default-src 'none'; style-src 'sha256-{}'; img-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: the API</title>
<link rel="icon" href="static/docs/icon.svg" type="image/svg+xml">
<style>{style}</style>
</head>
<body>
<header>
<h1>{title} <small>{version}</small></h1>
<p>{description} As a program reads it: <a href="openapi.json">openapi.json</a>. <a href="./">The page</a>.</p>
<nav aria-label="Routes"><ul>{links}</ul></nav>
</header>
<main>{routes}</main>
</body>
</html>
"""
ROUTE = """
<section id="{id}">
<h2><span class="method {method}">{method}</span> <code>{path}</code></h2>
<p>{summary}</p>
<pre tabindex="0"><code>{curl}</code></pre>
{more}</section>"""


@cache
def style() -> str:
    return (Path(__file__).parent / "docs.css").read_text(encoding="utf-8")


def policy() -> str:
    """The Content-Security-Policy: the page's own styles, the icon of this origin, and nothing else."""
    return POLICY.format(base64.b64encode(hashlib.sha256(style().encode()).digest()).decode())


def page(document: Json, url: str) -> bytes:
    """The whole document as HTML; `url` is what its curl lines begin with."""
    shapes = Shapes(document)
    routes = [(path, method, said) for path, all in document["paths"].items() for method, said in all.items()]
    about = {name: escape(document["info"].get(name, "")) for name in ("title", "version", "description")}
    links = "".join(_link(path, method, said) for path, method, said in routes)
    sections = "".join(_route(path, method, said, shapes, url) for path, method, said in routes)
    html = PAGE.format(**about, style=style(), links=links, routes=sections)
    return html.encode(errors="replace")


def _link(path: str, method: str, said: Json) -> str:
    place, name = escape(_id(path, method)), f"{method.upper()} {escape(path)}"
    return f'<li><a href="#{place}"><code>{name}</code></a> {escape(said.get("summary", ""))}</li>'


def _route(path: str, method: str, said: Json, shapes: Shapes, url: str) -> str:
    parameters = said.get("parameters", [])
    more = [
        _details("Parameters", shapes.parameters(parameters), opened=True) if parameters else "",
        _details("Request body", _bodies(said, shapes), opened=True) if "requestBody" in said else "",
        _details("Answers", _answers(said, shapes)),
        _details("Errors", _errors(said), opened=True),
    ]
    texts = {"id": _id(path, method), "method": method.upper(), "path": path}
    texts |= {"summary": said.get("summary", ""), "curl": curl(path, method, said, url)}
    return ROUTE.format(**{name: escape(text) for name, text in texts.items()}, more="\n".join(filter(None, more)))


def _id(path: str, method: str) -> str:
    return "-".join([method, *"".join(c if c.isalnum() else " " for c in path).split()])


def _details(title: str, inner: str, opened: bool = False) -> str:
    return f"<details{' open' if opened else ''}><summary>{title}</summary>\n{inner}</details>"


def _bodies(said: Json, shapes: Shapes) -> str:
    known = {parameter["name"] for parameter in said.get("parameters", [])}
    return _contents(said["requestBody"]["content"], shapes, known)


def _contents(content: Json, shapes: Shapes, known: Collection[str] | None = None) -> str:
    return "".join(
        f"<h3><code>{escape(kind)}</code></h3>\n{shapes.shape(media.get('schema', {}), known)}"
        for kind, media in content.items()
    )


def _answers(said: Json, shapes: Shapes) -> str:
    good = [(status, answer) for status, answer in said["responses"].items() if not _is_error(status)]
    return "".join(
        f"<p><b>{escape(status)}</b> {escape(answer['description'])}</p>{_contents(answer['content'], shapes)}"
        for status, answer in good
    )


def _errors(said: Json) -> str:
    """A line for each code: descriptions have them as `code: title; code: title`."""
    rows: list[str] = []
    for status, answer in filter(lambda one: _is_error(one[0]), said["responses"].items()):
        for line in answer["description"].split("; "):
            code, _, title = line.partition(": ")
            rows.append(
                f"<tr><td>{escape(status)}</td><td><code>{escape(code)}</code></td><td>{escape(title)}</td></tr>"
            )
    head = "<thead><tr><th>Status</th><th><code>code</code></th><th>Meaning</th></tr></thead>"
    return f"<table class=errors>{head}<tbody>{''.join(rows)}</tbody></table>\n"


def _is_error(status: str) -> bool:
    return not status.startswith(("1", "2", "3"))


def curl(path: str, method: str, said: Json, url: str) -> str:
    """A command line that asks for this route, with examples where it has to name something."""
    for parameter in said.get("parameters", []):
        example = parameter["schema"].get("examples", [parameter["name"]])[0]
        path = path.replace(f"{{{parameter['name']}}}", str(example))
    content = said.get("requestBody", {}).get("content", {})
    answers = [kind for answer in said["responses"].values() for kind in answer.get("content", {})]
    words = [
        "curl",
        *_sent(method, content),
        *(["-H", "Accept: image/*", "-o", "anime.jpg"] if "image/*" in answers else []),
    ]
    return shlex.join([*words, url + path])


def _sent(method: str, content: Json) -> list[str]:
    if "image/*" in content:
        return ["--data-binary", "@photo.jpg", "-H", "Content-Type: image/jpeg"]
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        needed = {
            name: schema["properties"][name].get("examples", ["…"])[0] for name in schema.get("required", [])
        }
        return ["-H", "Content-Type: application/json", "-d", json.dumps(needed)]
    return [] if method == "get" else ["-X", method.upper()]
