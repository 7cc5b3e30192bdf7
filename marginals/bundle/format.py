"""The format of a bundle: how its files are called, and the most that is read of them."""

DESCRIPTOR = "datapackage.json"
REPORT = "report.html"
FORMAT = 1
"""Version of the format."""
KNOWN = "known"
"""What a release says of turnover whose readers are taken to know that people come and go."""

MAX_DESCRIPTOR_BYTES = 16 << 20
MAX_SIGNATURE_BYTES = 1 << 14
"""Of a seal, a signature or a key."""
MAX_FILE_BYTES = 128 << 20
MAX_BYTES = 256 << 20
"""Of all resources."""
MAX_RESOURCES = 1000
MAX_ATTRIBUTES = 200
MAX_LEVELS = 100
MAX_CLAIMS = 100
MAX_RULES = 20
MAX_ROWS = 10**15
