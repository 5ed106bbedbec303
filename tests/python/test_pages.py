"""The pages for people: their links work, the reference matches the code, and the text is readable."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from click import Command, Option
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.registry import SQL_FUNCTIONS

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "docs" / "reference"
PAGES = sorted(
    [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").rglob("*.md"),
        *(REPOSITORY / ".github").rglob("*.md"),
        REPOSITORY / "macros" / "README.md",
        REPOSITORY / "examples" / "library" / "README.md",
    ]
)
CHINESE = [page for page in PAGES if page.name.endswith(".zh-CN.md")]
ENGLISH = [page for page in PAGES if page not in CHINESE]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.M | re.S)
FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.M | re.S)
# Words of the first pages, which were exact and hard to read.
AVOIDED = re.compile(
    r"\b(?:anew|behind|beside|shall|slips?|tells?|told|stands? (?:on|behind|beside)|what holds)\b", re.I
)
COMMANDS = ("decode", "explain", "generate", "report")
SOURCES = ("macros", "python_udfs", "models", "seeds", "tests", "tools", "profiles")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that a page links to, each with its anchor."""
    for link in LINK.findall(CODE.sub("", text_of(page))):
        if not re.match(r"[a-z]+:", link):
            file, _, anchor = link.partition("#")
            yield (page.parent / file).resolve() if file else page, anchor


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S), re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert [
        f"{file}#{anchor}"
        for file, anchor in links_of(page)
        if not file.exists() or (anchor and anchor not in anchors_of(file))
    ] == []


def test_every_page_is_found_from_the_readme() -> None:
    found, to_read = set(), [REPOSITORY / "README.md"]
    while to_read:
        page = to_read.pop()
        if page not in found and page.suffix == ".md":
            found.add(page)
            to_read += [file for file, _ in links_of(page)]
    missing = set(PAGES) - found
    assert [name_of(page) for page in sorted(missing) if ".github" not in page.parts] == []


def test_every_page_that_the_code_names_exists() -> None:
    """In comments, error texts and expected errors; what a vendor's own repository holds is named with the vendor."""
    named: set[str] = set()
    for folder in SOURCES:
        for file in (REPOSITORY / folder).rglob("*"):
            if file.suffix in (".sql", ".py", ".yml", ".md", ".jsonl", ".properties") and file.is_file():
                named.update(
                    re.findall(r"docs/[\w./-]+?\.md", file.read_text(encoding="utf-8", errors="replace"))
                )
    named.update(re.findall(r"docs/[\w./-]+?\.md", text_of(REPOSITORY / "dbt_project.yml")))
    assert named
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == ["docs/docs/dataformat.md"]


