# What `marginals.recoding` offers; `__init__.py` reads it.

from marginals.publishing.single_tables import assess as assess
from marginals.recoding.hilbert_curve import hilbert as hilbert
from marginals.recoding.recoded_file import verify_recoded as verify_recoded
from marginals.recoding.sweeping import sweep as sweep
from marginals.usefulness import prediction_accuracy as prediction_accuracy
from marginals.usefulness import query_error as query_error
