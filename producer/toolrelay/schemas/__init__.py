"""JSON Schema between toolrelay and the providers. Imports only ``models`` and ``errors``."""

from toolrelay.schemas.flat import normalize_schema

__all__ = ["normalize_schema"]
