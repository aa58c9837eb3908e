"""Scripts in place of a native Lean: only command lines and files matter to what they test."""

from __future__ import annotations

from pathlib import Path

# What the compiled REPL answers when it is tried.
REPL = """#!/bin/sh
echo ready.
read line && echo '{"nGoals":0}'
"""
LEAN = """#!/bin/sh
echo "$@" >> "{prefix}/asked"
case "$1" in
  --version) echo "Lean (version {version}, x86_64-unknown-linux-gnu, commit 1234, Release)" ;;
  --print-prefix) echo "{prefix}" ;;
  --run) . "{prefix}/repl" ;;
  -R) {elaborate} ;;
esac
"""
ELABORATE = 'echo olean > "$4"; echo c > "$6"'
LEANC = """#!/bin/sh
echo leanc "$@" >> "{prefix}/asked"
{link}
"""
LINK = 'while [ "$1" != -o ]; do shift; done; /bin/cp "{prefix}/repl" "$2"'


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def install(
    prefix: Path,
    version: str = "4.28.0",
    elaborate: str = ELABORATE,
    link: str | None = LINK,
    repl: str = REPL,
) -> Path:
    """A Lean in a folder, and its `lean`. Without `link` it has no compiler."""
    program(prefix / "repl", repl)
    lean = prefix / "bin" / "lean"
    program(lean, LEAN.format(prefix=prefix, version=version, elaborate=elaborate))
    if link is not None:
        program(prefix / "bin" / "leanc", LEANC.format(prefix=prefix, link=link.format(prefix=prefix)))
    return lean


def asked(prefix: Path, what: str) -> int:
    """How often it was asked for something."""
    lines = (prefix / "asked").read_text().splitlines()
    return sum(line.startswith(what) for line in lines)
