"""The policy: the demands on a release, each in words and with its costs in this table; wanted analyses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import tomlkit
from werkzeug.wrappers import Request, Response

from checks.diversity.registry import PRESETS as DEMANDS
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from marginals.config.presets import PRESETS, Preset, preset_of
from marginals.errors import InputError
from marginals.named_rules import named_rule, rule_names
from marginals.publishing.policy import NO_DIVERSITY, PROPOSED, Policy
from marginals.publishing.wanted import WEIGHT
from marginals.say.claims import MEANINGS, claim_meaning, claim_term
from marginals.steward import AS_THE_REST
from marginals.tables.attribute import Codebook, Harm, is_percent
from marginals.tables.table import Table
from marginals.window.policy_choices import CHOICES, costs, harm_of
from marginals.window.project import drop, put, section
from marginals.window.window import Window, sensitive_of
from models.errors import MarginalsError
from models.tables.hierarchy import SUPPRESSED


def _counted_by(preset: Preset) -> tuple[str, str, str]:
    return "k_link", preset.of_all, preset.of_cells


_TYPED = "diversity:"  # fields with the diversity of a column
KINDS = ("entropy:", "distinct:", "simple:", "recursive:")  # beside the named demands


def show(window: Window, _request: Request) -> Response:
    """Return the page."""
    config, counted = window.config(), window.counting.table()
    policy, table, used = config.policy, counted.value, config.source.used
    sensitive = sensitive_of(config)
    diversities = _stated_diversities(window, sensitive)
    counts_missing = [name for name, column in used.items() if column.counts_missing]
    offers = []
    for choice in CHOICES:
        demands, counts = choice.diversities(diversities, sensitive), choice.counts(preset_of(policy))
        is_demanded = demands.items() <= diversities.items() and all(getattr(policy, k) == n for k, n in counts.items())
        shares = costs(table, choice.k, choice.least_cell, demands)
        offers.append({"choice": choice, "shares": shares, "is_demanded": is_demanded})
    texts = {name: text for name, text in diversities.items() if isinstance(text, str) and text != NO_DIVERSITY}
    preset = preset_of(policy)
    return window.page(
        "policy.html",
        "policy",
        counted=counted,
        policy=policy,
        offers=offers,
        is_custom=not any(offer["is_demanded"] for offer in offers),
        now=costs(table, policy.least("k_link") or 1, policy.least(preset.of_cells), texts),
        counts=[(key, MEANINGS[key.replace("_", "-")], getattr(policy, key)) for key in _counted_by(preset)],
        demands=[*DEMANDS, *KINDS, NO_DIVERSITY],
        diversities=[(name, diversities.get(name) or PROPOSED) for name in sensitive],
        harms=[] if table is None else [harm_of(table, name, used[name]) for name in sensitive if name in table.roles],
        silent=policy.silent_on(sensitive),
        word=(Codebook() if table is None else table.codebook).word,
        rules=[(named_rule(name), named_rule(name) in policy.named_rules) for name in rule_names()],
        sensitive=sensitive,
        claims=_claims(policy, sensitive, counts_missing, table),
    )


def _stated_diversities(window: Window, sensitive: Sequence[str]) -> Mapping[str, object]:
    demanded = window.file.plain.get("privacy", {}).get("diversity")
    return demanded if isinstance(demanded, dict) else dict.fromkeys(sensitive, demanded)


def _claims(
    policy: Policy, sensitive: Sequence[str], counts_missing: Sequence[str], table: Table | None
) -> list[tuple[str, str]]:
    harm = {} if table is None else table.harm
    try:
        requirements = policy.requirements(tuple(sensitive), None, counts_missing, harm)
        return [(claim_term(c.criterion, c.parameters), claim_meaning(c, sensitive)) for c in requirements.claims]
    except MarginalsError:
        return []


def save(window: Window, request: Request) -> Response:
    """Write the demands of the form."""
    form = request.form
    counts = {key: _count(form, key) for key in _counted_by(preset_of(window.config().policy))}
    typed = {name.removeprefix(_TYPED): text.strip() for name, text in form.items() if name.startswith(_TYPED)}
    for name, text in typed.items():
        try:
            _ = None if text in (NO_DIVERSITY, *DEMANDS) else parse_diversity(text)
        except CriterionError as error:
            error.about(f"{_TYPED}{name}")
            raise
    rules = [rule for rule in form.getlist("rules") if rule in rule_names()]

    return _demand(window, request, {**counts, "rules": rules}, typed, "The policy is written.")


def _demand(
    window: Window,
    request: Request,
    keys: Mapping[str, object],
    diversities: Mapping[str, str],
    sentence: str,
    back: str = "/policy",
) -> Response:

    def change(document: tomlkit.TOMLDocument) -> None:
        privacy = section(document, "privacy")
        for key, value in keys.items():
            put(privacy, key, value)
        _put_diversity(privacy, diversities)

    answer = window.edit(request, change, back, sentence=sentence)
    if not window.is_refused:
        window.choose()
    return answer


def save_choice(window: Window, request: Request) -> Response:
    """Write the policy that was chosen, with a demand for each sensitive column."""
    choice = next((choice for choice in CHOICES if choice.key == request.form.get("choice")), None)
    if choice is None:
        raise InputError(f"choose one of {', '.join(choice.name for choice in CHOICES)}")
    config = window.config()
    sensitive = sensitive_of(config)
    counts, sentence = choice.counts(preset_of(config.policy)), f"The policy is that of the choice: {choice.name}."
    demands = choice.diversities(_stated_diversities(window, sensitive), sensitive)
    return _demand(window, request, counts, demands, sentence, "/search")


def save_harm(window: Window, request: Request) -> Response:
    """Write the values of a sensitive column that harm, as somebody confirms, and how sure anybody may become of each."""
    form, config, table = request.form, window.config(), window.counting.table().value
    name = form.get("attribute", "")
    if name not in sensitive_of(config):
        raise InputError(f"{name!r} is no sensitive column")
    if table is None or name not in table.roles:
        raise InputError("the rows are still being counted; send the form again once they are")
    attribute, answer = config.source.attributes[name], form.get("answer")
    labels = {label for label, _ in harm_of(table, name, attribute).values}
    harmless = sorted(labels - {*form.getlist("harmful")})
    typed = {key.removeprefix("most:"): text.strip() for key, text in form.items() if key.startswith("most:")}
    most = {label: _percent(label, text) for label, text in typed.items() if text and label in labels | {SUPPRESSED}}
    if answer is not None:
        harmless, most = list(attribute.harmless) if answer == "yes" else [], dict(attribute.at_most)
    elif len(harmless) == len(labels):
        raise InputError("tick the values that harm; a column of which none does needs another role")
    harm = Harm(tuple(harmless), most)
    _ = config.policy.requirements_of(replace(table, harm={**table.harm, name: harm}))

    def change(document: tomlkit.TOMLDocument) -> None:
        column = section(document, "attributes", name)
        if harmless:
            put(column, "harmless", harmless)
        else:
            drop(column, "harmless")
        put(column, "confirmed", bool(harmless) or None)
        put(column, "at_most", {label: int(n) if n.denominator == 1 else float(n) for label, n in most.items()})

    return window.edit(request, change, "/policy", sentence=f"What harms in {name} is written.")


def _percent(label: str, text: str) -> Fraction:
    number = text.replace(",", ".").removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,4})?", number) or not is_percent(Fraction(number)):
        raise InputError("a bound is a percentage above 0 and below 100, such as 20, or empty").about(f"most:{label}")
    return Fraction(number)


def _put_diversity(privacy: Any, of_each: Mapping[str, str]) -> None:
    """Write one text if all sensitive attributes have the same, else one for each; lists by level stay as they are."""
    diversities = privacy.get("diversity", {})
    entries = diversities.items() if isinstance(diversities, dict) else ()
    lists: dict[str, object] = {name: value for name, value in entries if isinstance(value, list)}
    if not of_each and not lists:
        return
    wanted = {**{name: text for name, text in of_each.items() if text}, **lists}
    is_one = not lists and len(wanted) == len(of_each) and len({*of_each.values()}) == 1
    put(privacy, "diversity", next(iter(wanted.values())) if is_one else wanted)


def save_preset(window: Window, request: Request) -> Response:
    """Write the demands of a preset in place of those of another, with the numbers that were there already."""
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
        for key in before.search:
            put(search, key, None)
        for key, value in preset.search.items():
            put(search, key, value)

    preset.require(config.source.unit.declared)
    return window.edit(request, change, "/search", sentence=f"The preset {preset.name} is written.")


QUESTIONS = 5  # pairs of columns that the page asks for, at least


def save_wanted(window: Window, request: Request) -> Response:
    """Write the pairs that somebody names as wanted analyses, and search if that is the button; larger ones stay."""
    names, form = set(window.config().source.used), request.form
    typed = list(zip(form.getlist("first"), form.getlist("second")))
    named = [(first.strip(), second.strip()) for first, second in typed if first.strip() or second.strip()]
    for first, second in named:
        if first == second or not {first, second} <= names:
            raise InputError(
                f"a question is about two columns of the table, and not {first or 'none'} and {second or 'none'}"
            )
    pairs = {frozenset(pair): list(pair) for pair in named}

    def is_named(entry: Mapping[str, Any]) -> bool:
        return len(entry["attributes"]) == 2 and entry.get("weight", WEIGHT) > AS_THE_REST

    def change(document: tomlkit.TOMLDocument) -> None:
        now = list(document.unwrap().get("search", {}).get("wanted", []))
        entries = [entry for entry in now if is_named(entry) == (frozenset(entry["attributes"]) in pairs)]
        pairs_now = {frozenset(entry["attributes"]) for entry in entries}
        entries += [{"attributes": names} for pair, names in pairs.items() if pair not in pairs_now]
        if entries != now:
            search = section(document, "search")
            search.pop("wanted", None)
            put(search, "wanted", entries)

    answer = window.edit(request, change, "/search", sentence="The questions are written.")
    if "search" in form and not window.is_refused:
        window.search()
    return answer


def _count(form: Mapping[str, str], key: str) -> int | None:
    text = form.get(key, "").strip()
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise InputError(f"{key} is a whole number of at least 1, such as 10, or empty").about(key)
    return int(text)
