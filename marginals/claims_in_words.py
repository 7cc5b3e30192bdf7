"""Claims in words for readers: a title, what is claimed as a sentence, and what the worst class reaches."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from checks.claims import (
    BY_THE_PUBLISHER,
    VERIFIED,
    AttributeClaim,
    Claim,
    CountClaim,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    MinPublishedCell,
    NoSmallCertain,
    Register,
    listing,
)
from checks.finding import WorstClass
from marginals.criteria import criterion_clause, criterion_reached

_MOST_NAMED = 3
"""Sensitive attributes that a sentence names, at most."""

_ATTESTED = f"{BY_THE_PUBLISHER[0].upper()}{BY_THE_PUBLISHER[1:]}."


def together(sensitive: Sequence[str]) -> str:
    """Return sensitive attributes in a sentence: by name while they are few.

    >>> together(["job", "pay", "age"]), together(["job", "pay", "age", "sex"])
    ('job, pay and age', 'all 4 sensitive attributes')
    """
    return listing(sensitive) if len(sensitive) <= _MOST_NAMED else f"all {len(sensitive)} sensitive attributes"


def counted_in_words(k: int, rows_per_person: int | None) -> str:
    """Return a number of rows or people.

    >>> counted_in_words(1, None), counted_in_words(1000, 3)
    ('1 row', '1,000 people')
    """
    one, many = ("row", "rows") if rows_per_person is None else ("person", "people")
    return f"{k:,} {one if k == 1 else many}"


def counts_below(least: int) -> str:
    """Return the counts below one that is demanded, 0 left out, as they stand behind "is". least: at least 2.

    >>> counts_below(2), counts_below(3), counts_below(11)
    ('1', '1 or 2', 'from 1 to 10')
    """
    return {2: "1", 3: "1 or 2"}.get(least, f"from 1 to {least - 1:,}")


def claim_title(claim: Claim) -> str:
    """Return the name of a claim for readers."""
    match claim:
        case MaxentDiversity():
            return f"Maximum-entropy diversity of {_attribute(claim)}, {claim.diversity}"
        case Register():
            return f"Diversity of {_attribute(claim)} for readers with a register, {claim.of.diversity}"
        case MinCell():
            return f"Least count of a cell, {claim.k:,}"
        case MinPublishedCell():
            return f"Least published count, {claim.k:,}"
        case NoSmallCertain():
            return f"No combination is certain to be small, k = {claim.k}"
        case KCombinatorial():
            return f"k-combinatorial anonymity, k = {claim.k}"
    assert isinstance(claim, KLink)
    return f"k-link anonymity, k = {claim.k}"


def _attribute(claim: AttributeClaim) -> str:
    return f"{claim.about} at level {claim.level}" if claim.level else claim.about


def claim_meaning(claim: Claim, sensitive: Sequence[str] = ()) -> str:
    """Return what a claim says of a release with these sensitive attributes, as a sentence."""
    if isinstance(claim, AttributeClaim):
        return claim_sentence(claim, claim.about, claim_clause(claim))
    assert isinstance(claim, CountClaim)
    return _meaning_of_counts(claim, sensitive)


def claim_clause(claim: AttributeClaim) -> str:
    """Return what holds of the attribute in every class: "at least 3 sensitive values remain possible"."""
    of = replace(claim.of, rows_per_person=claim.rows_per_person) if isinstance(claim, Register) else claim
    assert isinstance(of, MaxentDiversity)
    return criterion_clause(of.class_diversity or of.diversity)


def claim_sentence(claim: AttributeClaim, attribute: str, clause: str) -> str:
    """Return to whom a clause applies, as a sentence. attribute: the words for the attribute, or for several of them."""
    if isinstance(claim, MaxentDiversity):
        several = "" if claim.rows_per_person in (None, 1) else (
            f" A person has at most {claim.rows_per_person:,} rows; the claim is about any one. It holds of one class at "
            "a time: a person known to be in two classes by several rows, with a value that is the same in all, can be "
            "exposed by both."
        )  # fmt: skip
        return (
            "For a reader who combines all tables by maximum entropy: given any published values of a person, "
            f"{clause}.{several}"
        )
    assert isinstance(claim, Register)
    sentence = (
        "Somebody who knows all nonsensitive values of everybody still has for each person the shares of that person's "
        f"class, unless they assume how {attribute} varies within classes or reason from why these tables were chosen. "
        f"In these shares, {clause}."
    )
    if claim.basis == VERIFIED:
        return sentence
    return (
        f"{sentence} Several tables show {attribute}: a class is then that of all of them together, and its "
        "shares are those over all arrangements of the values, equally likely, counted where they are few, else of the "
        f"maximum-entropy fit. {_ATTESTED}"
    )


def _meaning_of_counts(claim: CountClaim, sensitive: Sequence[str]) -> str:
    least = counted_in_words(claim.k, claim.rows_per_person)
    one, many = ("row", "rows") if claim.rows_per_person is None else ("person", "people")
    below = counts_below(claim.k) if claim.k > 1 else ""
    few = f"{below.removeprefix('from ')} {one if claim.k == 2 else many}"
    counted = f", {together(sensitive)} counted like the others" if sensitive else ""
    whose = "" if claim.rows_per_person is None else " of people"
    people = "" if claim.rows_per_person in (None, 1) else (
        f" A person has at most {claim.rows_per_person:,} rows, so as many rows are needed for each."
    )  # fmt: skip
    match claim:
        case MinCell() | MinPublishedCell() if claim.k == 1:
            return "Any count may be published."
        case NoSmallCertain() if claim.k == 1:
            return "Any combination of nonsensitive values may be certain to have any number of rows."
        case MinCell():
            return (
                f"No published count{whose} is {below}{counted}, and no such count can be worked out from the "
                "tables by differences or otherwise: each combination of values that they together leave possible could "
                f"be shared by at least {least}.{people}"
            )
        case MinPublishedCell():
            return (
                f"No published count{whose} is {below}{counted}. Whether such a count can be worked out from "
                f"several tables is not said.{people}"
            )
        case NoSmallCertain():
            return (
                f"No combination of nonsensitive values that is looked at is proven by the tables together to have only "
                f"{few}. Where the tables have a junction tree that is any. Else those of up to three values are looked "
                "at, at any level that a table shows, also with any other value in place of one, and of all attributes at "
                "the finest published levels; others of more than three only where at most ten attributes are published. "
                f"A model can still say that one is likely to, and be right.{people}"
                f"{'' if claim.basis == VERIFIED else f' {_ATTESTED}'}"
            )
        case KCombinatorial():
            not_meant = (
                f" So nobody can prove from the tables alone that a combination has only {few}. It does not mean that "
                f"{least} have it."
            )
            return (
                "Every combination of nonsensitive values that the tables together leave possible could be shared by at "
                f"least {least}.{not_meant if claim.k > 1 else ''}{people}"
            )
    aside = f" ({together(sensitive)} set aside)" if sensitive else ""
    return f"Each class of a published table{aside} has at least {least}.{people}"


def claim_reached(claim: Claim, worst: WorstClass) -> str:
    """Return what the worst class of a finding reaches, beside what is claimed; empty if that is unknown."""
    if isinstance(claim, CountClaim):
        if worst.count is None:
            return ""
        if claim.rows_per_person in (None, 1):
            unit = "rows" if claim.rows_per_person is None else "people"
            return f"{worst.count:,.6g} {unit} (limit: at least {claim.k:,})"
        return (
            f"{worst.count:,.6g} rows, at most {claim.rows_per_person:,} of a person; at least {claim.least_count:,} rows "
            f"are claimed, so that they are those of {counted_in_words(claim.k, claim.rows_per_person)}"
        )
    if worst.reached is None or not isfinite(worst.reached):
        return ""
    if isinstance(claim, MaxentDiversity | Register):
        return criterion_reached((claim.of if isinstance(claim, Register) else claim).diversity, worst.reached)
    return f"Reaches {worst.reached:.4g}"


def claim_reason(claim: AttributeClaim) -> str:
    """Return what a class has that breaks a claim: "a distribution of job that is not entropy:6"."""
    of = claim.of if isinstance(claim, Register) else claim
    assert isinstance(of, MaxentDiversity)
    people = "" if of.rows_per_person is None else " of people"
    return f"a distribution of {_attribute(of)} that is not {of.diversity}{people}"
