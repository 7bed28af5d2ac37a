#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the documents name exists: every Markdown file, the contract (spec/*.toml), the test plan
(docs/testplan.toml) and the launcher's own help.

Names are read from code spans, code blocks and links; in .toml files and the launcher from the whole text.

  file     `rtl/common/vireo_fifo.sv`, `host/driver`  A path that starts with a top-level folder, from the root or from the
                                     document's folder, also without its extension. Otherwise (`pcie_link.h`,
                                     `blocks/csr.md`) a file of that name, or the end of a path, anywhere. `{h,cc}`: each.
                                     `*`, `<name>`, `NAME`, `x` as a word, `...`: any text. Not checked: build/, absolute
                                     paths, extensions that are not in SOURCES, FOREIGN_FILES.
  link     [text](page.md#anchor)    The file, and the heading's anchor as GitHub makes it.
  test     `verif.cosim.write`       A test, or a prefix of tests that ends at a dot or slash. `*` and placeholders as above.
           `ctest -R '...'`, `-L`    A regular expression (`./vireo test` also) that matches at least one test, or label.
  command  `./vireo bench --quick`   The verb is in the launcher, the option in what the verb's program or script prints for
           `vireo_nic_bench --list`  --help, or in the verb's part of the launcher. Scripts of the repository likewise, and
                                     commands in the marks of generated blocks (generated.py).
           `--quick` alone           An option of any of them, or of FOREIGN_OPTIONS.
  preset   `cmake --preset dev`      In CMakePresets.json; `--target` is a target of CMake, or a source of one.

Tests come from `ctest --show-only=json-v1`, with every configuration that a CMakeLists.txt names. A test program that is not
built has no list of tests: names in it are counted as not checked. So are the options of a program that is not built.

Every finding is one line, file:line: what does not exist; what to do. The last line has the counts. Ends with 1 if there are
findings."""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Options of other people's programs that a document may name alone, with whose they are.
FOREIGN_OPTIONS = {
    "--coverage-line": "verilator",
    "--coverage-user": "verilator",
    "--lut": "yosys abc",
}
# Files of others that are named with a folder, and folders that a tool makes when it needs them.
FOREIGN_FILES = ("include/", "infiniband/", "linux/", "rdma/rdma_user_cm.h", "rdma/vmw_pvrdma-abi.h")
MADE_BY_TOOLS = ("verif/fuzz/regress",)
SOURCES = ("S", "c", "cc", "cmake", "h", "ld", "md", "py", "sh", "sv", "svg", "toml", "yml")
# Names without a folder that a .toml file of the contract gives: `errno.h` there is Linux'.
BARE_IN_TOML = ("cc", "md", "py", "sv", "toml")


@dataclass(frozen=True)
class Finding:
    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@dataclass
class Result:
    findings: list[Finding] = field(default_factory=list)
    checked: int = 0
    unknown: set[str] = field(default_factory=set)  # programs that are not built


# --- What exists ------------------------------------------------------------------------------------------------------


class Files:
    """The repository's files: what git knows or would add; without git, all but build/."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        try:
            listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], check=True,
                                    capture_output=True, text=True).stdout.splitlines()
        except (OSError, subprocess.CalledProcessError):
            listed = []
        if not listed:
            for folder, folders, names in os.walk(root):
                folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
                listed += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        self.files = {name for name in listed if (root / name).exists()}
        self.folders = {str(parent) for name in self.files for parent in pathlib.PurePosixPath(name).parents} - {"."}
        self.top = {name.partition("/")[0] for name in self.folders}
        self.all = self.files | self.folders
        self.by_name: dict[str, list[str]] = {}
        for name in self.all:
            self.by_name.setdefault(name.rpartition("/")[2], []).append(name)

    def has(self, path: str, ending: bool = False) -> bool:
        """A path from the root; `ending`: or the end of one."""
        path = path.rstrip("/")
        if "*" not in path:
            if path in self.all:
                return True
            return ending and any(name.endswith("/" + path) for name in self.by_name.get(path.rpartition("/")[2], []))
        patterns = [path, "*/" + path] if ending else [path]
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in self.all)

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")


