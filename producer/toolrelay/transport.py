"""kombu's Redis transport with the holes closed that would cost toolrelay a call or a worker.

What stock kombu 5.7 does, and what is done about it:

* a refused acknowledgement keeps its prefetch slot for ever, and the worker ends up alive but deaf: ``SafeQoS``;
* a lost subscription is replaced unseen, by a read that blocks the event loop: it ends in an error, as for the queue;
* a message that cannot be decoded ends the worker: it is set aside (``<namespace>:rejected``) and the worker lives;
* every operation builds a new client object, a fifth of a message's cost: each channel keeps one.

Chosen by the scheme of the broker URL that ``make_celery`` sets; other Celery apps in the process are untouched.
"""

from __future__ import annotations

import json
import logging
import re
from queue import Empty
from typing import Any, Final

import redis
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
_DOORBELL: Final = re.compile(r"tc_[0-9a-f]{24}#[0-9]+")


def is_doorbell(delivery_tag: str) -> bool:
    """Whether a message only rings for a call whose record holds everything.

    >>> is_doorbell("tc_243f296b8867af67bdac594c#1709251199000")
    True
    """
    return _DOORBELL.fullmatch(delivery_tag) is not None


class SafeQoS(kombu_redis.QoS):  # type: ignore[misc]  # kombu is untyped
    """Keeps no account in Redis of doorbells; of other messages, an acknowledgement that failed is sent again.

    A doorbell that is lost between here and CLAIM is in the record's own list of waiting calls, and the reaper rings
    again after seconds. kombu's account would bring it back after the visibility timeout, at two round trips a call.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unsent: set[str] = set()

    def append(self, message: Any, delivery_tag: str) -> None:
        """Note a message that was taken."""
        if is_doorbell(delivery_tag):
            virtual.QoS.append(self, message, delivery_tag)
        else:
            super().append(message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge; a failure keeps the tag for the next try, not the slot."""
        virtual.QoS.ack(self, delivery_tag)
        if not is_doorbell(delivery_tag):
            self._unsent.add(delivery_tag)
            self._send_acks()

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Reject; as ``ack`` where the message is dropped. The visibility timeout covers a requeue that fails."""
        if not requeue:
            self.ack(delivery_tag)
            return
        virtual.QoS.ack(self, delivery_tag)
        self.restore_by_tag(delivery_tag, leftmost=True)

    def restore_unacked(self, client: Any = None) -> None:
        """Give back what was taken and not acknowledged. What Redis does not take now, the reaper rings again.

        kombu would try again at the next close, and end the worker over it.
        """
        try:
            super().restore_unacked(client)
        finally:
            self._delivered.clear()

    def restore_by_tag(self, tag: str, client: Any = None, leftmost: bool = False) -> None:
        """Put a message back into the queue: a doorbell from memory, since Redis has no copy."""
        if not is_doorbell(tag):
            super().restore_by_tag(tag, client, leftmost)
            return
        message = self._delivered.get(tag)
        if message is None:
            return
        raw, where = message._raw, message.delivery_info  # noqa: SLF001 - as kombu's own QoS does
        with self.channel.conn_or_acquire(client) as connection, connection.pipeline() as pipe:
            self.channel._do_restore_message(raw, where["exchange"], where["routing_key"], pipe, leftmost)  # noqa: SLF001 - as above
            pipe.execute()

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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._kept_client: Any = None
        self._kept_parameters: dict[bool, dict[str, Any]] = {}
        super().__init__(*args, **kwargs)

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        # Asked for again when a call that ran through a lost connection is acknowledged; kombu's connection object has
        # forgotten its address by then.
        if asynchronous not in self._kept_parameters:
            parameters = super()._connparams(asynchronous=asynchronous)
            if asynchronous:
                # A connection that the event loop reads must fail where it is lost. redis-py's retry would connect
                # again out of the loop's sight and wait there for the next broadcast, for ever: a deaf worker.
                parameters["retry_on_timeout"] = False
            self._kept_parameters[asynchronous] = parameters
        return dict(self._kept_parameters[asynchronous])

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
        # Not through kombu's client, which puts the prefix in front of some commands' keys only.
        set_aside(redis.Redis(connection_pool=self.pool), self.global_keyprefix + REJECTED, item)


class Transport(kombu_redis.Transport):  # type: ignore[misc]  # kombu is untyped
    """The transport toolrelay's Celery app uses."""

    Channel = Channel


def set_aside(client: redis.Redis, key: str, item: str) -> None:
    """Keep a foreign message for inspection, the newest first; so many of them, so long."""
    with client.pipeline() as pipe:
        pipe.lpush(key, item)
        pipe.ltrim(key, 0, _REJECTED_KEPT - 1)
        pipe.expire(key, _REJECTED_TTL_SECONDS)
        pipe.execute()
    logger.warning("a foreign message in the queue was set aside; look at it with: toolrelay dead --rejected")


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
