"""What a wrong profile or override is told: one line with key, value and cure."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel, ValidationError

from prismem.errors import ProfileError
from prismem.models.quantity import Quantity

_KINDS = {str: "a text", bool: "a truth value", int: "a number", float: "a number", dict: "a table", list: "a list"}
_QUANTITY_EXAMPLE = '{ value = 1, unit = "ns", source = "..." }'


def apply_override(raw: dict[str, Any], override: str) -> None:
    """Put `section.key=value unit` into the tables of a profile. Raises ProfileError."""
    key, equals, text = override.partition("=")
    section, _, field = key.strip().partition(".")
    if not equals or not field:
        raise ProfileError(f"--set {override}: not of the form section.key=value; for example path.fibre_length='15 m'")
    table = raw.get(section)
    if not isinstance(table, dict) or field not in table:
        known = sorted(f"{s}.{k}" for s, t in raw.items() if isinstance(t, dict) for k in t)
        raise ProfileError(f"--set {override}: unknown key '{key}'; the keys are {', '.join(known)}")
    try:
        table[field] = Quantity.parse(text)
    except ValueError:
        raise ProfileError(f"--set {override}: '{text}' is not a number with a unit; for example '15 m'") from None


def first_problem(model: type[BaseModel], error: ValidationError) -> str:
    """One line for the first problem of a profile of class `model`."""
    first = error.errors(include_url=False)[0]
    # Keys that are plain names of the file; pydantic adds the branch of a union ("int") that is of no use to a reader.
    loc = [str(part) for part in first["loc"] if part not in ("int", "float")]
    key = ".".join(loc)
    match first["type"]:
        case "extra_forbidden":
            return f"{key}: unknown key; the keys here are {', '.join(_fields(model, loc[:-1]))}"
        case "missing":
            return f"{key}: missing; add it, for example {_example(model, loc)}"
        case "value_error":
            problem = str(first["ctx"]["error"])
            return f"{key}: {problem}" if key else problem  # one of the whole profile names its keys itself
    value = first["input"]
    kind = _KINDS.get(type(value), "of another type")
    return f"{key}: {value!r:.60} is {kind}, write {_wanted(model, loc)}"


def _type_at(model: type[BaseModel], loc: list[str]) -> Any:
    """Type of the field at `loc`: a class of models, or the annotation of a plain value."""
    found: Any = model
    for part in loc:
        found = found.model_fields[part].annotation
    return found


def _fields(model: type[BaseModel], loc: list[str]) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = _type_at(model, loc).model_fields
    return fields


def _example(model: type[BaseModel], loc: list[str]) -> str:
    kind = _type_at(model, loc)
    if loc[-1] == "value":
        return "value = 1"
    if loc[-1] == "unit":
        return f'unit = "{next(iter(_type_at(model, loc[:-1]).UNITS))}"'
    if kind is str:
        return f'{loc[-1]} = "..."'
    return f"{loc[-1]} = {_QUANTITY_EXAMPLE}" if issubclass(kind, Quantity) else f"the table [{loc[-1]}]"


def _wanted(model: type[BaseModel], loc: list[str]) -> str:
    kind = _type_at(model, loc)
    if kind is str:
        return "a text in quotes"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"one of {', '.join(member.value for member in kind)}"
    if not isinstance(kind, type):
        return "a number"
    return _QUANTITY_EXAMPLE if issubclass(kind, Quantity) else f"a table [{'.'.join(loc)}]"
