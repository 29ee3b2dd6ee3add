"""All of Redis that both sides touch: names, scripts, and the values they answer with. Opens no connection."""
