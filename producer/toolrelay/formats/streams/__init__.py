"""Putting calls together that arrive in pieces: what the streams of all formats share."""
