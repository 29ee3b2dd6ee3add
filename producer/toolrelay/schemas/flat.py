"""A tool's definition as one flat dict, under the key that a family of providers reads its schema from.

The name stays the tool's own; what goes on a provider's wire has legal names and a schema that the provider takes.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from toolrelay.models import ProviderFormat, ToolSpec

#: what every provider accepts; some cut or refuse more
MAX_DESCRIPTION_LENGTH: Final = 1024

_DEFAULT_KEY: Final = "input_schema"
_KEYS: Final[Mapping[str, str]] = {
    ProviderFormat.OPENAI: "parameters",
    ProviderFormat.OPENAI_RESPONSES: "parameters",
    ProviderFormat.GEMINI: "parameters",
    ProviderFormat.LANGCHAIN: "args_schema",
}


def normalize_schema(
    spec: ToolSpec, provider: ProviderFormat | str, *, max_description_length: int = MAX_DESCRIPTION_LENGTH
) -> dict[str, Any]:
    """Give ``name``, ``description`` (cut to ``max_description_length`` characters) and the schema under one key.

    The key is ``parameters``, ``args_schema`` or, for every other provider and unknown ones too, ``input_schema``. The
    schema is a copy: it may be changed.

    Raises ``ValueError`` for a ``max_description_length`` below 1.
    """
    if max_description_length < 1:
        raise ValueError(f"max_description_length must be an integer from 1 up, got {max_description_length!r}")
    key = _KEYS.get(provider, _DEFAULT_KEY)
    return {
        "name": spec.name,
        "description": spec.description[:max_description_length],
        key: copy.deepcopy(spec.input_schema),
    }
