"""From what a provider put where arguments belong to one JSON object, without guessing."""
