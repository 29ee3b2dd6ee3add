"""JSON Schema between toolrelay and the providers. Leans on ``models``, ``errors``, ``names``, and the JSON reader."""

from toolrelay.schemas._losses import Loss
from toolrelay.schemas.flat import normalize_schema

__all__ = ["Loss", "normalize_schema"]
