"""Names in Redis: every key and channel is made here, and described in ``docs/protocol.md``."""

from __future__ import annotations

from dataclasses import dataclass

from toolrelay.settings import Settings

#: Celery's own prefix of a result's key, so that ``AsyncResult(tool_call_id).get()`` finds it.
CELERY_META = "celery-task-meta-"
_DEFAULT_NAMESPACE = "toolrelay"


@dataclass(frozen=True, slots=True)
class Keys:
    """The names that one deployment uses."""

    prefix: str
    """Begins every key and channel but Celery's results: ``toolrelay:``."""
    meta_prefix: str
    """Begins the keys of Celery's results."""
    queue_name: str
    """Celery's name of the queue; its list is ``prefix + queue_name``."""

    @classmethod
    def of(cls, settings: Settings) -> Keys:
        """Give the names for a deployment.

        Only the default namespace uses Celery's bare result keys; in another, stock Celery needs that namespace as
        ``global_keyprefix`` of the result backend.
        """
        own = "" if settings.namespace == _DEFAULT_NAMESPACE else f"{settings.namespace}:"
        return cls(f"{settings.namespace}:", own + CELERY_META, settings.queue)

    @property
    def queue(self) -> str:
        """List of the queue's messages."""
        return self.prefix + self.queue_name

    @property
    def catalogue(self) -> str:
        """Hash of the tools that workers offer."""
        return self.prefix + "catalogue"

    @property
    def workers(self) -> str:
        """Sorted set of the live workers' names by their last heartbeat."""
        return self.prefix + "workers"

    @property
    def dead(self) -> str:
        """Sorted set of dead letters by the time they were given up."""
        return self.prefix + "dead"

    @property
    def rejected(self) -> str:
        """List of foreign messages found in the queue."""
        return self.prefix + "rejected"

    def call(self, tool_call_id: str) -> str:
        """Hash with a call's record."""
        return f"{self.prefix}call:{tool_call_id}"

    def worker(self, name: str) -> str:
        """String with a worker's heartbeat."""
        return f"{self.prefix}worker:{name}"

    def updates(self, tool_call_id: str) -> str:
        """Public channel with a call's ``StatusUpdate`` JSON."""
        return f"{self.prefix}updates:{tool_call_id}"

    def reply(self, client: str) -> str:
        """Channel of one producer process, for all its calls."""
        return f"{self.prefix}reply:{client}"

    def control(self, worker: str) -> str:
        """Channel on which a worker process hears of cancellations."""
        return f"{self.prefix}control:{worker}"
