"""JSON Schema between toolrelay and the providers. Imports only ``models``, ``errors`` and ``names``."""

from toolrelay.schemas._losses import Loss
from toolrelay.schemas.flat import normalize_schema

__all__ = ["Loss", "normalize_schema"]