@dataclass
class Tests:
    names: set[str]
    labels: set[str]
    missing: set[str]  # programs that are not built

    @staticmethod
    def from_json(texts: Iterable[str]) -> "Tests":
        names: set[str] = set()
        labels: set[str] = set()
        for text in texts:
            for test in json.loads(text)["tests"]:
                names.add(test["name"])
                for item in test.get("properties", []):
                    if item["name"] == "LABELS":
                        labels.update(item["value"] if isinstance(item["value"], list) else [item["value"]])
        missing = {match[1] for name in names if (match := re.fullmatch(r"(.+)_NOT_BUILT(-\w+)?", name))}
        names = {name for name in names if "_NOT_BUILT" not in name} | missing
        return Tests(names, labels, missing)

    @staticmethod
    def from_ctest(ctest: str, build: str, files: Files) -> "Tests":
        listings = {""}
        for name in files.files:
            if name.endswith("CMakeLists.txt"):
                listings.update(re.findall(r"\bCONFIGURATIONS (\w+)", files.text(name)))
        texts = []
        for configuration in sorted(listings):
            command = [ctest, "--test-dir", build, "--show-only=json-v1"] + (["-C", configuration] if configuration else [])
            texts.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return Tests.from_json(texts)

    def matches(self, pattern: str) -> bool | None:
        """A name, or the start of names, with `*` as any text; None: of a program that is not built."""
        pattern = pattern.rstrip("./")
        if "*" in pattern:
            inner = re.escape(pattern).replace(r"\*", ".*")
            if any(re.fullmatch(inner + "([./].*)?", name) for name in self.names):
                return True
        elif pattern in self.names or any(name.startswith((pattern + ".", pattern + "/")) for name in self.names):
            return True
        return None if any(pattern.startswith(program + ".") or "*" in pattern for program in self.missing) else False

    def search(self, regex: str) -> bool | None:
        """A regular expression as ctest -R takes it."""
        if any(re.search(regex, name) for name in self.names):
            return True
        return None if self.missing else False

    def roots(self) -> set[str]:
        return {name.partition(".")[0] for name in self.names}


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


