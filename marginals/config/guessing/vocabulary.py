"""Words that tell what a column is about: in its name, in its description, or among its values; in some languages."""

import re
from collections.abc import Collection, Iterable

from marginals.tables.column import Column, words_in_order


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


IDENTIFYING = _set("""
    id uuid guid key ssn nino passport name firstname lastname forename surname email mail phone telephone mobile fax
    address street iban account licence license username login user ip url mrn nhs
    vorname nachname familienname adresse strasse telefon handy konto ausweis versichertennummer patientennummer
    nom prenom rue telephone courriel nombre apellido apellidos direccion calle telefono correo dni nif
    cognome indirizzo via codicefiscale naam voornaam achternaam adres straat
    """)
"""Names of columns that name or number people."""

NUMBERING = _set("""
    id ids idno idnr idnum nr no num number uid guid uuid pid pidnum ptid patid patno patnr patientid subjid usubjid
    personid caseid userid memberid clientid customerid mrn ssn nhs nino passport personennummer patientennummer
    versichertennummer kundennummer personnummer patient person subject participant respondent proband client customer member
    """)
"""Names of columns that number somebody, once or several times."""

_HOW_MANY = _set("nr no num number")
"""Words that number somebody, or say how many of something there are: `patient_no`, `num_children`."""

PLACES = _set("longitude latitude lon lng lat gps coordinates easting northing laengengrad breitengrad")
"""Names of columns that say exactly where somebody is."""

SENSITIVE = _list("""
    diagnosis diagnoses diagnose diagnosen diagnostic diagnostico diagnosi diagnostique disease krankheit erkrankung
    maladie enfermedad malattia ziekte doenca illness condition disorder hiv aids icd cause causes todesursache medication
    medikament medikation medicament medicacion medicamento farmaco drug therapy therapie terapia treatment behandlung
    traitement tratamiento severity stage disability behinderung handicap discapacidad health gesundheit sante salud salute
    religion religione konfession glaube faith denomination orientation sexuality party partei parti partido partito pid
    partyid political affiliation vote votes voted voting conviction convictions vorstrafe offence offense offences offenses
    crime felony charge charges sentence arrest arrested arrests rearrest rearrested recidivism prison union gewerkschaft
    syndicat sindicato salary salaries gehalt lohn salaire salario stipendio sueldo income incomes einkommen revenu ingreso
    ingresos reddito inkomen wage wages earnings earning verdienst debt debts schulden dette deuda wealth vermogen patrimoine
    credit kredit score scores grade grades
    """)
"""Words in the names of columns that nobody should learn about a person, the most telling first."""

_INCOMES = ("inc", "income", "incm", "earn", "wage", "salary")
"""How abbreviated names of incomes end: `hhninc`, `faminc`, `lwage`."""

CATEGORIES = _set("""
    state region county country district province department canton sector industry occupation class type group category
    kind code party status race ethnicity language religion center centre hospital ward site clinic bundesland
    kreis gemeinde landkreis comune departement sector branche beruf
    """)
"""Names of columns whose numbers are names, which have no order and no distance."""

CODES = _set("zip zipcode postcode postal plz code codes icd nace isco naics soc")
"""Names of columns whose values are codes that begin with what they have in common."""

AGES = _set("age ages alter edad eta leeftijd idade alder years")
"""Names of columns of ages in years."""

TIMES = _set(
    "week month day year quarter time date wave period round visit woche monat tag jahr welle semaine mois jour"
)
"""Names of columns that count time, of which balanced tables have as many rows each."""

_STEMS = {
    "illnesses and causes of death": """
        neoplas carcin tumor tumour cancer leukem leukaem lymphom melanom diabet asthm hypertens circulat respirat digest
        nervous mental psychi schizo depress dement alzheim parkins epilep stroke infarct cardi coronar hepat tubercul
        pneumon influenz measl infect injur fractur poison overdos malignan benign syphil gonorrh chlamyd homicid suicid
        death shooting krebs herzinfarkt grippe
        """,
    "offences": "robber burglar theft larcen assault murder manslaughter rape arson fraud felon misdemean convict",
    "religions": """
        catholic protestant muslim islam jewish judais hindu buddh christian atheis lutheran orthodox sikh mormon baptist
        methodist presbyt katholi evangeli
        """,
    "parties": "republican democrat liberal conservativ socialist communist labour",
    "sexual orientations": "lesbian bisexual homosexual heterosexual",
    "drugs": "alcohol cocain heroin opioid opiat cannabis",
}
"""How words begin that stand for what nobody should learn about a person."""

_WHOLE = {"illnesses and causes of death": {"flu", "hiv", "aids", "heart", "lung"}, "sexual orientations": {"gay"}}
"""Whole words of the same kinds."""

_WORD = re.compile(r"[^\W\d_]+")

_RATINGS = {"poor", "bad", "fair", "good", "excellent", "very good", "very poor", "very bad"}


def says_how_many(name: str) -> bool:
    """Whether the name of a column says how many there are of what is not somebody.

    >>> says_how_many("num_open_accounts"), says_how_many("num_client"), says_how_many("account_num")
    (True, False, False)
    """
    first, *others = words_in_order(name) or [""]
    return first in _HOW_MANY and bool(others) and not NUMBERING & set(others)


def sensitive_name(words: Collection[str]) -> tuple[int, str] | None:
    """The rank and the word by which a name says that nobody should learn what it names; None where none does."""
    for rank, word in enumerate(SENSITIVE):
        if word in words:
            return rank, word
    abbreviated = sorted(word for word in words if len(word) > 4 and word.endswith(_INCOMES))
    return (SENSITIVE.index("income"), abbreviated[0]) if abbreviated else None


def sensitive_values(column: Column, meanings: Collection[str] = ()) -> str | None:
    """What the values of at least half the rows are, where nobody should learn it about a person; None for anything else.

    meanings: what the values are labelled, where they are codes.
    """
    if len(column.values) < 2:
        return None
    texts = [value.lower() for value in (meanings or column.values)]
    weights = [1] * len(texts) if meanings else column.counts.tolist()
    if len(_RATINGS & set(texts)) >= 2 and {"poor", "bad"} & {word for text in texts for word in text.split()}:
        return "ratings, as of health"
    spoken = [(words, weight) for text, weight in zip(texts, weights) if (words := _WORD.findall(text))]
    for kind, stems in _STEMS.items():
        begins, whole = tuple(stems.split()), _WHOLE.get(kind, set())
        if 2 * sum(weight for words, weight in spoken if _tells(words, begins, whole)) >= sum(weights):
            return kind
    return None


def _tells(words: Iterable[str], begins: tuple[str, ...], whole: Collection[str]) -> bool:
    return any(word.startswith(begins) or word in whole for word in words)
