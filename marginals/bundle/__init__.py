"""Release bundles on disk: their format, writing, reading, signatures and verification."""
