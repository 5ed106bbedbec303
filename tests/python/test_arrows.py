"""The folders of macros are stages, and calls go one way: macros/README.md has the table of allowed calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

# (file, macro that it calls): why the call goes against the table.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def called(tree: nodes.Template) -> Iterator[str]:
    """The package's macros that a file names, or finds by dispatch; what is said in texts and comments is no call."""
    for name in tree.find_all(nodes.Getattr):
        if isinstance(name.node, nodes.Name) and name.node.name == "spark_cdc":
            yield name.attr
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr == "dispatch":
            yield from (prefix + call.args[0].as_const() for prefix in ("spark__", "default__"))


def wrong_calls(macros: Path) -> set[tuple[str, str]]:
    """Files and macros that they call, where the table does not allow it."""
    table = re.findall(r"(?m)^\| `(\w+)/` \|.*\|([\w, ]*)\|$", (macros / "README.md").read_text())
    allowed = {name: {name, "_internal", *re.findall(r"\w+", others)} for name, others in table}
    trees = {
        f.relative_to(macros): get_environment(None).parse(f.read_text()) for f in macros.glob("**/*.sql")
    }
    assert allowed.keys() == {file.parts[0] for file in trees}
    owners = {
        m.name.removeprefix("dbt_macro__"): f for f, t in trees.items() for m in t.find_all(nodes.Macro)
    }
    wrong = set()
    for file, tree in trees.items():
        for name in owners.keys() & called(tree):
            source, target = file.parts[0], owners[name].parts[0]
            is_private = target == "formats" != source and owners[name].name[0] != "_"
            is_above = (source, target) == ("apply", "changes") and owners[name].name != "contract.sql"
            if target not in allowed[source] or is_private or is_above:
                wrong.add((file.as_posix(), name))
    return wrong


def test_calls_go_along_the_arrows(repository: Path) -> None:
    assert wrong_calls(repository / "macros") == EXCEPTIONS.keys()


def test_a_call_the_other_way_is_found(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("| `_internal/` | | |\n| `types/` | | |\n")
    for folder, name, other in (("_internal", "_quote", "value"), ("types", "value", "_quote")):
        (tmp_path / folder).mkdir()
        macro = f"{{% macro {name}() %}}{{{{ spark_cdc.{other}() }}}}{{% endmacro %}}"
        (tmp_path / folder / "one.sql").write_text(macro)
    assert wrong_calls(tmp_path) == {("_internal/one.sql", "value")}
