"""The one Celery configuration, used by both sides, and the Celery message that rings for a call.

Why each setting is what it is stands beside it; the experiments behind them are summed up in docs/decisions/.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from celery import Celery, signals
from celery.utils.nodenames import anon_nodename

from toolrelay.models import NormalizedToolRequest
from toolrelay.protocol.keys import Keys
from toolrelay.resolution import candidate_names
from toolrelay.settings import Settings
from toolrelay.transport import SCHEME

#: The one task: runs the call that its id names.
TASK_NAME: Final = "toolrelay.execute"

#: No message needs to stay unacknowledged long: the lease, not the message, keeps a call alive.
_VISIBILITY_TIMEOUT_SECONDS: Final = 300


def make_celery(settings: Settings, url: str, result_backend: str | None = None) -> Celery:
    """Configure a Celery app for ``url``, the Redis that holds queue, records and results.

    ``result_backend`` names another backend class for ``url``; workers have one that writes through the record.
    """
    keys = Keys.of(settings)
    app = Celery("toolrelay", set_as_current=False)
    app.conf.update(
        broker_url=broker_url(url),
        broker_use_ssl=_ssl_options(url),
        result_backend=f"{result_backend}+{url}" if result_backend else url,
        # JSON everywhere; a pickled message is foreign.
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        task_default_queue=settings.queue,
        # The message is only the doorbell, and harmless when it comes twice. It keeps its slot until the call is
        # finished, so that a worker takes no more than it runs.
        task_acks_late=True,
        task_acks_on_failure=True,
        task_acks_on_timeout=True,
        # Celery's own rerun after a lost worker knows no limit; the record counts attempts.
        task_reject_on_worker_lost=False,
        task_retry_on_worker_lost=False,
        # CLAIM publishes "running"; a STARTED state would cost two more commands a call.
        task_track_started=False,
        # One message a slot: a worker takes nothing it cannot start.
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=False,
        # Its restoration counts acknowledgements, which may be lost.
        worker_enable_prefetch_count_reduction=False,
        # Would kill healthy runs at a lost connection; the lease decides.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_deduplicate_successful_tasks=False,
        worker_soft_shutdown_timeout=0,  # our own grace period lets tools finish, then gives their calls back
        worker_pool="threads",  # sync tools in threads, async ones on one loop: one process, one heartbeat
        worker_concurrency=settings.concurrency,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # the default gives up after 100
        broker_channel_error_retry=True,  # a full or read-only Redis must not end the worker
        broker_transport_options={
            "global_keyprefix": keys.prefix,
            "priority_steps": [0],  # one list to pop from
            "visibility_timeout": _VISIBILITY_TIMEOUT_SECONDS,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "unacked_mutex_expire": 10,  # the default locks the sweep for 5 minutes after a stall
            "socket_timeout": 5,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "retry_on_timeout": True,  # one retry saves an acknowledgement from a single reset
        },
        result_backend_always_retry=True,  # without it one reset turns a success into a FAILURE
        result_backend_max_retries=20,
        result_expires=settings.result_ttl,
        redis_socket_timeout=5,
        redis_socket_connect_timeout=3,
        redis_retry_on_timeout=True,
        redis_socket_keepalive=True,
    )
    if keys.meta_prefix.startswith(keys.prefix):
        app.conf.result_backend_transport_options = {"global_keyprefix": keys.prefix}
    return app


def broker_url(url: str) -> str:
    """Give the URL under which kombu finds our transport.

    >>> broker_url("redis://localhost:6379/0")
    'toolrelay://localhost:6379/0'
    >>> broker_url("unix:///run/redis.sock?db=2")
    'toolrelay+socket:///run/redis.sock?virtual_host=2'
    """
    parts = urlsplit(url)
    if parts.scheme in ("unix", "redis+socket"):
        query = parse_qs(parts.query)
        db = (query.get("db") or query.get("virtual_host") or ["0"])[0]
        auth = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return f"{SCHEME}+socket://{auth}{parts.path}?virtual_host={db}"
    return SCHEME + "://" + url.split("://", 1)[1].partition("?")[0]


def _ssl_options(url: str) -> dict[str, Any] | None:
    parts = urlsplit(url)
    if parts.scheme != "rediss":
        return None
    query = {name: values[0] for name, values in parse_qs(parts.query).items() if name.startswith("ssl_")}
    return {"ssl_cert_reqs": "required", **query}


#: `default` is for what a signal's receiver puts into the headers.
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


class Doorbell:
    """Makes the Celery message that tells a worker of a call, and sends Celery's publishing signals.

    The message holds no arguments: the record does. Tracing and monitoring hook into the signals, so they see a normal
    task; what they add to its headers travels along.
    """

    def __init__(self, app: Celery) -> None:
        """Take names and the queue from ``app``."""
        self._app = app
        self._queue: str = app.conf.task_default_queue
        self._origin: str = anon_nodename()

    def message(self, request: NormalizedToolRequest) -> tuple[str, dict[str, Any]]:
        """Give the message as kombu's Redis transport writes it, and its headers for ``published``.

        Sends ``before_task_publish``. The delivery tag ends in ``#0``, where the script writes the time of each ring.
        """
        task, properties = self._composed(request)
        signals.before_task_publish.send(
            sender=TASK_NAME,
            body=task.body,
            exchange="",
            routing_key=self._queue,
            declare=[],
            headers=task.headers,
            properties=properties,
            retry_policy={},
        )
        return _written(task, properties), task.headers

    def message_to_keep(self, request: NormalizedToolRequest) -> str:
        """Give the message of a call that is not published now, and may be by an operator: no signal is sent."""
        return _written(*self._composed(request))

    def _composed(self, request: NormalizedToolRequest) -> tuple[Any, dict[str, Any]]:
        tool_call_id = request.tool_call_id
        kwargs = {"tool_names": list(candidate_names(request))}
        task = self._app.amqp.as_task_v2(
            tool_call_id,
            TASK_NAME,
            (),
            kwargs,
            ignore_result=False,
            # Given here because Celery's own, safe for any value, is half of a message's cost.
            argsrepr="()",
            kwargsrepr=repr(kwargs),
            origin=self._origin,
        )
        properties: dict[str, Any] = {
            **task.properties,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": self._queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": f"{tool_call_id}#0",
        }
        return task, properties

    def published(self, headers: dict[str, Any]) -> None:
        """Send ``after_task_publish`` for a message that was rung, or that the same call had rung before.

        Tracing opens a span before a message is published and closes it here: one must follow the other.
        """
        signals.after_task_publish.send(
            sender=TASK_NAME, body=None, exchange="", routing_key=self._queue, headers=headers
        )


def _written(task: Any, properties: dict[str, Any]) -> str:
    return _encode(
        {
            "body": base64.b64encode(_encode(task.body).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": task.headers,
            "properties": properties,
        }
    )
