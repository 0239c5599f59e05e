"""Declared notes and warnings: every room's ``messages.toml``."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from pathlib import Path

import pairtile
import pytest
from pairtile.declare.messages import Message, declared_messages, messages_of

TOP = Path(pairtile.__file__).parent
ROOMS = sorted(TOP.rglob("messages.toml"))


def _package(file: Path) -> str:
    return ".".join(file.parent.relative_to(TOP.parent).parts)


def test_codes_are_used_once_and_all_are_raised() -> None:
    codes = Counter(code for room in ROOMS for code in declared_messages(_package(room)))
    assert [code for code, n in codes.items() if n > 1] == []
    source = "\n".join(path.read_text() for path in TOP.rglob("*.py"))
    raised = set(re.findall(r"\b(?:message|add_message)\(\s*\"(\w+)\"", source))
    assert raised <= set(codes)
    assert [code for code in codes if f'"{code}"' not in source] == []


def test_a_message_is_its_text_and_knows_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "room_of_messages"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "messages.toml").write_text(
        '[few]\nseverity = "warning"\ntext = "{n:gene|genes} left."\ncure = "Set {key}."\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    message = messages_of("room_of_messages")
    assert message("few", n=1, key="a") == "1 gene left. Set a."
    found = pickle.loads(pickle.dumps(message("few", n=1200, key="a")))
    assert isinstance(found, Message)
    assert found == "1,200 genes left. Set a."
    assert (found.code, found.severity, found.numbers) == (
        "few",
        "warning",
        {"n": 1200, "key": "a"},
    )
    assert found.as_json()["text"] == found