def test_every_file_that_a_page_names_exists() -> None:
    """A path in backticks below a folder of this repository; what has a wildcard in it names several."""
    path = re.compile(rf"`((?:{'|'.join(SOURCES)})/[\w./-]+)(?:::\w+)?`")
    named = {(name_of(page), found) for page in PAGES for found in path.findall(text_of(page))}
    assert named
    assert sorted((page, file) for page, file in named if not (REPOSITORY / file).exists()) == []


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_readme_is_one_page(name: str) -> None:
    assert len(text_of(REPOSITORY / name).splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_cell_of_a_table_is_long(page: Path) -> None:
    cells = [
        cell.strip()
        for line in text_of(page).splitlines()
        if line.startswith("|")
        for cell in line.replace(r"\|", " ").split("|")
    ]
    assert [cell for cell in cells if len(cell) > 120] == []


@pytest.mark.parametrize("page", ENGLISH, ids=name_of)
def test_the_words_are_plain(page: Path) -> None:
    prose = re.sub(r"\]\([^)]*\)", "]", CODE.sub("", text_of(page)))
    assert AVOIDED.findall(prose) == []


def english_of(page: Path) -> Path:
    return page.with_name(page.name.replace(".zh-CN", ""))


def sections_of(page: Path) -> list[dict[str, Any]]:
    """What the sections of a page have in every language. A block of code counts as its fence only."""
    sections = []
    for section in re.split(r"^(?=#+ )", FENCE.sub("```", text_of(page)), flags=re.M)[1:]:
        # A heading's level, and its number if it has one.
        heading = re.match(r"#+ (?:\d+\. )?", section)
        assert heading
        links = {target.replace(".zh-CN", "") for target in LINK.findall(CODE.sub("", section))}
        sections.append(
            {
                "heading": heading[0],
                "blocks": section.count("```"),
                "tables": [line.count("|") for line in section.splitlines() if line.startswith("|")],
                "names in backticks": sorted(set(re.findall(r"`([^`\n]+)`", section))),
                "links": sorted(links),
            }
        )
    return sections


def numbers_of(page: Path) -> list[set[str]]:
    """The numbers in the prose and the tables of each section: versions, offsets, results."""
    prose = re.sub(r"\]\([^)]*\)", "]", CODE.sub("", text_of(page)))
    return [
        set(re.findall(r"\d+(?:\.\d+)*", section)) for section in re.split(r"^(?=#+ )", prose, flags=re.M)
    ]


def test_the_readme_and_the_tutorial_are_also_in_chinese() -> None:
    assert [name_of(page) for page in CHINESE] == [
        "README.zh-CN.md",
        "docs/tutorial-database.zh-CN.md",
        "docs/tutorial.zh-CN.md",
    ]


@pytest.mark.parametrize("page", CHINESE, ids=name_of)
def test_a_chinese_page_has_the_code_of_the_english_page(page: Path) -> None:
    """Each block is equal, its comments too: a reader of either language runs the same."""
    assert FENCE.findall(text_of(page)) == FENCE.findall(text_of(english_of(page)))


@pytest.mark.parametrize("page", CHINESE, ids=name_of)
def test_a_chinese_page_has_the_sections_of_the_english_page(page: Path) -> None:
    assert sections_of(page) == sections_of(english_of(page))


@pytest.mark.parametrize("page", CHINESE, ids=name_of)
def test_a_chinese_page_has_the_numbers_of_the_english_page(page: Path) -> None:
    """It may have more: Chinese writes some of them in digits that English writes as words."""
    pairs = zip(numbers_of(english_of(page)), numbers_of(page), strict=True)
    assert [sorted(english - chinese) for english, chinese in pairs if english - chinese] == []


@pytest.mark.parametrize("page", CHINESE, ids=name_of)
def test_each_language_links_to_the_other_and_stays_in_its_own(page: Path) -> None:
    assert text_of(page).splitlines()[2] == f"[English]({english_of(page).name})"
    assert text_of(english_of(page)).splitlines()[2] == f"[简体中文]({page.name})"
    translated = {english_of(other) for other in CHINESE} - {english_of(page)}
    assert [name_of(file) for file, _ in links_of(page) if file in translated] == []


def test_a_profile_for_short_runs_keeps_the_room_for_compiled_code() -> None:
    """Java reserves 48 MB with the first option alone: a run of eight models filled them, and Spark stopped."""
    texts = [*PAGES, *REPOSITORY.glob("*/profiles.yml"), *REPOSITORY.glob("*/*/profiles.yml")]
    lines = [line for text in texts for line in text_of(text).splitlines() if "extraJavaOptions" in line]
    short = [line for line in lines if "-XX:TieredStopAtLevel=1" in line]
    assert short and [line for line in short if "-XX:ReservedCodeCacheSize=2" not in line] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_code_can_be_parsed(page: Path) -> None:
    for language, code in BLOCK.findall(text_of(page)):
        if language == "python":
            ast.parse(re.sub(r"^   ", "", code, flags=re.M) if code.startswith("   ") else code)
        elif language == "yaml":
            assert yaml.safe_load(code) is not None
        elif language == "json":
            for line in code.splitlines():
                json.loads(line)


def described(belongs: Callable[[str, str], bool]) -> dict[str, list[str]]:
    """Name -> arguments of the macros that `dbt docs` shows, from their YAML: those of which folder and name belong."""
    shown = {}
    for file in (REPOSITORY / "macros").glob("*/_*__macros.yml"):
        for macro in yaml.safe_load(text_of(file))["macros"]:
            name = macro["name"]
            if (
                macro.get("config", {}).get("docs", {}).get("show", True)
                and not name.startswith("materialization_")
                and name != "sample_messages"  # the worked example's own
                and belongs(file.parent.name, name)
            ):
                shown[name] = [argument["name"] for argument in macro.get("arguments", [])]
    return shown


def signatures(page: str) -> dict[str, list[str]]:
    """Name -> arguments, from the lines `name(argument, ...)` of a page."""
    lines = [
        re.fullmatch(r"(\w+)\((.*)\)", line)
        for language, code in BLOCK.findall(text_of(REFERENCE / page))
        if language == "text"
        for line in code.splitlines()
    ]
    found = [(line[1], re.findall(r"\w+", line[2])) for line in lines if line]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_the_reference_has_every_macro_with_its_arguments() -> None:
    assert signatures("macros.md") == described(
        lambda folder, name: folder != "operations" and not name.startswith("test_")
    )


def test_the_reference_has_every_operation_with_its_arguments() -> None:
    assert signatures("operations.md") == described(lambda folder, name: folder == "operations")


def test_the_reference_has_every_test_with_its_arguments() -> None:
    tests = {
        name.removeprefix("test_"): [a for a in arguments if a not in ("model", "column_name")]
        for name, arguments in described(lambda folder, name: name.startswith("test_")).items()
    }
    assert signatures("tests.md") == tests
    assert first_cells("tests.md") == set(tests)


def used_tests(part: Any) -> Iterator[tuple[str, set[str]]]:
    """The package's tests in a YAML file, each with the arguments that it is given."""
    if isinstance(part, str) and part.startswith("spark_cdc."):
        yield part.removeprefix("spark_cdc."), set()
    elif isinstance(part, list):
        for entry in part:
            yield from used_tests(entry)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name.startswith("spark_cdc."):
                assert set(value) <= {"arguments", "config"}
                yield name.removeprefix("spark_cdc."), set(value.get("arguments", {}))
            else:
                yield from used_tests(value)


def test_tests_in_yaml_have_arguments_that_exist() -> None:
    tests = described(lambda folder, name: name.startswith("test_"))
    found = [
        used
        for page in PAGES
        for language, code in BLOCK.findall(text_of(page))
        if language == "yaml"
        for used in used_tests(yaml.safe_load(code))
    ]
    assert len(found) > 10
    assert [(name, given) for name, given in found if not given <= set(tests[f"test_{name}"])] == []


def test_calls_in_sql_give_a_query(macro_library: MacroLibrary) -> None:
    """Of the macros that need no run; the models of the tutorial are built by tests/integration/test_readme.py."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    environment.globals.update(
        spark_cdc=macro_library,
        config=lambda **_: "",
        ref=lambda name: name,
        source=lambda *names: ".".join(names),
    )
    queries = [
        environment.from_string(code).render()
        for page in PAGES
        for language, code in BLOCK.findall(text_of(page))
        if language == "sql" and re.search(r"spark_cdc\.(?:messages|changes)\(", code)
    ]
    assert len(queries) >= 6
    assert [query for query in queries if "select" not in query] == []


def first_cells(page: str) -> set[str]:
    """The names in backticks that begin a row of a page's tables."""
    rows = re.findall(r"^\| ((?:`[^`]+`(?:, )?|\[`[^`]+`\]\([^)]*\))+)", text_of(REFERENCE / page), re.M)
    return {name for row in rows for name in re.findall("`([^`]+)`", row)}


@pytest.fixture(scope="module")
def macro_library() -> MacroLibrary:
    return MacroLibrary(REPOSITORY)


def test_the_reference_has_every_variable(macro_library: MacroLibrary) -> None:
    project = yaml.safe_load(text_of(REPOSITORY / "dbt_project.yml"))["vars"]["spark_cdc"]
    assert first_cells("variables.md") == set(project)
    assert set(macro_library.call("_vars_of_messages")) <= set(project)


def test_the_reference_has_every_format_and_dialect(macro_library: MacroLibrary) -> None:
    page = text_of(REFERENCE / "formats.md")
    listed: dict[str, list[str]] = {}
    for name, dialects in re.findall(r"^\| \[`(\w+)`\]\([^)]*\) \| ([^|]*) \|", page, re.M):
        listed[name] = re.findall(r"`(\w+)`", dialects)
    for name, rows in re.findall(r"^## Dialects of `(\w+)`\n(.*?)(?=^## )", page, re.M | re.S):
        listed[name] = re.findall(r"^\| `(\w+)`", rows, re.M)[1:]  # the first is the heading
    formats: dict[str, Any] = macro_library.formats()
    assert listed == formats
    readme = re.findall(r"^\| \[`(\w+)`\]", text_of(REPOSITORY / "README.md"), re.M)
    assert sorted(readme) == sorted(formats)


def test_the_reference_has_every_column(macro_library: MacroLibrary) -> None:
    page = text_of(REFERENCE / "columns.md")
    parts = dict(re.findall(r"^## Columns of a (\w+) (?:model|table)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    named = {part: set(re.findall(r"`(\w+)`", text)) for part, text in parts.items()}
    header = set(macro_library.call("_header_columns"))
    assert {*header, "format", "kind", "error", "rows", "loaded_at", "read_positions"} <= named["messages"]
    assert {*macro_library.call("change_columns"), "_cdc_source_table", "_cdc_patches"} <= named["changes"]
    effects = set(macro_library.call("_key_operation_columns"))
    assert effects <= named["current"]
    assert set(macro_library.call("_history_columns", [])) <= named["history"] | effects


def test_the_reference_has_every_function() -> None:
    listed = {name.partition("(")[0] for name in first_cells("functions.md")}
    assert listed == {function.name for function in SQL_FUNCTIONS}


@pytest.mark.parametrize("command", main.commands.values(), ids=main.commands)
def test_the_reference_has_every_option_of_a_command(command: Command) -> None:
    options = {option.opts[0] for option in command.params if isinstance(option, Option)}
    sections = re.split(r"^## (\w+)$", text_of(REFERENCE / "command-line.md"), flags=re.M)
    start = sections.index(command.name)
    end = next((n for n in range(start + 1, len(sections)) if sections[n] in COMMANDS), len(sections))
    cells = re.findall(r"^\| (`--[^|]*) \|", "".join(sections[start:end]), re.M)
    assert {name.split()[0] for cell in cells for name in re.findall("`([^`]+)`", cell)} == options


def test_the_reference_has_every_config() -> None:
    """Those that the materializations read, as the macro that refuses others lists them."""
    source = text_of(REPOSITORY / "macros" / "materializations" / "_config.sql")
    (lists,) = re.findall(r"set ours = (\[.*?\]) \+ \(\s*(\[.*?\])", source, re.S)
    configs = {name for part in lists for name in ast.literal_eval(part)}
    assert first_cells("materializations.md") == configs


def test_the_tests_archive_java_s_classes_as_the_page_does() -> None:
    """What `make test` does first, and then with each Spark."""
    lines = re.findall(r'SPARK_SUBMIT_OPTS="(.*)"', text_of(REPOSITORY / "docs" / "how-to" / "schedule.md"))
    programs = ("tools/setup_env.py", "tests/conftest.py")
    for line, program, file in zip(lines, programs, ("{made}", "{archive}"), strict=True):
        assert line.replace("$HOME/spark.jsa", file) in text_of(REPOSITORY / program)
