"""Columns that look like the key of a person and repeat: k rows may then be fewer than k people."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from marginals.errors import InputError, TooLittleMemoryError
from marginals.tables.attribute import Attribute, Role
from marginals.tables.column import words_of
from marginals.tables.sources.distinct_rows import Engine, Source

_KEYS = """
    id ids nr idcode idno idnr idnum uid guid uuid pid ptid patid patno patnr patientid subjid usubjid subjectid personid
    caseid userid memberid clientid customerid mrn ssn nhs nino passport
    personennummer patientennummer versichertennummer kundennummer personnummer bsn
"""
"""Words in the names of columns that number somebody or something."""

_PEOPLE = """
    patient person subject subj participant respondent proband client customer member beneficiary insuree insured
    policyholder user student pupil employee worker donor inmate defendant applicant borrower
    patientin kunde versicherter schueler mitarbeiter paciente persona paziente
"""
"""Words for people, which name a key where there are many of them."""

_OTHERS = """
    hospital clinic ward site center centre doctor physician provider practice region county country state district
    municipality city town zip postal postcode school class classroom teacher store shop product item order invoice
    transaction visit event encounter episode claim row household hh family house building station device batch study trial
    test question drug medication atc icd diagnosis type group category status code age sex gender race choice party
"""
"""Words for what is no person, though it may be numbered."""

_NO_IDS = (
    "hid paid unpaid aid acid fluid liquid solid valid invalid covid medicaid bid mid grid hybrid rapid void avoid said"
)
"""Words that end as names of keys do."""

_NAMES = """
    name names firstname lastname forename surname address street phone telephone mobile fax birthday birth dob date comment
    comments note notes text vorname nachname adresse strasse telefon nom prenom rue nombre apellido calle
"""
"""Words for what names or describes people, and can be that of several."""

_MANY = 10
"""Different values of a column that is called after people."""


@dataclass(frozen=True)
class RepeatingKey:
    """A column that looks like a key and repeats.

    values: different ones. rows: those that have one. sign: what else says so.
    """

    column: str
    values: int
    rows: int
    sign: str = ""

    @property
    def why(self) -> str:
        """What is noticed of it."""
        beside = f", and {self.sign}" if self.sign else ""
        return f"looks like a key and repeats: {self.values:,} values in {self.rows:,} rows{beside}"

    def __str__(self) -> str:
        return f"{self.column!r} {self.why}"


def unit_refusal(repeating: Sequence[RepeatingKey]) -> InputError:
    """The sentence for a table of which nobody has said whose rows these are. repeating: its keys, one at least."""
    person = json.dumps(repeating[0].column, ensure_ascii=False)
    return InputError(
        f"{'; '.join(map(str, repeating))}. k rows may then be fewer than k people, so say in [data] whose rows these are: "
        f'person = {person} with one_row = "first", or with rows_per_person = 5 to keep so many rows of each; '
        'rows_per_person = 1 if each row is a person of its own; rows_per_person = "any" if claims shall count rows'
    )


def possible_keys(columns: Sequence[str], attributes: Mapping[str, Attribute]) -> list[str]:
    """The columns that may be keys of people: identifiers, and what is called like one. attributes: those described.

    >>> possible_keys(["patientId", "hospital_id", "age", "name"], {"name": Attribute("identifier")})
    ['patientId']
    """
    identifiers = {name for name, attribute in attributes.items() if attribute.role is Role.IDENTIFIER}
    return [
        column
        for column in dict.fromkeys(columns)
        if columns.count(column) == 1
        and not is_called_otherwise(column)
        and (column in identifiers or _is_number_of_somebody(column) or words_of(column) & set(_PEOPLE.split()))
    ]


def is_called_otherwise(column: str) -> bool:
    """Whether a column is called after something that is no person, as `hospital_id`, or after what several can share."""
    return bool(words_of(column) & (set(_NAMES.split()) | set(_OTHERS.split())))


def _is_number_of_somebody(column: str) -> bool:
    """Whether a column is called like a number of people: `id`, `patient_id`, `respid`, and not `familyid` or `paid`."""
    words = words_of(column)
    ends = {word.removesuffix("id") for word in words if word.endswith("id") and word not in _NO_IDS.split()}
    return bool(words & set(_KEYS.split()) or ends - set(_OTHERS.split()) - {""})


def repeating_keys(source: Source, keys: Sequence[str], missing: Collection[str]) -> Iterator[RepeatingKey]:
    """Those of some columns that repeat. missing: texts that stand for no value, beside null and NaN."""
    for key in keys:
        try:
            values, rows = _occurrences(source, key, missing)
        except TooLittleMemoryError:
            raise
        except InputError:  # lists and the like are no keys
            continue
        if (2 if words_of(key) & set(_KEYS.split()) else _MANY) <= values < rows:
            yield RepeatingKey(key, values, rows)


def _occurrences(source: Source, column: str, missing: Collection[str]) -> tuple[int, int]:
    """How many different values a column has, and how many rows have one."""
    if isinstance(source, Engine):
        return source.occurrences(column, missing)
    rows = source.distinct_rows([column])
    texts = rows.values[column]
    counted = [(texts[code], n) for code, n in zip(rows.codes[column].tolist(), rows.counts.tolist())]
    whole = [(text, n) for text, n in counted if text is not None and text not in missing]
    return len({text for text, _ in whole}), sum(n for _, n in whole)