class Commands:
    """The launcher's verbs, programs and scripts, and the options of each."""

    def __init__(self, files: Files, launcher: str, programs: dict[str, str]) -> None:
        self.files = files
        self.programs = programs  # name -> path of the built program
        self.help: dict[tuple[str, ...], set[str] | None] = {}
        self.branches: dict[str, str] = {}
        # A branch starts with `  NAME)` or `  NAME | NAME)` and ends where the next one starts.
        parts = re.split(r"^  ((?:[a-z-]+ \| )*[a-z-]+)\)", files.text(launcher).partition("\ncase $verb in\n")[2], flags=re.M)
        for names, body in zip(parts[1::2], parts[2::2]):
            for name in names.split(" | "):
                self.branches[name] = body
        self.targets: set[str] = set()
        for name in files.files:
            if name.endswith("CMakeLists.txt"):
                self.targets.update(re.findall(r"\b(?:add_executable|add_library|add_custom_target|vireo_test)\(([\w.]+)",
                                               files.text(name)))

    def verbs(self) -> set[str]:
        return {verb for verb in self.branches if not verb.startswith("-")}

    def printed(self, *command: str) -> set[str] | None:
        """The options in what a command prints; None if it cannot be run."""
        if command not in self.help:
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=self.files.root, check=False,
                                      stdin=subprocess.DEVNULL)
                self.help[command] = options_in(done.stdout + done.stderr)
            except (OSError, subprocess.TimeoutExpired):
                self.help[command] = None
        return self.help[command]

    def program(self, name: str, *verb: str) -> set[str] | None:
        path = self.programs.get(name)
        if path is None or not os.path.exists(path):
            return None
        return self.printed(path, *verb, "--help")

    def script(self, path: str) -> set[str] | None:
        if path.endswith(".py"):
            return self.printed(sys.executable, path, "--help")
        return options_in(self.files.text(path))

    def sources(self, verb: str) -> tuple[list[tuple[str, ...]], list[str], bool]:
        """Of a verb: its programs (with the verb, if that is handed on), its scripts, and whether ctest is one of them."""
        body = self.branches[verb]
        names = sorted(set(re.findall(r"\bvireo_\w+", body)))
        handed = '"$verb"' in body
        scripts = [path for path in sorted(set(re.findall(r"(?<![\w/])[\w.][\w./]*/[\w.-]+", body)))
                   if path in self.files.files and not path.endswith((".md", ".toml", ".txt"))]
        return [(name, verb) if handed else (name,) for name in names], scripts, re.search(r"^\s*(?:exec )?ctest ", body, re.M) is not None

    def options(self, verb: str) -> tuple[set[str], set[str]]:
        """The options of a verb, and the programs that would have to be built to know all."""
        programs, scripts, ctest = self.sources(verb)
        known = options_in(self.branches[verb]) | {"--help", "-h"}
        unknown: set[str] = set()
        for program in programs:
            found = self.program(*program)
            if found is None:
                unknown.add(program[0])
            known |= found or set()
        for script in scripts:
            known |= self.script(script) or set()
        if ctest:
            known |= self.printed("ctest", "--help") or set()
        return known, unknown

    def every_option(self) -> tuple[set[str], set[str]]:
        known: set[str] = set()
        unknown: set[str] = set()
        for verb in self.verbs():
            more, missing = self.options(verb)
            known |= more
            unknown |= missing
        for program in self.programs:
            known |= self.program(program) or set()
        return known, unknown


def presets(files: Files) -> set[str]:
    if "CMakePresets.json" not in files.files:
        return set()
    listed = json.loads(files.text("CMakePresets.json"))
    return {preset["name"] for kind in ("configurePresets", "buildPresets", "testPresets", "workflowPresets")
            for preset in listed.get(kind, []) if not preset.get("hidden")}


# --- What a document names --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Code:
    """A code span, or a line of a code block or of a file that is no Markdown."""
    line: int
    text: str
    block: bool


@dataclass
class Page:
    codes: list[Code]
    links: list[tuple[int, str]]
    anchors: set[str]


def slug(heading: str) -> str:
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "")).replace(" ", "-")


