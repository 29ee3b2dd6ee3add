"""toolrelay_worker."""
