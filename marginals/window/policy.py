"""The policy: what a release must keep, each demand with its sentence and what it forbids in this table; wanted analyses."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit
from werkzeug.wrappers import Request, Response

from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from checks.requirements import Requirements
from marginals.config.presets import PRESETS, PairsOfTable, Preset, preset_of
from marginals.errors import InputError
from marginals.named_rules import NamedRule, rules_of
from marginals.publishing.policy import Policy, base_names, strategy_names
from marginals.publishing.proposals import NO_DIVERSITY, PROPOSED, proposed_diversity
from marginals.say.claims import claim_meaning, claim_title
from marginals.tables.attribute import Role
from marginals.tables.table import Table
from marginals.window.policy_choices import CHOICES, PolicyChoice, Share, class_failures, costs
from marginals.window.project import comments, drop, put, remove_comment, section
from marginals.window.rendering import FieldError
from marginals.window.window import STEPS, Window
from models.errors import MarginalsError
from models.tables.contingency_table import ContingencyTable

RULES = ("cms-11", "tre-10", "abs-10", "all-of-us-21")

COUNTED = (
    (
        "k_link",
        "In each published table, every combination of nonsensitive values that occurs is shared by at least so many.",
    ),
    (
        "k_combinatorial",
        "For all tables together: every combination of nonsensitive values that they leave possible could be shared by at "
        "least so many. In the data it can be rarer.",
    ),
    ("min_cell", "No published cell has a smaller count other than 0, sensitive values included, and none follows."),
    (
        "no_small_certain",
        "Nobody can be certain that a combination of nonsensitive values has fewer. You attest it; readers can refute it, "
        "and not prove it.",
    ),
    (
        "min_published_cell",
        "No published cell has a smaller count other than 0, sensitive values included; one can follow.",
    ),
)
"""Demands that are a least count, each with its sentence."""


def counted_by(preset: Preset) -> tuple[tuple[str, str], ...]:
    """Those of the demands that fit a preset."""
    keys = ("k_link", preset.of_all, preset.of_cells)
    return tuple((key, sentence) for key, sentence in COUNTED if key in keys)


KINDS = (
    ("entropy", "l", "What readers conclude about a person stays as uncertain as between l equally likely values."),
    ("distinct", "l", "At least l values stay possible for everybody."),
    ("simple", "l", "No value becomes likelier than 1 in l."),
    (
        "recursive",
        "c,l",
        "The likeliest value is less than c times as likely as the l-th and all less likely ones together.",
    ),
)
"""Kinds of diversity that the form offers; any other is typed."""


@dataclass(frozen=True)
class Example:
    """What a demand forbids in this table: how many of how many cells or classes of a table of two attributes fail it."""

    failing: int
    of: int
    attributes: tuple[str, str]
    smallest: int

    @property
    def sentence(self) -> str:
        """In words, without any value."""
        first, second = self.attributes
        if not self.of:
            return ""
        if not self.failing:
            return f"In this table: all {self.of:,} combinations of {first} and {second} keep it, as fine as they are."
        fail = "fails" if self.failing == 1 else "fail"
        rows = "row" if self.smallest == 1 else "rows"
        smallest = f", the smallest with {self.smallest:,} {rows}" if self.smallest else ""
        return (
            f"In this table: {self.failing:,} of {self.of:,} combinations of {first} and {second} {fail} it as they "
            f"are{smallest}. So they are published coarser, or not together."
        )


def show(window: Window, _request: Request) -> Response:
    """The page."""
    if not window.has_config or window.file.problem() is not None:
        return window.back("/table")
    config, counted = window.config(), window.counting.table()
    policy, table = config.policy, counted.value
    names = [name for name, attribute in config.source.used.items()]
    sensitive = [name for name, attribute in config.source.used.items() if attribute.role.value == "sensitive"]
    plain = window.file.plain
    demanded = plain.get("privacy", {}).get("diversity")
    of_each = demanded if isinstance(demanded, dict) else dict.fromkeys(sensitive, demanded)
    counts_missing = [name for name, column in config.source.used.items() if column.counts_missing]
    offers = [_offer(choice, table, policy, of_each, sensitive, counts_missing) for choice in CHOICES]
    pairs = {frozenset(analysis.attributes) for analysis in policy.analyses if len(analysis.attributes) == 2}
    listed = plain.get("privacy", {}).get("rules", [])
    return window.page(
        "policy.html",
        "policy",
        counted=counted,
        policy=policy,
        offers=offers,
        is_custom=not any(offer.is_demanded for offer in offers),
        now=costs(
            table,
            policy.least("k_link") or 1,
            policy.least(preset_of(policy).of_cells),
            {name: text for name, text in of_each.items() if isinstance(text, str) and text != NO_DIVERSITY},
        ),
        counts=[
            (key, sentence, getattr(policy, key), example(table, policy, key))
            for key, sentence in counted_by(preset_of(policy))
        ],
        presets=list(PRESETS.values()),
        preset=preset_of(policy),
        pairs_of_table="" if table is None else PairsOfTable.of(table, policy.least("k_link") or 10).sentence,
        kinds=KINDS,
        diversities=[
            (
                name,
                _as_text(of_each.get(name)),
                diversity_example(table, name, of_each.get(name)),
                _proposed(table, name),
            )
            for name in sensitive
        ],
        silent=policy.silent_on(sensitive),
        rules=[(rule, rule.name in ([listed] if isinstance(listed, str) else listed)) for rule in map(_named, RULES)],
        names=names,
        sensitive=sensitive,
        pairs=pairs,
        larger=[analysis for analysis in policy.analyses if len(analysis.attributes) != 2],
        weights={frozenset(analysis.attributes): analysis.weight for analysis in policy.analyses},
        strategies=strategy_names(),
        bases=base_names(),
        base=policy.base if isinstance(policy.base, str) else "levels",
        claims=_claims(policy, sensitive, counts_missing),
    )


@dataclass(frozen=True)
class Offer:
    """A policy to choose, for this table. claims: what it demands, a title and a sentence each. is_demanded: already."""

    choice: PolicyChoice
    claims: Sequence[tuple[str, str]]
    shares: Sequence[Share]
    is_demanded: bool


def _offer(
    choice: PolicyChoice,
    table: Table | None,
    policy: Policy,
    stated: Mapping[str, object],
    sensitive: Sequence[str],
    counts_missing: Sequence[str],
) -> Offer:
    """A choice for a table. Its six parameters are what the page knows of the config."""
    demands = choice.diversities(table, stated, sensitive)
    chosen = choice.policy(policy, demands)
    is_demanded = all(getattr(policy, key) == value for key, value in choice.counts(preset_of(policy)).items()) and all(
        stated.get(name) == demand for name, demand in demands.items()
    )
    shares = costs(table, choice.k, choice.least_cell, demands)
    return Offer(choice, _claims(chosen, sensitive, counts_missing), shares, is_demanded)


def _proposed(table: Table | None, name: str) -> str:
    """What is demanded of an attribute unless somebody says otherwise: what all rows satisfy; or the strongest of those."""
    known = table is not None and name in table.sensitive
    return (proposed_diversity(table, name) if table is not None and known else None) or PROPOSED


def _named(name: str) -> NamedRule:
    return rules_of(name)[0]


def _as_text(demanded: object) -> str:
    if demanded is None:
        return ""
    return demanded if isinstance(demanded, str) else ", ".join(map(str, demanded))  # type: ignore[call-overload]


def _claims(policy: Policy, sensitive: Sequence[str], counts_missing: Sequence[str]) -> list[tuple[str, str]]:
    """What a release under a policy claims, in words."""
    try:
        requirements: Requirements = policy.requirements(tuple(sensitive), None, counts_missing)
        return [(claim_title(claim), claim_meaning(claim, sensitive)) for claim in requirements.claims]
    except MarginalsError:
        return []


def example(table: Table | None, policy: Policy, key: str) -> str:
    """What a least count forbids in the table, of the two attributes with most values."""
    least = policy.least(key)
    if table is None or least is None:
        return ""
    public = _widest(table, table.quasi_identifiers)
    if key in ("min_cell", "min_published_cell") and table.sensitive and public:
        first, second = public[0], table.sensitive[0]
    elif len(public) >= 2:
        first, second = public[:2]
    else:
        return ""
    counts = _pair(table, first, second).counts
    if not len(counts):
        return ""
    return Example(int((counts < least).sum()), len(counts), (first, second), int(counts.min())).sentence


def diversity_example(table: Table | None, name: str, demanded: object) -> str:
    """What a diversity forbids in the table: of the quasi-identifier with most values, each value a class."""
    if table is None or not isinstance(demanded, str) or name not in table.sensitive or not table.quasi_identifiers:
        return ""
    first = _widest(table, table.quasi_identifiers)[0]
    try:
        failing, classes = class_failures(table, first, name, demanded)
    except (MarginalsError, ValueError):
        return ""
    if not failing:
        return f"In this table: all {classes:,} values of {first} keep it."
    return (
        f"In this table: of {failing:,} of {classes:,} values of {first} too much would be known about {name}. "
        "So the two are published coarser, or not together."
    )


def _widest(table: Table, names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: -table.domain.hierarchy(name).size(0))


def _pair(table: Table, first: str, second: str) -> ContingencyTable:
    return table.cube.table(table.domain.mask({first: 0, second: 0}))


def save(window: Window, request: Request) -> Response:
    """Write the demands of the form."""
    form = request.form
    counted_keys = counted_by(preset_of(window.config().policy))
    counts = {key: _count(form, key) for key, _ in counted_keys}
    of_each = {
        key.removeprefix("diversity:"): value.replace(" ", "")
        for key, value in form.items()
        if key.startswith("diversity:")
    }
    offered = {
        key.removeprefix("kind:"): (value, form.get(f"number:{key.removeprefix('kind:')}", "").replace(" ", ""))
        for key, value in form.items()
        if key.startswith("kind:")
    }
    for name, (kind, number) in offered.items():
        if kind == NO_DIVERSITY:
            of_each[name] = NO_DIVERSITY
        elif kind != "typed":
            of_each[name] = f"{kind}:{number}"
    for name, text in of_each.items():
        if text and text != NO_DIVERSITY:
            _require_diversity(name, text)
    rules = [rule for rule in form.getlist("rules") if rule in RULES]

    def change(document: tomlkit.TOMLDocument) -> None:
        privacy = section(document, "privacy")
        for key, value in counts.items():
            put(privacy, key, value)
        _put_diversity(privacy, of_each)
        stated_rules = privacy.get("rules", [])
        files = [
            rule for rule in ([stated_rules] if isinstance(stated_rules, str) else stated_rules) if rule not in RULES
        ]
        put(privacy, "rules", [*files, *rules])

    return window.edit(request, change, "/policy", sentence="The policy is written.")


def _require_diversity(name: str, text: str) -> None:
    """Raise FieldError for what is no diversity, with what to type instead."""
    for part in text.split(",") if text.count(":") > 1 else [text]:
        try:
            parse_diversity(part)
        except CriterionError as error:
            kind = part.partition(":")[0]
            form = next((form for known, form, _ in KINDS if known == kind), "")
            example = {"l": "a number, such as 3", "c,l": "two numbers with a comma between them, such as 3,2"}.get(
                form
            )
            is_unread = example is not None and "form" in error.remedies
            raise FieldError(
                f"number:{name}", f"type {example}, for the {kind} of {name}" if is_unread else str(error)
            ) from None


def save_choice(window: Window, request: Request) -> Response:
    """Write the policy that was chosen, with a demand for each sensitive column."""
    choice = next((choice for choice in CHOICES if choice.key == request.form.get("choice")), None)
    if choice is None:
        raise InputError(f"choose one of {', '.join(choice.name for choice in CHOICES)}")
    config = window.config()
    sensitive = [name for name, column in config.source.used.items() if column.role is Role.SENSITIVE]
    demanded = window.file.plain.get("privacy", {}).get("diversity")
    stated = demanded if isinstance(demanded, dict) else dict.fromkeys(sensitive, demanded)
    demands = choice.diversities(window.counting.table().value, stated, sensitive)

    def change(document: tomlkit.TOMLDocument) -> None:
        privacy = section(document, "privacy")
        for key, value in choice.counts(preset_of(config.policy)).items():
            put(privacy, key, value)
        _put_diversity(privacy, demands)

    return window.edit(request, change, "/policy", sentence=f"The policy is that of the choice: {choice.name}.")


def demand_proposed(window: Window, request: Request) -> Response:
    """Demand of a sensitive attribute what is proposed of it."""
    name = request.form.get("attribute", "")
    config = window.config()
    sensitive = [known for known, column in config.source.used.items() if column.role is Role.SENSITIVE]
    if name not in sensitive:
        raise InputError(f"{name!r} is no sensitive column")
    demanded = _proposed(window.counting.table().value, name)
    now = config.policy.diversity
    of_each = dict(now) if isinstance(now, Mapping) else dict.fromkeys(sensitive, now) if now is not None else {}
    texts = {attribute: text for attribute, text in of_each.items() if isinstance(text, str)}

    def change(document: tomlkit.TOMLDocument) -> None:
        _put_diversity(section(document, "privacy"), {**texts, name: demanded})

    back = request.form.get("back", "")
    allowed = back in {f"/{key}" for key, _ in STEPS}
    return window.edit(request, change, back if allowed else "/policy", sentence=f"{demanded} is demanded of {name}.")


def _put_diversity(privacy: Any, of_each: Mapping[str, str]) -> None:
    """One text where all sensitive attributes have the same, else one for each; lists by level stay as they are."""
    stated_diversity = privacy.get("diversity")
    now = stated_diversity.unwrap() if hasattr(stated_diversity, "unwrap") else stated_diversity
    by_level: dict[str, object] = (
        {name: value for name, value in now.items() if isinstance(value, list)} if isinstance(now, dict) else {}
    )
    wanted: dict[str, object] = {**{name: text for name, text in of_each.items() if text}, **by_level}
    if not of_each and not by_level:
        return
    if len(set(map(str, wanted.values()))) == 1 and len(wanted) == len(of_each) and not by_level:
        put(privacy, "diversity", next(iter(wanted.values())))
    elif not wanted:
        put(privacy, "diversity", None)
    elif wanted != now:
        inline = tomlkit.inline_table()
        inline.update(wanted)
        privacy["diversity"] = inline
    for comment in list(comments(privacy)):
        told = re.match(r"# (\w+:[\d.,]+): ", comment.trivia.comment)
        if told is not None and told[1] not in map(str, wanted.values()):
            remove_comment(privacy, comment)


def save_search(window: Window, request: Request) -> Response:
    """Write how the search goes about it."""
    form = request.form
    numbers = {
        key: _count(form, key, least)
        for key, least in (("max_sensitive_margins", 0), ("max_attributes", 1), ("seed", 0))
    }
    limit = _positive(form.get("time_limit", "60"), "time_limit")
    strategy, base = form.get("strategy", Policy.strategy), form.get("base", "auto")

    def change(document: tomlkit.TOMLDocument) -> None:
        search = section(document, "search")
        put(search, "strategy", strategy)
        for key, value in numbers.items():
            put(search, key, value)
        put(search, "time_limit", limit)
        if base != "levels":
            put(section(document, "base"), "table", base)

    return window.edit(request, change, "/policy", sentence="The search is written.")


def save_preset(window: Window, request: Request) -> Response:
    """Write the demands of a preset in place of those of another: each of a number that was there already."""
    chosen, config = request.form.get("preset", ""), window.config()
    if chosen not in PRESETS:
        raise InputError(f"a preset is {' or '.join(PRESETS)}")
    preset, before = PRESETS[chosen], preset_of(config.policy)

    def change(document: tomlkit.TOMLDocument) -> None:
        if preset is before:
            return
        privacy, search = section(document, "privacy"), section(document, "search")
        for now, then in ((preset.of_all, before.of_all), (preset.of_cells, before.of_cells)):
            put(privacy, now, None if then not in privacy else int(privacy[then]))
            drop(privacy, then)
        for comment in comments(document):
            agree = re.sub(rf"{before.name} \(chosen\)", f"{before.name} (not chosen)", comment.trivia.comment)
            comment.trivia.comment = re.sub(rf"{preset.name} \(not chosen[^)]*\)", f"{preset.name} (chosen)", agree)
        for key in before.search:
            put(search, key, None)
        for key, value in preset.search.items():
            put(search, key, value)

    preset.require(config.source.unit.stated)
    return window.edit(request, change, "/policy", sentence=f"The preset {preset.name} is written.")


def save_wanted(window: Window, request: Request) -> Response:
    """Write the pairs that are ticked as wanted analyses; others than pairs stay."""
    names = set(window.config().source.used)
    try:
        ticked = [(str(first), str(second)) for first, second in map(json.loads, request.form.getlist("pair"))]
    except (ValueError, TypeError, RecursionError):
        ticked = [("", "")]
    if not all(len({*pair}) == 2 and {*pair} <= names for pair in ticked):
        raise InputError("there is no such pair of columns; load the page again")
    return want(window, request, ticked, None, "/policy")


def want(
    window: Window,
    request: Request,
    pairs: Sequence[tuple[str, str]],
    added: tuple[tuple[str, str], float] | None,
    back: str,
) -> Response:
    """Write wanted pairs in place of those that are there; or add one with its weight."""

    def change(document: tomlkit.TOMLDocument) -> None:
        now = list(document.unwrap().get("search", {}).get("wanted", []))
        if added is not None:
            entries = [entry_of for entry_of in now if set(entry_of["attributes"]) != set(added[0])]
            entries.append({"attributes": list(added[0]), "weight": added[1]})
        else:
            wanted = {frozenset(pair) for pair in pairs}
            entries = [
                entry_of
                for entry_of in now
                if len(entry_of["attributes"]) != 2 or frozenset(entry_of["attributes"]) in wanted
            ]
            known = {frozenset(entry["attributes"]) for entry in entries}
            entries += [{"attributes": list(pair)} for pair in pairs if frozenset(pair) not in known]
        if entries == now:
            return
        search = section(document, "search")
        search.pop("wanted", None)
        if entries:
            tables = tomlkit.aot()
            for entry in entries:
                entry_of = tomlkit.table()
                entry_of.update(entry)
                tables.append(entry_of)
            search["wanted"] = tables

    return window.edit(request, change, back, sentence="The wanted analyses are written.")


def _count(form: Mapping[str, str], key: str, least: int = 1) -> int | None:
    text = form.get(key, "").strip()
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise FieldError(key, f"{key} is a whole number of at least {least}, such as {max(least, 10)}, or empty")
    return int(text)


def _positive(text: str, key: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        raise FieldError(key, f"{key} is a number, such as 2") from None
    if not 0 <= number < 1e9:
        raise FieldError(key, f"{key} is a number of at least 0, such as 2")
    return int(number) if number.is_integer() and key != "time_limit" else number


ROUTES = (
    ("GET", "/policy", show),
    ("POST", "/policy", save),
    ("POST", "/policy/choice", save_choice),
    ("POST", "/policy/demand", demand_proposed),
    ("POST", "/policy/preset", save_preset),
    ("POST", "/policy/search", save_search),
    ("POST", "/policy/wanted", save_wanted),
)
