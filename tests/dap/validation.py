"""Holds messages against the specification's schema.

    body = validated(message)["body"]

Stricter than the schema in one thing: it allows unknown members everywhere, and a
misspelt optional member would pass. Here a member that the specification does not
know must be called "hangdbg" or begin with "hangdbg/".
"""

import functools
import json
from pathlib import Path

import pytest

SCHEMA = Path(__file__).with_name("debugAdapterProtocol.json")

# What these carry is up to the adapter.
_OPEN = {"AttachRequestArguments", "LaunchRequestArguments"}


def validated(message):
    """The message, if it is as the specification says; AssertionError if not."""
    kind = _definition(message)
    problems = [
        "%s: %s" % ("/".join(map(str, error.absolute_path)) or "(root)", error.message[:500])
        for error in _validator(kind).iter_errors(message)
    ]
    assert not problems, "no %s: %s\n%.2000s" % (kind, "; ".join(problems), message)
    assert type(message["seq"]) is int and message["seq"] >= 1, message
    return message


def _definition(message):
    """The name of the definition that a message must meet."""
    kind = message.get("type")
    assert kind in ("request", "response", "event"), message
    if kind == "response" and not message.get("success"):
        return "ErrorResponse"
    name = message.get("event" if kind == "event" else "command")
    assert type(name) is str, message
    if name.startswith("hangdbg/"):
        return kind.capitalize()
    found = name[:1].upper() + name[1:] + kind.capitalize()
    assert found in _schema()["definitions"], "DAP knows no %s" % found
    return found


@functools.lru_cache(None)
def _validator(definition):
    jsonschema = pytest.importorskip("jsonschema")
    formats = jsonschema.FormatChecker(formats=())
    formats.checks("int32")(lambda value: type(value) is not int or -2**31 <= value < 2**31)
    return jsonschema.Draft4Validator(
        {**_schema(), "$ref": "#/definitions/" + definition}, format_checker=formats)


@functools.lru_cache(None)
def _schema():
    schema = json.loads(SCHEMA.read_text())
    definitions = schema["definitions"]
    for name, definition in definitions.items():
        if name in _OPEN:
            continue
        _join(definition, definitions)
        # An envelope's members are spread over the parts of its allOf.
        for part in definition.get("allOf", ()):
            for member in part.get("properties", {}).values():
                _close(member)
        if "allOf" not in definition and name not in _ENVELOPES:
            _close(definition)
    return schema


def _join(definition, definitions):
    """Makes one of what a type has and what it has from a type that is no envelope."""
    parts = definition.get("allOf", [])
    bases = [part["$ref"].rpartition("/")[2] for part in parts if "$ref" in part]
    if bases and not _ENVELOPES & set(bases):
        joined = {}
        for part in [definitions[base] for base in bases] + parts:
            joined.update(part.get("properties", {}))
        del definition["allOf"]
        definition.update(type="object", properties=joined)


_ENVELOPES = {"ProtocolMessage", "Request", "Response", "Event"}


def _close(schema):
    """Refuses members that `schema` does not name."""
    if "properties" in schema and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
        schema["patternProperties"] = {"^hangdbg(/|$)": {}}
    for member in schema.get("properties", {}).values():
        _close(member)
    if type(schema.get("items")) is dict:
        _close(schema["items"])
