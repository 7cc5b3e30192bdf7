"""Bounding the risk under an unknown dictionary by that under a known, more specific one (LSFB09 section 4.1)."""

import numpy as np

from checks.risk.dictionary import Dictionary, consistent_counts
from checks.risk.errors import IncomparableError
from checks.risk.loss import Harm, expected
from checks.risk.record import Records
from models.arrays import CountArray, IndexArray


def precedes(specific: Dictionary, general: Dictionary) -> bool:
    """Whether specific << general: each of its people has an entry in the other, as general or more (Definition 5).

    Raises IncomparableError where entries have no identifiers.
    """
    if specific.identifiers is None or general.identifiers is None:
        raise IncomparableError("dictionaries are compared person by person, so both need identifiers")
    rows = _rows_of(specific.identifiers, general.identifiers)
    return bool(np.all(rows >= 0)) and bool(specific.entries.is_below(general.entries[rows]).all())


def contains(dictionary: Dictionary, originals: Records, identifiers: CountArray) -> bool:
    """Whether a dictionary has an entry for the person of each original record, which may be more general."""
    if dictionary.identifiers is None:
        raise IncomparableError("people are looked up by identifier, so the dictionary needs them")
    rows = _rows_of(identifiers, dictionary.identifiers)
    return bool(np.all(rows >= 0)) and bool(originals.is_below(dictionary.entries[rows]).all())


def upper_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> float:
    """The risk under an estimated dictionary, which no dictionary that it precedes can exceed (Proposition 1).

    Arguments and errors as for `require_bound`.
    """
    require_bound(disclosed, originals, identifiers, estimated, harm)
    return expected(harm.loss(disclosed, np.arange(len(disclosed)), consistent_counts(disclosed, estimated)))


def require_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> None:
    """Nothing where the risk under an estimated dictionary is an upper bound of that under any which it precedes.

    disclosed: generalizations of the originals, which are about the people with these identifiers. The proposition
    needs each of them in the estimated dictionary, and that being identified is no less harmful than being missed, as with
    Psi = 0. Raises IncomparableError where one of these is not so.
    """
    if not bool(originals.is_below(disclosed).all()):
        raise IncomparableError("a disclosed record is no generalization of its original")
    if not contains(estimated, originals, identifiers):
        raise IncomparableError("the estimated dictionary lacks the person of an original record")
    people = np.arange(len(disclosed))
    if np.any(harm.missed(disclosed, people) > harm.identified(disclosed, people)):
        raise IncomparableError("a record does more harm when its person is not found, so no risk is an upper bound")


def _rows_of(sought: CountArray, identifiers: CountArray) -> IndexArray:
    """For each identifier the row of its entry, -1 where it has none."""
    order = np.argsort(identifiers, kind="stable")
    if not len(identifiers):
        return np.full(len(sought), -1, dtype=np.intp)
    place = np.minimum(np.searchsorted(identifiers[order], sought), len(identifiers) - 1)
    return np.where(identifiers[order[place]] == sought, order[place], -1)
