"""toolrelay."""
