"""``toolrelay demo``: messages of six providers on two worker processes and a private server, all gone afterwards."""
