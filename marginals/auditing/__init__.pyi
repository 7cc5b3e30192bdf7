# What `marginals.auditing` offers; `__init__.py` reads it.

from marginals.auditing.audits import Audit as Audit
from marginals.auditing.audits import audit as audit
