"""JSON Schemas as tables, for docs.py."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from html import escape
from typing import Any

Json = Mapping[str, Any]
HEAD = "<thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead>"
# What a schema says of its values besides their type -> how a person reads it.
LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "as {}",
}


class Shapes:
    """Tables of the document's schemas, with references to its components followed."""

    def __init__(self, document: Json) -> None:
        self._kept: Json = document.get("components", {}).get("schemas", {})

    def parameters(self, parameters: list[Json]) -> str:
        """A table; those that are no query parameters say so."""
        return _table(
            self._row(one["name"], one["schema"], one.get("required", False), _place(one)) for one in parameters
        )

    def shape(self, schema: Json, known: Collection[str] | None = None) -> str:
        """A table of what an object has, of anything else a line.

        `known` is for what is sent: the names that were told before. What is answered needs nobody's attention to
        what is required.
        """
        schema = self._followed(schema)
        properties = schema.get("properties")
        if not properties:
            return f"<p>{self._type(schema)}</p>\n"
        required = schema.get("required", [])
        rows = [
            self._row(name, one, name in required and known is not None, "") + self._within(name, one)
            for name, one in properties.items()
            if name not in (known or ())
        ]
        again = known and not known - properties.keys()
        return _table(rows) + ("<p>And all of the parameters above.</p>\n" if again else "")

    def _within(self, name: str, schema: Json, depth: int = 3) -> str:
        """Rows of what an object within has, as `limits.max_side`."""
        item = "items" in schema
        inner = self._followed(schema["items"] if item else schema)
        if depth == 0 or "properties" not in inner:
            return ""
        whole = f"{name}[]." if item else f"{name}."
        return "".join(
            self._row(whole + part, one, False, "") + self._within(whole + part, one, depth - 1)
            for part, one in inner["properties"].items()
        )

    def _row(self, name: str, schema: Json, required: bool, place: str) -> str:
        said = [escape(text) for text in (schema.get("description", ""), place) if text]
        if "default" in schema and schema["default"] not in (None, ""):
            said.append(f"default <code>{escape(json.dumps(schema['default']))}</code>")
        if required:
            said.append("<b>required</b>")
        cells = f"<td><code>{escape(name)}</code></td><td>{self._type(schema)}</td><td>{'; '.join(said)}</td>"
        return f"<tr>{cells}</tr>\n"

    def _type(self, schema: Json) -> str:
        """A type with its limits, in HTML."""
        schema = self._followed(schema)
        if "anyOf" in schema:
            return " or ".join(self._type(one) for one in schema["anyOf"] if one.get("type") != "null")
        if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
            return ", ".join(f"<code>{escape(str(value))}</code>" for value in values)
        kind = "bytes" if schema.get("format") == "binary" else schema.get("type", "anything")
        if "items" in schema:
            return f"list of {self._type(schema['items'])}"
        if isinstance(values := schema.get("additionalProperties"), Mapping):
            return f"object of {self._type(values)}"
        limits = [
            text.format(f"<code>{escape(str(schema[key]))}</code>")
            for key, text in LIMITS.items()
            if key in schema
        ]
        return ", ".join([escape(str(kind)), *limits])

    def _followed(self, schema: Json) -> Json:
        """What a $ref stands for."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return {**self._kept.get(name, {}), **schema} if name else schema


def _place(parameter: Json) -> str:
    return "" if parameter["in"] == "query" else f"in the {parameter['in']}"


def _table(rows: Any) -> str:
    return f"<table>{HEAD}<tbody>\n{''.join(rows)}</tbody></table>\n"
