"""Frozen dataclasses, against those of the standard library."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import pytest

from models.frozen import frozen


class _Point:
    x: int
    y: list[int] = field(default_factory=list)
    note: str = field(default="", compare=False)
    hidden: int = field(default=0, repr=False)
    origin: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("below zero")

    @cached_property
    def double(self) -> int:
        return 2 * self.x


class _Nothing:
    pass


class _Named:
    name: str

    def __repr__(self) -> str:
        return "named"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _both(cls: type, **options: bool) -> list[Any]:
    """Return a class as the standard library freezes it, and as this one does."""
    members = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    return [
        freeze(type(cls.__name__, (), dict(members)))
        for freeze in (partial(dataclass, frozen=True, **options), frozen(**options) if options else frozen)
    ]


@frozen
class Held:
    """A class that pickle finds."""

    value: tuple[int, ...]
    same: "Held | None" = None


@frozen
class Wider(Held):
    """A subclass with a field more."""

    more: int = 0


@dataclass(frozen=True)
class Theirs(Wider):
    """A subclass as somebody else writes it."""

    last: int = 0


@frozen
class Back(Theirs):
    """A subclass of that."""


def test_classes_of_both_kinds_inherit_from_each_other() -> None:
    for cls in (Theirs, Back):
        assert cls((1,), last=2) == cls((1,), None, 0, 2) != Theirs((2,))
        assert len({cls((1,)), cls((1,)), Wider((1,))}) == 2
        with pytest.raises(FrozenInstanceError):
            cls((1,)).last = 3  # type: ignore[misc]


class _Hashed:
    name: str
    notes: list[int] = field(default_factory=list, hash=False)
    price: float = field(default=1.0, init=False)
    seen: list[int] = field(default_factory=list, init=False, compare=False)


class _SameNames:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameNames)


class _OwnHash:
    name: str

    def __hash__(self) -> int:
        return 7


def test_what_a_class_defines_counts_as_in_the_standard_library() -> None:
    hashes = [[hash(cls("a", [1])) == hash(cls("a", [2])), hash(cls("a")) == hash(cls("b"))] for cls in _both(_Hashed)]
    assert hashes[0] == hashes[1] == [True, False]
    for cls in _both(_Hashed):
        thing = cls("a")
        for name in ("price", "seen", "name"):
            with pytest.raises(FrozenInstanceError):
                setattr(thing, name, 2.0)
    for kind in (_SameNames, _OwnHash):
        hashes = [[hash(cls("a")) == hash(cls("a")), hash(cls("a")) == 7] for cls in _both(kind)]
        assert hashes[0] == hashes[1] == [True, kind is _OwnHash]


def test_a_subclass_that_is_no_dataclass_has_attributes_that_change() -> None:
    class Counting(Held):
        def __init__(self) -> None:
            super().__init__((1,))
            self.calls = 0

    counting = Counting()
    counting.calls += 1
    assert counting.calls == 1
    with pytest.raises(FrozenInstanceError):
        counting.value = (2,)  # type: ignore[misc]


def test_objects_behave_as_those_of_the_standard_library() -> None:
    seen = []
    for cls in _both(_Point):
        a, b, c = cls(1), cls(1, [], "said", 0), cls(1, [2])
        seen.append([repr(a), repr(c), a == b, a == c, a != b, a == 1, a.__eq__(1), a.double, replace(a, x=3).double])
        seen[-1] += [asdict(c), [each.name for each in fields(cls)], cls.__match_args__, vars(copy.deepcopy(c))]
        assert is_dataclass(cls)
        with pytest.raises(ValueError, match="below zero"):
            cls(-1)
        with pytest.raises(TypeError, match="unhashable"):
            hash(a)
    assert seen[0] == seen[1]


def test_equal_objects_hash_alike_and_others_of_another_class_differ() -> None:
    assert len({Held((1,)), Held((1,)), Held((2,)), Wider((1,)), Wider((1,), more=1)}) == 4
    for cls in _both(_Nothing):
        assert len({cls(), cls()}) == 1
        assert repr(cls()) == "_Nothing()"
    for cls in _both(_Nothing, eq=False):
        assert len({cls(), cls()}) == 2
    for cls in _both(_Named):
        assert [repr(cls("a")), cls("a") == 3] == ["named", True]
    for cls in _both(_Named, kw_only=True):
        with pytest.raises(TypeError):
            cls("a")


@pytest.mark.parametrize("name", ["value", "unknown", "__class__"])
def test_nothing_of_an_object_can_be_changed(name: str) -> None:
    held = Held((1,))
    with pytest.raises(FrozenInstanceError, match=f"cannot change '{name}' of 'Held'"):
        setattr(held, name, 2)
    with pytest.raises(FrozenInstanceError):
        delattr(held, name)
    assert held == Held((1,))


def test_copies_are_equal_and_a_circle_can_be_shown() -> None:
    wider = Wider((1, 2), Held(()), 3)
    assert pickle.loads(pickle.dumps(wider)) == copy.copy(wider) == copy.deepcopy(wider) == wider
    circle = Held((1,))
    vars(circle)["same"] = circle
    assert repr(circle) == "Held(value=(1,), same=...)"
