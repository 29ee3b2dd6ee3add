from __future__ import annotations

import dataclasses
import enum
import functools
import logging
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from toolrelay.errors import ErrorCategory, RegistrationError, SchemaMismatchError
from toolrelay.models import ExecutionPolicy, NormalizedToolRequest, OnLost, ToolSpec
from toolrelay_worker import ToolContext, ToolRegistry
from toolrelay_worker.registry import RegisteredTool, default_registry, tool

if TYPE_CHECKING:
    from fractions import Fraction


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class Place(BaseModel):
    city: str
    zip_code: str = Field(alias="zip", default="")


@dataclasses.dataclass
class Box:
    width: int
    height: int = 1


class Options(TypedDict):
    deep: bool


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


def registered(registry: ToolRegistry, function: Callable[..., Any]) -> RegisteredTool:
    registry.tool("t")(function)
    found = registry.get("t")
    assert found is not None
    return found


def properties(registry: ToolRegistry, function: Callable[..., Any]) -> dict[str, Any]:
    schema = registered(registry, function).spec.input_schema
    assert schema["type"] == "object"
    found: dict[str, Any] = schema["properties"]
    return found


def test_builtin_types_become_json_schema(registry: ToolRegistry) -> None:
    def function(a: int, b: float, c: str, d: bool, e: list[int], f: dict[str, float], g: Any, h) -> None: ...  # type: ignore[no-untyped-def] # an unannotated parameter is the case

    found = properties(registry, function)

    assert found == {
        "a": {"type": "integer"},
        "b": {"type": "number"},
        "c": {"type": "string"},
        "d": {"type": "boolean"},
        "e": {"type": "array", "items": {"type": "integer"}},
        "f": {"type": "object", "additionalProperties": {"type": "number"}},
        "g": {},
        "h": {},
    }