def read_markdown(text: str) -> Page:
    page = Page([], [], set())
    fence = ""
    pending = ""
    seen: dict[str, int] = {}
    paragraph: list[tuple[int, str]] = []

    def flush() -> None:
        """Spans and links may go over lines; each is reported where it starts."""
        joined = "\n".join(line for _, line in paragraph)
        first = paragraph[0][0] if paragraph else 0
        blank = list(joined)
        for match in re.finditer(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", joined, re.S):
            number = first + joined.count("\n", 0, match.start())
            span = " ".join(match[2].split("\n"))
            if joined[joined.rfind("\n", 0, match.start()) + 1:].startswith("|"):
                span = span.replace("\\|", "|")
            page.codes.append(Code(number, span.strip(), False))
            blank[match.start():match.end()] = ["\n" if c == "\n" else "_" for c in match[0]]
        for match in re.finditer(r"\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", "".join(blank)):
            page.links.append((first + joined.count("\n", 0, match.start()), match[1]))
        paragraph.clear()

    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
            elif line.endswith("\\"):
                pending += line[:-1] + " "
            else:
                page.codes.append(Code(number, pending + line, True))
                pending = ""
            continue
        if mark:
            flush()
            fence = mark[1]
            continue
        if heading := re.match(r"#{1,6} +(.*?)(?: +#+)? *$", line):
            name = slug(heading[1])
            page.anchors.add(f"{name}-{seen[name]}" if name in seen else name)
            seen[name] = seen.get(name, 0) + 1
        page.anchors.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
        if not line.strip() or line.startswith(("|", "#", "- ", "<!--")):
            flush()
        if generated := re.fullmatch(r"<!-- BEGIN GENERATED: (.+) -->", line.strip()):
            page.codes.append(Code(number, generated[1], True))
            continue
        if line.strip():
            paragraph.append((number, line))
            if line.startswith(("|", "#")):
                flush()
    flush()
    return page


class Checker:
    def __init__(self, files: Files, tests: Tests, commands: Commands) -> None:
        self.files, self.tests, self.commands = files, tests, commands
        self.presets = presets(files)
        self.result = Result()
        self.pages: dict[str, Page] = {}
        roots = "|".join(sorted(tests.roots()))
        self.test_name = re.compile(rf"(?<![\w.-])(?:{roots})\.(?:\{{[^{{}}]*\}}|[^\s'\"`,;:|])+") if roots else re.compile(r"(?!)")

    def say(self, page: str, line: int, text: str) -> None:
        finding = Finding(page, line, text)
        if finding not in self.result.findings:
            self.result.findings.append(finding)

    def page(self, path: str) -> Page:
        if path not in self.pages:
            self.pages[path] = read_markdown(self.files.text(path))
        return self.pages[path]

    # Links.
    def link(self, page: str, line: int, target: str) -> None:
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return
        self.result.checked += 1
        path, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if full not in self.files.all and full != ".":
            self.say(page, line, f"link to '{target}', but there is no {full}; correct the path, or remove the link")
        elif anchor and full.endswith(".md") and anchor not in self.page(full).anchors:
            near = ", ".join("#" + name for name in sorted(self.page(full).anchors) if name[:4] == anchor[:4])
            self.say(page, line, f"link to '{target}', but {full} has no heading with that anchor; "
                                 f"use a heading of it{f': {near}' if near else ''}")

    # Files.
    def path(self, page: str, line: int, token: str, bare: tuple[str, ...]) -> None:
        token = re.sub(r"(:\d+)+$", "", token.removeprefix("./")).rstrip(".:,;")
        if token.startswith(("/", "~", "-", "../")) or re.search(r"[$=@\\()\[\]?!#%]|://", token) or not token:
            return
        generic = re.sub(r"<[^<>]*>|…|\.\.\.", "*", token)
        generic = re.sub(r"(?<![^/])NNNN[^/]*", "*", generic)  # the form of a name
        parts = [re.sub(r"(?<![a-z0-9])(?:[A-Z][A-Z0-9_]+|x)(?![a-z0-9])", "*", part) if part not in self.files.by_name else part
                 for part in generic.split("/")]
        names = expand("/".join(parts))
        extension = parts[-1].rpartition(".")[2] if "." in parts[-1].lstrip(".") else ""
        rooted = len(parts) > 1 and parts[0] in self.files.top
        if not rooted and not (re.fullmatch(r"[\w.{},*/-]+", names[0]) and extension.strip("{}").split(",")[0] in bare):
            return
        if not rooted and names[0].strip("*") in ("", "." + extension):
            return  # *.h: any file of that kind
        if token.startswith(("build/", *FOREIGN_FILES, *MADE_BY_TOOLS)):
            return
        for name in names:
            self.result.checked += 1
            beside = os.path.normpath(os.path.join(os.path.dirname(page), name))
            numbered = re.fullmatch(r"docs/decisions/\d{4}", name) and self.files.has(name + "-*")
            stem = rooted and not extension and self.files.has(name + ".*")
            if numbered or stem or self.files.has(name, ending=not rooted) or self.files.has(beside):
                continue
            same = self.files.by_name.get(name.rstrip("/").rpartition("/")[2], [])
            self.say(page, line, f"names the file '{name}', which does not exist; "
                     + (f"is it {' or '.join(sorted(same)[:3])}?" if same else "correct the name, or remove it"))

    # Tests.
    def test(self, page: str, line: int, token: str) -> None:
        token = token.rstrip(".").rstrip(")") if token.count("(") < token.count(")") else token.rstrip(".")
        if re.search(r"[()\[\]\\+?^$]|\.\*", token):
            self.regex(page, line, token)
            return
        self.result.checked += 1
        generic = re.sub(r"<[^<>]*>|…|\.\.\.|(?<=\.)[A-Z][A-Z0-9_]+(?=[./]|$)", "*", token)
        for name in expand(generic):
            found = self.tests.matches(name)
            if found is None:
                self.result.unknown.add(next((p for p in self.tests.missing if name.startswith(p)), name))
            elif not found:
                self.say(page, line, f"names the test '{token}', but ctest has no such test or group; `ctest -N` lists them")

    def regex(self, page: str, line: int, regex: str) -> None:
        self.result.checked += 1
        try:
            found = self.tests.search(regex)
        except re.error as error:
            self.say(page, line, f"'{regex}' is no regular expression ({error}); correct it")
            return
        if found is None:
            self.result.unknown.add(f"tests for '{regex}'")
        elif not found:
            self.say(page, line, f"'{regex}' matches no test; `ctest -N -R` shows what a pattern matches")

    # Commands.
    def option(self, page: str, line: int, what: str, token: str, known: set[str], unknown: set[str]) -> None:
        name = re.match(r"--?[A-Za-z][\w-]*", token)
        if not name:
            return
        self.result.checked += 1
        if name[0] in known or (name[0][:2] in known and not name[0].startswith("--")):
            return  # -j4 is -j with a value
        if unknown:
            self.result.unknown |= unknown
        else:
            self.say(page, line, f"{what} has no option '{name[0]}'; see what it prints for --help")

    def command(self, page: str, code: Code) -> None:
        for words in split_commands(code.text):
            while words and re.fullmatch(r"\w+=.*|\$|env|nice|time|then|do|sudo", words[0], re.S):
                prompt = words.pop(0) == "$"
                if prompt and words and words[0] == "vireo":
                    words[0] = "./vireo"
            if words and words[0].startswith("python"):
                words.pop(0)
            if not words:
                continue
            first, rest = words[0], words[1:]
            if "--" in rest:
                rest = rest[:rest.index("--")]
            name = first.rpartition("/")[2]
            if first == "./vireo":
                self.verb(page, code.line, rest)
            elif name in ("ctest", "cmake", "ninja"):
                self.build_tool(page, code.line, name, rest)
            elif re.fullmatch(r"vireo_\w+", name) and (name != first or any(re.match("--?[a-z]", token) for token in rest)):
                self.program(page, code.line, name, rest)
            elif first.removeprefix("./") in self.files.files and (first.endswith(".py") or first.startswith(".ci/")):
                known = self.commands.script(first.removeprefix("./"))
                for token in rest:
                    self.option(page, code.line, first, clean(token), known or set(), set() if known else {first})
            elif first.startswith("--") and not code.block:
                known, unknown = self.commands.every_option()
                for token in words:
                    if clean(token).startswith("--"):
                        self.option(page, code.line, "no command of the repository", clean(token),
                                    known | FOREIGN_OPTIONS.keys(), unknown)
                self.values(page, code.line, words)

    def verb(self, page: str, line: int, rest: list[str]) -> None:
        if not rest:
            return
        verb = clean(rest[0])
        self.result.checked += 1
        if verb.startswith("-"):
            if verb not in self.commands.branches:
                self.say(page, line, f"./vireo has no option '{verb}'; see ./vireo --help")
            return
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", verb):
            return  # VERB
        if verb not in self.commands.verbs():
            self.say(page, line, f"./vireo has no verb '{verb}'; see ./vireo --help: {', '.join(sorted(self.commands.verbs()))}")
            return
        known, unknown = self.commands.options(verb)
        for token in rest[1:]:
            self.option(page, line, f"./vireo {verb}", clean(token), known, unknown)
        if self.commands.sources(verb)[2]:
            self.values(page, line, rest[1:])
        if verb == "build" and len(rest) > 1:
            self.values(page, line, ["--preset", rest[1]])

    def program(self, page: str, line: int, name: str, rest: list[str]) -> None:
        self.result.checked += 1
        if name not in self.commands.targets and name not in self.commands.programs:
            self.say(page, line, f"names the program '{name}', which no CMakeLists.txt builds; correct the name")
            return
        if not any(token.startswith("-") for token in rest):
            return
        known = self.commands.program(name)
        if known is not None:  # of a verb of the program, too
            for token in rest:
                if re.fullmatch(r"[a-z]+", token):
                    known = known | (self.commands.program(name, token) or set())
        for token in rest:
            if not token.startswith("--gtest_"):
                self.option(page, line, name, clean(token), known or set(), {name} if known is None else set())

    def build_tool(self, page: str, line: int, name: str, rest: list[str]) -> None:
        if name != "ninja":
            self.values(page, line, rest)
            return
        for token in rest:
            if re.fullmatch(r"(?:vireo_|verif\.)[\w.]+", token) and token.startswith("vireo_"):
                self.target(page, line, token)

    def target(self, page: str, line: int, name: str) -> None:
        self.result.checked += 1
        if name not in self.commands.targets and not self.tests.matches(name):
            self.say(page, line, f"names the target '{name}', which no CMakeLists.txt has; correct the name")

    def values(self, page: str, line: int, words: list[str]) -> None:
        """The values of -R, -L, --preset and --target."""
        pairs = list(zip(words, words[1:])) + [(w.partition("=")[0], w.partition("=")[2]) for w in words if "=" in w]
        for option, value in pairs:
            value = value.strip("[],")
            if re.fullmatch(r"[A-Z]*|\$.*|…|<.*>|-.*", value):
                continue
            if option in ("-R", "--tests-regex", "-E", "--exclude-regex"):
                self.regex(page, line, value)
            elif option in ("-L", "--label-regex", "-LE"):
                self.result.checked += 1
                if not any(re.search(value, label) for label in self.tests.labels):
                    self.say(page, line, f"-L {value} matches no label of a test; labels: {', '.join(sorted(self.tests.labels))}")
            elif option == "--preset" and not re.match(r"gen\d", value):  # that is a PCIe link
                for preset in value.split("|"):
                    self.result.checked += 1
                    if preset not in self.presets:
                        self.say(page, line, f"names the preset '{preset}', which CMakePresets.json does not have: "
                                             f"{', '.join(sorted(self.presets))}")
            elif option == "--target":
                self.target(page, line, value)

    # Documents.
    def code(self, page: str, code: Code, bare: tuple[str, ...] = SOURCES) -> None:
        self.command(page, code)
        patterns = [value for words in split_commands(code.text) for option, value in zip(words, words[1:])
                    if option in ("-R", "-E", "--tests-regex")]
        for match in self.test_name.finditer(code.text):
            if not any(match[0].rstrip(")") in pattern for pattern in patterns) and not self.is_file(match[0]):
                self.test(page, code.line, match[0])
        for token in re.split(r"[\s'\"`;|]+|,(?![^{]*\})", code.text):
            token = token.strip("()[],")
            if not self.test_name.match(token) and not (code.block and "/" not in token):
                self.path(page, code.line, token, bare)

    def is_file(self, token: str) -> bool:
        return token.rstrip(".") in self.files.by_name

    def markdown(self, path: str) -> None:
        page = self.page(path)
        for line, target in page.links:
            self.link(path, line, target)
        for code in page.codes:
            self.code(path, code)

    def toml(self, path: str) -> None:
        for number, line in enumerate(self.files.text(path).splitlines(), 1):
            if path.endswith("testplan.toml") and re.match(r"tests = |  \"", line):
                continue  # testplan.cc checks these
            for span in re.findall(r"`([^`]+)`", line):
                self.command(path, Code(number, span, False))
            for token in re.split(r"[\s'\"`;|()\[\]]+|,(?![^{]*\})", line):
                token = token.strip(".,:")
                if self.test_name.match(token):
                    self.test(path, number, token)
                else:
                    self.path(path, number, token, BARE_IN_TOML)

    def launcher(self, path: str) -> None:
        """The launcher's list of verbs, with the options that it names."""
        text = self.files.text(path)
        usage = re.search(r"<<'HELP'\n(.*?)^HELP$", text, re.M | re.S)
        listed: set[str] = set()
        first = text[:usage.start(1)].count("\n") + 1 if usage else 0
        verb = ""
        for number, line in enumerate(usage[1].splitlines() if usage else [], first):
            if match := re.match(r"  ([a-z]+) {2,}", line):
                verb = match[1]
                listed.add(verb)
                self.result.checked += 1
                if verb not in self.commands.verbs():
                    self.say(path, number, f"the usage text lists the verb '{verb}', which the launcher does not have")
                    verb = ""
            if verb:
                known, unknown = self.commands.options(verb)
                for option in re.findall(r"(?<=[\[ |])--?[A-Za-z][\w-]*", re.sub(r" -- .*|'[^']*'", "", line)):
                    self.option(path, number, f"./vireo {verb}", option, known, unknown)
            for token in line.split():
                self.path(path, number, token, ("md", "toml"))


def clean(token: str) -> str:
    return token.strip("[].,:…()")


def expand(text: str) -> list[str]:
    """{h,cc} of a name."""
    match = re.search(r"\{([^{}]*,[^{}]*)\}", text)
    if not match:
        return [text]
    return [name for choice in match[1].split(",") for name in expand(text[:match.start()] + choice.strip() + text[match.end():])]


def split_commands(text: str) -> list[list[str]]:
    """The commands of a line, each as words; comments are left out."""
    text = re.sub(r"(^|\s)#.*$", "", text.strip())
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            if token and set(token) <= set(";|&"):
                commands.append([])
            else:
                commands[-1].append(token)
    except ValueError:  # an apostrophe: prose
        return [text.split()] if text.startswith(("./vireo ", "-")) else []
    return [words for words in commands if words]


def documents(files: Files) -> Iterator[str]:
    yield from sorted(name for name in files.files if name.endswith(".md"))
    yield from sorted(name for name in files.files if re.fullmatch(r"spec/[^/]+\.toml|docs/testplan\.toml", name))


def check(files: Files, tests: Tests, commands: Commands, pages: Iterable[str], launcher: str) -> Result:
    checker = Checker(files, tests, commands)
    for page in pages:
        if page.endswith(".md"):
            checker.markdown(page)
        elif page == launcher:
            checker.launcher(page)
        else:
            checker.toml(page)
    return checker.result


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that what documents, contract and test plan name exists.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="only these, from the root (default: all)")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--ctest", default="ctest", help="the program (default: ctest)")
    parser.add_argument("--build", default="build/dev", help="folder whose tests count (default: build/dev)")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=PATH", help="a built program, run with --help")
    parser.add_argument("--verbose", action="store_true", help="also list what was not checked")
    options = parser.parse_args()
    files = Files(options.root)
    try:
        tests = Tests.from_ctest(options.ctest, str(options.root / options.build), files)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print(f"doc_names.py: cannot list the tests of {options.build} ({error}); build first: ./vireo build", file=sys.stderr)
        return 2
    if not tests.names:
        print(f"doc_names.py: ctest lists no tests in {options.build}; build first: ./vireo build", file=sys.stderr)
        return 2
    programs = dict(item.split("=", 1) for item in options.program)
    result = check(files, tests, Commands(files, "vireo", programs), options.pages or [*documents(files), "vireo"], "vireo")
    for finding in sorted(result.findings, key=lambda f: (f.page, f.line)):
        print(finding, file=sys.stderr)
    if options.verbose:
        for name in sorted(result.unknown):
            print(f"not checked, because not built: {name}")
    print(f"{result.checked} names, {len(result.findings)} do not exist, {len(result.unknown)} programs not built and not checked")
    return 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main())
