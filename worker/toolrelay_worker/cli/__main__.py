"""``python -m toolrelay_worker.cli``: the same as ``toolrelay``."""

from toolrelay_worker.cli import main

if __name__ == "__main__":
    main()
