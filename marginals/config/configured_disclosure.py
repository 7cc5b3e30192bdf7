"""What the section [risk] of a config asks for: the risk that it describes, and the table disclosed under its rules."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from marginals.config.release_toml import Config
from marginals.disclosure.disclosing_files import DisclosedFile, disclose_rows, disclosing_engine
from marginals.disclosure.disclosure_sql import disclose_file
from marginals.disclosure.row_order import RowOrder, Shuffled
from marginals.errors import InputError
from marginals.files.output import OutputFile
from marginals.risk.assessment import RiskAssessment
from marginals.risk.attackers import Attackers, Linkage
from marginals.risk.people_table import PeopleTable
from marginals.risk.wider_hierarchies import with_values_of
from marginals.tables.attribute import Role
from marginals.tables.keys import unit_refusal
from marginals.tables.rows import Rows
from marginals.tables.sources.files import read_frame


def disclosure_risk(config: Config, levels: Mapping[str, int] | None = None) -> RiskAssessment:
    """The risk that a config describes: its table under its rules, with some attributes at levels throughout.

    Raises InputError for files, columns or conditions that cannot be used, DomainMismatchError or DisclosureRuleError
    for attributes and levels that do not exist, and InputError where a column looks like a key of people and repeats,
    and nobody has said whose rows these are.

    >>> from tempfile import TemporaryDirectory
    >>> from marginals.example import attributes, frame
    >>> from marginals.publishing.policy import Policy
    >>> from marginals.tables.source import TableSource
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_csv(f"{folder}/people.csv", index=False)
    ...     people = TableSource(origin=f"{folder}/people.csv", attributes=attributes)
    ...     config = Config(Path(folder), people, Policy())
    ...     assessment = disclosure_risk(config, {"age": 1})
    >>> round(assessment.of_table().bayes_risk, 3)
    0.167
    """
    rows, section = config.read_rows(), config.risk
    if rows.repeating:
        raise unit_refusal(rows.repeating)
    attackers = _attackers(config, rows)
    rows = with_values_of(config.source, config.k, rows, attackers.tables)
    personal = None if section.personal_weights is None else _people_table(config, section.personal_weights)
    harm = section.harm.with_personal(personal)
    assessment = RiskAssessment.of(rows, attackers, harm, section.rules, levels, section.step_utility)
    return replace(assessment, row_weight=section.row_weight, clusters=section.clusters)


def _attackers(config: Config, rows: Rows) -> Attackers:
    """The attackers that a config describes; without dictionaries they know the quasi-identifiers of the rows."""
    section = config.risk
    dictionaries = tuple(_people_table(config, path) for path in section.dictionaries)
    linkage = None
    if section.linkage is not None:
        linkage = Linkage(_people_table(config, section.linkage.table), section.linkage.columns)
    assumed = dictionaries or (PeopleTable.of_quasi_identifiers(rows),)
    return Attackers(assumed, section.prior, linkage, section.similarity)


def _people_table(config: Config, path: Path) -> PeopleTable:
    """The table of people in a file. Raises InputError where it cannot be read or has no rows."""
    frame = read_frame(path, config.source.form)
    if not len(frame):
        raise InputError(f"{path.name} has no rows")
    attributes = config.source.attributes.items()
    identifier = next((name for name, attribute in attributes if attribute.role is Role.IDENTIFIER), None)
    own_identifier = identifier if identifier in frame.columns else None
    return PeopleTable(path.name, frame, own_identifier, frozenset(config.source.missing))


def disclose_table(
    config: Config,
    target: OutputFile,
    order: RowOrder = Shuffled(),  # noqa: B008 - it is frozen
) -> DisclosedFile:
    """Write the table of a config as its rules disclose it, as CSV; shuffled, or in the order of the source.

    By DuckDB, file to file, where the config asks for it or "auto" finds it; else by pandas, in memory. Raises InputError
    for a config without rules, or what cannot be read, evaluated or written; then nothing is written.
    """
    rules = config.risk.rules
    if not rules:
        raise InputError(f"{config.path.name} has no [[risk.rules]], which say what is hidden or generalized")
    for rule in rules:
        if rule.attribute not in config.source.used:
            names = ", ".join(config.source.used)
            raise InputError(f"risk.rules names {rule.attribute!r}, which is no attribute; these are {names}")
    engine = disclosing_engine(config.source)
    if engine == "pandas":
        return DisclosedFile(disclose_rows(config.read_rows(), rules, target, order), engine)
    return DisclosedFile(disclose_file(config.source, target.path, config.read_table().domain, rules, order), engine)
