"""All cases of the golden files, in parts that each take a few seconds; a part can speak on several surfaces."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import word_commands
import word_guesses
import word_refusals
import word_releases
import word_window
from words import Case, Stage

PARTS: Mapping[str, Callable[[Stage], Iterator[Case]]] = {
    "releases": word_releases.releases,
    "criteria": word_releases.criteria,
    "analyses": word_commands.analyses,
    "single tables": word_commands.single_tables,
    "ledgers": word_commands.ledgers,
    "audits": word_commands.audits,
    "demos": word_commands.demos,
    "window": word_window.window,
    "values": partial(word_guesses.guesses, word_guesses.VALUES),
    "names": partial(word_guesses.guesses, word_guesses.NAMES),
    "people": partial(word_guesses.guesses, word_guesses.PEOPLE),
    "columns together": partial(word_guesses.guesses, word_guesses.TOGETHER),
    "configs": word_refusals.configs,
    "tables": word_refusals.tables,
    "expressions": word_refusals.expressions,
    "classes": word_refusals.classes,
    "bundles": word_refusals.bundles,
}
"""The parts by their names, in the order of the files."""
