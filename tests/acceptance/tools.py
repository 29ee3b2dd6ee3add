"""The tools of the acceptance tests. They say where they run, so that a test knows which worker to hurt."""

from __future__ import annotations

import asyncio
import os
import socket

from toolrelay_worker import ToolContext, tool


@tool("math/add", read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool("slow/sleep")
async def sleep(seconds: float, ctx: ToolContext) -> int:
    """Say where the call runs, sleep, and give the attempt."""
    await ctx.progress(0, message=f"{socket.gethostname()}:{os.getpid()}")
    await asyncio.sleep(seconds)
    return ctx.attempt


@tool("slow/first")
async def first(seconds: float, ctx: ToolContext) -> int:
    """As ``slow/sleep``, but only the first attempt is slow."""
    return await sleep(seconds if ctx.attempt == 1 else 0, ctx)
