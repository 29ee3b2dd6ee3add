"""``python -m toolrelay_worker`` is the ``toolrelay`` command."""

from toolrelay_worker.cli import main

main()