def test_optional_parameters_have_their_default_and_are_not_required(registry: ToolRegistry) -> None:
    def function(a: int, b: int = 3, c: Optional[str] = None, d: Literal["x", "y"] = "x") -> None: ...  # noqa: UP045 - the old spelling is the case

    spec = registered(registry, function).spec

    assert spec.input_schema["required"] == ["a"]
    assert spec.input_schema["properties"]["b"] == {"type": "integer", "default": 3}
    assert spec.input_schema["properties"]["c"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert spec.input_schema["properties"]["d"] == {"enum": ["x", "y"], "type": "string", "default": "x"}


def test_a_function_without_parameters_takes_an_empty_object(registry: ToolRegistry) -> None:
    def function() -> None: ...

    assert registered(registry, function).spec.input_schema == {"type": "object", "properties": {}}


def test_constraints_and_descriptions_of_annotated_parameters_are_kept(registry: ToolRegistry) -> None:
    def function(
        n: Annotated[int, Field(ge=1, description="How many.")], m: int = Field(default=2, le=9, description="Most.")
    ) -> None:
        """Do.

        Args:
            n: not this one
            m: nor this one
        """

    found = properties(registry, function)

    assert found["n"] == {"type": "integer", "minimum": 1, "description": "How many."}
    assert found["m"] == {"type": "integer", "maximum": 9, "default": 2, "description": "Most."}


GOOGLE = """Look something up.

    It takes a while.

    Args:
        city: Where.
        days (int): How far ahead.

    Returns:
        A forecast.
    """
NUMPY = """Look something up.

    It takes a while.

    Parameters
    ----------
    city : str
        Where.
    days : int
        How far ahead.

    Returns
    -------
    str
        A forecast.
    """
SPHINX = """Look something up.

    It takes a while.

    :param city: Where.
    :param days: How far ahead.
    :returns: A forecast.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_descriptions_come_from_the_docstring(registry: ToolRegistry, docstring: str) -> None:
    def function(city: str, days: int) -> None: ...

    function.__doc__ = docstring
    spec = registered(registry, function).spec

    assert spec.description == "Look something up.\n\nIt takes a while."
    assert spec.input_schema["properties"]["city"]["description"] == "Where."
    assert spec.input_schema["properties"]["days"]["description"] == "How far ahead."


def test_a_function_without_a_docstring_has_an_empty_description(registry: ToolRegistry) -> None:
    def function() -> None: ...

    assert registered(registry, function).spec.description == ""


def test_a_description_given_wins_over_the_docstring(registry: ToolRegistry) -> None:
    @registry.tool("t", description="Said here.")
    def function() -> None:
        """Said there."""

    assert registry.specs()[0].description == "Said here."


def test_typed_functions_get_typed_values(registry: ToolRegistry) -> None:
    def function(
        place: Place, box: Box, options: Options, unit: Unit, at: datetime, day: date, uid: UUID, price: Decimal,
        tags: set[str], pair: tuple[int, str], maybe: Place | None,
    ) -> None: ...  # fmt: skip

    bound = registered(registry, function).signature.bind(
        {
            "place": {"city": "Oslo", "zip": "0150"},
            "box": {"width": 2},
            "options": {"deep": True},
            "unit": "c",
            "at": "2026-01-02T03:04:05Z",
            "day": "2026-01-02",
            "uid": "00000000-0000-0000-0000-000000000001",
            "price": "10.10",
            "tags": ["a", "a"],
            "pair": [1, "x"],
            "maybe": {"city": "Rome"},
        }
    )

    assert bound.keywords == {
        "place": Place(city="Oslo", zip="0150"),
        "box": Box(2),
        "options": {"deep": True},
        "unit": Unit.CELSIUS,
        "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "uid": UUID(int=1),
        "price": Decimal("10.10"),
        "tags": {"a"},
        "pair": (1, "x"),
        "maybe": Place(city="Rome"),
    }


def test_nested_models_are_defined_in_the_schema_itself(registry: ToolRegistry) -> None:
    class Trip(BaseModel):
        stops: list[Place]

    def function(trip: Trip) -> None: ...

    spec = registered_locally(registry, function, Trip).spec

    assert set(spec.input_schema["$defs"]) == {"Place", "Trip"}
    assert spec.input_schema["properties"]["trip"] == {"$ref": "#/$defs/Trip"}


def registered_locally(registry: ToolRegistry, function: Callable[..., Any], Trip: type) -> RegisteredTool:  # noqa: N803 - an annotation names it
    registry.tool(function)
    found = registry.get("function")
    assert found is not None
    return found


def test_a_type_that_refuses_a_value_is_a_schema_error_without_the_value(registry: ToolRegistry) -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def is_even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

    @registry.tool
    def function(even: Even) -> None: ...

    found = registry.get("function")
    assert found is not None
    with pytest.raises(SchemaMismatchError, match="/even/n: Value error, must be even") as caught:
        found.signature.bind({"even": {"n": 777}})
    assert "777" not in str(caught.value)


@pytest.mark.parametrize("name", ["schema", "json", "copy", "model_config", "model_fields", "self", "cls", "p0"])
def test_a_parameter_may_have_any_name(registry: ToolRegistry, name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def function(first: int, {name}: int = 3): return {name}", namespace)

    found = registered(registry, namespace["function"])

    assert found.spec.input_schema["properties"][name] == {"type": "integer", "default": 3}
    assert found.signature.bind({"first": 1, name: 7}).keywords == {"first": 1, name: 7}


def test_an_alias_is_what_the_model_writes(registry: ToolRegistry) -> None:
    def function(start: Annotated[int, Field(alias="from")], end: int = Field(default=9, alias="to")) -> None: ...

    found = registered(registry, function)

    assert set(found.spec.input_schema["properties"]) == {"from", "to"}
    assert found.signature.bind({"from": 1}).keywords == {"start": 1, "end": 9}


def test_what_is_left_out_is_left_to_the_functions_own_default(registry: ToolRegistry) -> None:
    def function(a: int, unset: Any = object()) -> None: ...  # noqa: B008 - a sentinel, compared with `is`

    assert registered(registry, function).signature.bind({"a": 1}).keywords == {"a": 1}


def test_undeclared_arguments_are_left_out_and_recorded(registry: ToolRegistry) -> None:
    def function(a: int) -> None: ...

    bound = registered(registry, function).signature.bind({"a": 1, "b/c": 2})

    assert bound.keywords == {"a": 1}
    assert [(repair.kind, repair.path) for repair in bound.repairs] == [("ignored", "/b~1c")]


def test_a_function_that_takes_any_keyword_gets_them(registry: ToolRegistry) -> None:
    def function(a: int, **more: Any) -> None: ...

    found = registered(registry, function)

    assert found.spec.input_schema["additionalProperties"] is True
    assert found.signature.bind({"a": 1, "b": [2]}).keywords == {"a": 1, "b": [2]}


def test_any_keyword_may_have_a_type_too(registry: ToolRegistry) -> None:
    def function(**more: date) -> None: ...

    found = registered(registry, function)

    assert found.spec.input_schema["additionalProperties"] == {"type": "string", "format": "date"}
    assert found.signature.bind({"b": "2026-01-02"}).keywords == {"b": date(2026, 1, 2)}


@pytest.mark.parametrize(
    "definition",
    [
        "def function(a: int, ctx: ToolContext): ...",
        "def function(context: ToolContext, a: int): ...",
        "def function(a: int, *, c: ToolContext): ...",
        "def function(a: int, c: ToolContext | None = None): ...",
        "def function(a: int, c: Optional[ToolContext] = None): ...",
        "def function(a: int, c: Annotated[ToolContext, 'mine']): ...",
        "def function(a: int, c: 'ToolContext'): ...",
        "async def function(a: int, *, c: ToolContext): ...",
    ],
)
def test_the_context_is_no_parameter_that_a_model_sees(registry: ToolRegistry, definition: str) -> None:
    namespace: dict[str, Any] = {"ToolContext": ToolContext, "Annotated": Annotated, "Optional": Optional}
    exec(definition, namespace)

    found = registered(registry, namespace["function"])

    assert set(found.spec.input_schema["properties"]) == {"a"}
    assert len(found.signature.context_parameters) == 1


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        pytest.param(
            "def function(a, /): ...", "function: parameter 'a' cannot be given by name", id="positional only"
        ),
        pytest.param("def function(*a): ...", r"function: parameter '\*a' cannot be given by name", id="*args"),
        pytest.param("def function(a: Nope): ...", "function: .*parameter 'a'.*Nope", id="unknown name"),
        pytest.param("def function(b: int, a: 'list[Nope]'): ...", "function: .*parameter 'a'.*Nope", id="inside text"),
        pytest.param("def function(b: int, a: type(print)): ...", "function: parameter 'a' cannot", id="odd class"),
        pytest.param("def function(b: int, a: Callable): ...", "function: parameter 'a' cannot", id="a callable"),
        pytest.param("def function(): yield", "function: a generator cannot be a tool", id="a generator"),
        pytest.param("async def function(): yield", "function: a generator cannot be a tool", id="an async generator"),
    ],
)
def test_a_signature_that_cannot_be_a_tools_is_refused(registry: ToolRegistry, definition: str, said: str) -> None:
    namespace: dict[str, Any] = {"Callable": Callable}
    code = compile(f"from __future__ import annotations\n{definition}", "definition", "exec")
    exec(code, namespace)

    with pytest.raises(RegistrationError, match=said):
        registry.tool("t")(namespace["function"])
    assert len(registry) == 0


def test_an_annotation_that_only_a_type_checker_can_see_is_named(registry: ToolRegistry) -> None:
    def function(share: Fraction) -> None: ...

    with pytest.raises(RegistrationError, match=r"function: .*parameter 'share'.*Fraction"):
        registry.tool(function)


def test_the_decorator_gives_the_function_back(registry: ToolRegistry) -> None:
    def function(a: int) -> int:
        return a + 1

    assert registry.tool(function) is function
    assert registry.tool("named")(function) is function
    assert registry.tool("again", read_only=True)(function) is function
    assert [one.name for one in registry] == ["function", "named", "again"]


def test_a_callable_without_a_name_must_be_given_one(registry: ToolRegistry) -> None:
    def function(a: int, b: int) -> int:
        return a + b

    with pytest.raises(RegistrationError, match="give one"):
        registry.tool(functools.partial(function, b=1))

    registry.tool("add/one")(functools.partial(function, b=1))
    assert "add/one" in registry


def test_methods_and_callable_objects_are_tools_too(registry: ToolRegistry) -> None:
    class Service:
        def find(self, key: str) -> str:
            return key

        async def __call__(self, key: int) -> int:
            return key

    registry.tool("find")(Service().find)
    registry.tool("call")(Service())

    assert [list(spec.input_schema["properties"]) for spec in registry.specs()] == [["key"], ["key"]]
    assert [one.is_async for one in registry] == [False, True]


def test_the_policy_is_what_the_decorator_says(registry: ToolRegistry) -> None:
    @registry.tool(
        "t",
        timeout=timedelta(seconds=5),
        max_attempts=4,
        retry_on=["timeout", ErrorCategory.RATE_LIMIT],
        retry_delay=timedelta(seconds=2),
        max_retry_delay=timedelta(seconds=8),
        read_only=True,
        early_start=False,
    )
    def function() -> None: ...

    found = registry.get("t")

    assert found is not None
    assert found.policy == ExecutionPolicy(
        timeout=timedelta(seconds=5),
        max_attempts=4,
        on_lost=OnLost.RERUN,
        retry_on=frozenset({ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMIT}),
        retry_delay=timedelta(seconds=2),
        max_retry_delay=timedelta(seconds=8),
        read_only=True,
        early_start=False,
    )


@pytest.mark.parametrize(
    ("options", "on_lost"),
    [
        pytest.param({}, OnLost.RERUN, id="says nothing: at least once"),
        pytest.param({"idempotent": True}, OnLost.RERUN, id="idempotent"),
        pytest.param({"idempotent": False}, OnLost.FAIL, id="not idempotent"),
        pytest.param({"on_lost": "fail"}, OnLost.FAIL, id="fail, as text"),
        pytest.param({"on_lost": OnLost.FAIL}, OnLost.FAIL, id="fail, as member"),
        pytest.param({"on_lost": "rerun", "idempotent": True}, OnLost.RERUN, id="the same said twice"),
    ],
)
def test_what_becomes_of_a_lost_call(registry: ToolRegistry, options: dict[str, Any], on_lost: OnLost) -> None:
    @registry.tool("t", **options)
    def function() -> None: ...

    (found,) = registry

    assert found.policy.on_lost is on_lost


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"idempotent": True, "on_lost": "fail"}, "contradicts"),
        ({"idempotent": False, "on_lost": "rerun"}, "contradicts"),
        ({"on_lost": "fail", "retry_on": ["timeout"]}, "never started twice"),
        ({"on_lost": "perhaps"}, "on_lost='perhaps'"),
        ({"max_attempts": 0}, "max_attempts=0"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"retry_delay": timedelta(seconds=-1)}, "retry_delay"),
        ({"retry_on": ["sometimes"]}, "sometimes"),
        ({"tool_type": "validator"}, "validator"),
        ({"input_schema": {"type": "array"}}, "/type"),
        ({"input_schema": {"type": "objekt"}}, "/type"),
        ({"input_schema": {"properties": {"a": {"type": 5}}}}, "input_schema: .*/properties/a/type"),
        ({"output_schema": {"type": "objekt"}}, "output_schema: .*/type"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused_by_name(
    registry: ToolRegistry, options: dict[str, Any], said: str
) -> None:
    def function() -> None: ...

    with pytest.raises(RegistrationError, match=f"'orders/refund'.*{said}"):
        registry.tool("orders/refund", **options)(function)
    assert len(registry) == 0


def test_a_misspelt_option_is_refused(registry: ToolRegistry) -> None:
    with pytest.raises(TypeError, match="timeuot"):
        registry.tool("t", timeuot=timedelta(seconds=1))  # type: ignore[call-overload] # on purpose


def test_an_empty_name_is_refused(registry: ToolRegistry) -> None:
    def function() -> None: ...

    with pytest.raises(RegistrationError, match="name"):
        registry.tool("")(function)


def request(name: str, **metadata: Any) -> NormalizedToolRequest:
    return NormalizedToolRequest(tool_name=name, provider_metadata=metadata)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(request("find"), "find", id="the plain name"),
        pytest.param(request("find", namespace="crm"), "crm/find", id="in its namespace"),
        pytest.param(request("find", toolset="shop"), "shop/find", id="in its toolset"),
        pytest.param(request("find", namespace="else"), "find", id="in a namespace that has no such tool"),
        pytest.param(request("find", namespace=7), "find", id="in a namespace that is none"),
        pytest.param(request("crm/find"), "crm/find", id="by its whole name"),
        pytest.param(request("lost", namespace="crm"), None, id="nowhere"),
        pytest.param(request(""), None, id="without a name"),
    ],
)
def test_a_call_is_resolved_in_the_namespace_it_was_offered_in(
    registry: ToolRegistry, wanted: NormalizedToolRequest, found: str | None
) -> None:
    for name in ("find", "crm/find", "shop/find"):
        registry.register(ToolSpec(name, "", {"type": "object"}), lambda: None)

    resolved = registry.resolve(wanted)

    assert (resolved and resolved.name) == found


def test_a_registry_is_a_collection_in_the_order_of_registration(registry: ToolRegistry) -> None:
    names = ["b", "c", "a"]
    for name in names:
        registry.register(ToolSpec(name, "", {"type": "object"}), lambda: None)

    assert [one.name for one in registry] == [spec.name for spec in registry.specs()] == names
    assert len(registry) == 3
    assert "a" in registry
    assert "d" not in registry
    assert 7 not in registry
    assert registry.get("d") is None


def plain(registry: ToolRegistry, handler: Callable[..., Any], schema: dict[str, Any] | None = None) -> RegisteredTool:
    return registry.register(ToolSpec("t", "", schema or {"type": "object"}), handler)


def test_a_handler_with_a_definition_gets_plain_values(registry: ToolRegistry) -> None:
    def handler(at: datetime, *, ctx: ToolContext) -> None: ...

    found = plain(registry, handler)

    assert found.signature.context_parameters == ("ctx",)
    assert found.signature.bind({"at": "2026-01-02"}).keywords == {"at": "2026-01-02"}


def test_a_handler_is_not_given_what_neither_it_nor_the_definition_knows(registry: ToolRegistry) -> None:
    def handler(a: int = 0) -> None: ...

    found = plain(registry, handler, {"properties": {"a": {}, "declared": {}}})
    bound = found.signature.bind({"a": 1, "more": 2, "declared": 3})

    assert bound.keywords == {"a": 1, "declared": 3}  # so that the developer sees the TypeError
    assert [(repair.kind, repair.path) for repair in bound.repairs] == [("ignored", "/more")]


def test_a_handler_that_hides_its_signature_gets_everything(registry: ToolRegistry) -> None:
    found = plain(registry, dict)

    assert found.signature.bind({"a": 1}).keywords == {"a": 1}


def test_the_module_level_decorator_fills_the_default_registry() -> None:
    from toolrelay_worker import tool as exported

    assert exported == tool == default_registry.tool


def test_the_standard_librarys_typed_dict_is_described_where_python_can() -> None:
    import typing

    Standard = typing.TypedDict("Standard", {"deep": bool})  # noqa: UP013 - made here to be this module's only one
    registry = ToolRegistry()

    def function(options: Standard) -> None: ...

    if sys.version_info < (3, 12):  # pydantic cannot read it there, and says what to use
        with pytest.raises(RegistrationError, match=r"'options' .* `typing_extensions\.TypedDict`"):
            registry.tool(function)
    else:
        registry.tool(function)
        assert registry.specs()[0].input_schema["$defs"]["Standard"]["required"] == ["deep"]


@pytest.mark.parametrize("name", ["my tool", "tool\n", "\ttool", "to\x1b[31mol", "a\u00a0b"])
def test_a_name_with_white_space_or_control_characters_is_refused(name: str) -> None:
    registry = ToolRegistry()

    with pytest.raises(RegistrationError, match="a name has no white space and no control characters"):
        registry.tool(name)(lambda: None)

    assert len(registry) == 0


def test_a_tool_without_a_description_is_noted_for_debugging_only(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="toolrelay_worker.registry"):
        ToolRegistry().tool("mute")(lambda: None)

    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("DEBUG", "tool mute has no description: models choose tools by it")
    ]
