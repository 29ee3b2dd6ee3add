"""kombu's Redis transport with the holes closed that would cost toolrelay a call or a worker.

What stock kombu 5.7 does, and what is done about it:

* a refused acknowledgement keeps its prefetch slot for ever, and the worker ends up alive but deaf: ``SafeQoS``;
* a message that cannot be decoded ends the worker: it is set aside (``<namespace>:rejected``) and the worker lives;
* every operation builds a new client object, a fifth of a message's cost: each channel keeps one.

Chosen by the scheme of the broker URL that ``make_celery`` sets; other Celery apps in the process are untouched.
"""

from __future__ import annotations

import json
import logging
from queue import Empty
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES, virtual
from kombu.transport import redis as kombu_redis
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads

logger = logging.getLogger(__name__)

#: Scheme of broker URLs that choose this transport.
SCHEME: Final = "toolrelay"
#: List of foreign messages; kombu puts the namespace's prefix in front.
REJECTED: Final = "rejected"
_REJECTED_KEPT: Final = 1000
_REJECTED_TTL_SECONDS: Final = 7 * 24 * 3600


class SafeQoS(kombu_redis.QoS):  # type: ignore[misc]  # kombu is untyped
    """Gives the prefetch slot back first, and repeats an acknowledgement that Redis did not take."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unsent: set[str] = set()

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge; a failure keeps the tag for the next try, not the slot."""
        virtual.QoS.ack(self, delivery_tag)
        self._unsent.add(delivery_tag)
        self._send_acks()

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Reject; as ``ack`` where the message is dropped. The visibility timeout covers a requeue that fails."""
        if not requeue:
            self.ack(delivery_tag)
            return
        virtual.QoS.ack(self, delivery_tag)
        self.restore_by_tag(delivery_tag, leftmost=True)

    def restore_visible(self, *args: Any, **kwargs: Any) -> None:
        """Sweep for abandoned messages, as kombu does every few seconds; acknowledgements that failed go first."""
        try:
            self._send_acks()
        except self.channel.connection_errors:
            return
        super().restore_visible(*args, **kwargs)

    def _send_acks(self) -> None:
        tags = list(self._unsent)
        if not tags:
            return
        with self.pipe_or_acquire() as pipe:
            pipe.zrem(self.unacked_index_key, *tags).hdel(self.unacked_key, *tags).execute()
        self._unsent.difference_update(tags)


class Channel(kombu_redis.Channel):  # type: ignore[misc]  # kombu is untyped
    """A channel with one client, that survives whatever stands in the queue."""

    QoS = SafeQoS
    _kept_client: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._kept_client is None or self._kept_client.connection_pool is not self.pool:
            self._kept_client = super()._create_client()
        return self._kept_client

    def _brpop_read(self, **options: Any) -> bool:
        """Read the popped message; as kombu's, but foreign ones are set aside instead of raised into the event loop."""
        try:
            popped = self._popped(**options)
            if not popped:
                raise Empty
            queue, item = bytes_to_str(popped[0]).rsplit(self.sep, 1)[0], bytes_to_str(popped[1])
            message = self._read(item)
            if message is None:
                self._set_aside(item)
                return True
            self._queue_cycle.rotate(queue)
            self.connection._deliver(message, queue)  # noqa: SLF001 - the transport's own hand-over
            return True
        finally:
            self._in_poll: Any = None
            self._flush_brpop_reauth()

    def _popped(self, **options: Any) -> Any:
        try:
            return self.client.parse_response(self.client.connection, "BRPOP", **options)
        except self.connection_errors:
            self.client.connection.disconnect()  # the next poll connects again
            raise

    def _read(self, item: str) -> Any:
        """Decode a message down to its body; ``None`` when it is not JSON that kombu wrote."""
        try:
            raw = loads(item)
            message = self.Message(raw, channel=self)
            if message.content_type != "application/json":
                return None
            json.loads(message.body)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return raw

    def _set_aside(self, item: str) -> None:
        with self.conn_or_acquire() as client, client.pipeline() as pipe:
            pipe.lpush(REJECTED, item)
            pipe.ltrim(REJECTED, 0, _REJECTED_KEPT - 1)
            pipe.expire(REJECTED, _REJECTED_TTL_SECONDS)
            pipe.execute()
        logger.warning("a message in the queue is not Celery's; it was set aside (toolrelay dead --rejected)")


class Transport(kombu_redis.Transport):  # type: ignore[misc]  # kombu is untyped
    """The transport toolrelay's Celery app uses."""

    Channel = Channel


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
