"""Files and folders that are written whole or not at all, and only where they do no harm."""
