"""Whose payload this is, and what is in it: messages, conversations, request bodies, streams, definitions."""
