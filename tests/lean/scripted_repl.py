"""A REPL without Lean, for the tests of everything that can go wrong with one.

It speaks the protocol; a goal is a word, and a tactic says what to do:

    to A B       replace the goal by the goals A and B (by none: close it)
    try A B      the same, and suggest `to A B` in its place
    budget       replace it by one that is named after the request's `maxHeartbeats`
    fail, parse, sorry, logged, heartbeats, misshapen        the ways a reply can be no success
    sleep S      answer after S seconds           hang         never answer
    die          kill -9 itself                   die-once F   the same, unless the file F exists
    exit N WORDS  say them on stderr, then exit   eat MB       take that much memory, then hang
    keep MB       take that much memory, then answer
    garbage N    N lines of noise, then answer    endless      noise for ever
    huge MB      a goal of that size              flood MB     that much on stderr, then answer
    spawn        start a child and tell its pid   twice        two replies to one request
    mute         close stdout and live on         broken       a line of half a JSON object

A file is compiled line by line; what stands behind `--` in a line is such a tactic. With
`--verify WORDS` that is what becomes of a request to verify.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnqed.lean.process import LaunchSpec


def launch(*flags: str) -> "LaunchSpec":
    """How to start this program: for the tests, which import this file; it does not need us."""
    from burnqed.lean.process import LaunchSpec

    # Marked, so that a test can look for processes that were left behind.
    env = {"PYTHONUTF8": "1", "SCRIPTED_REPL": str(os.getpid())}
    return LaunchSpec((sys.executable, "-S", __file__, *flags), env)


def left_behind() -> list[int]:
    """Processes started for this test process that still run (or were never reaped)."""
    mark = f"SCRIPTED_REPL={os.getpid()}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            ours = mark in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours or (state[0] == "Z" and int(state[1]) == os.getpid()):
            found.append(int(folder.name))
    return found


def runs(pid: int | None) -> bool:
    """Whether there is such a process; one that only waits to be reaped by somebody counts not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


states: dict[int, list[str]] = {}
kept: list[bytes] = []
made = 0


def add(goals: list[str]) -> int:
    global made
    states[made] = goals
    made += 1
    return made - 1


def show(goals: list[str]) -> list[dict[str, Any]]:
    return [
        {"name": f"g.{made}.{i}", "target": {"pp": goal}, "vars": [], "fragment": "tactic"}
        for i, goal in enumerate(goals)
    ]


def message(text: str, severity: str = "error") -> dict[str, Any]:
    return {"severity": severity, "data": text, "pos": {"line": 1, "column": 0}}


def tactic(state: int, wanted: list[int] | None, text: str, budget: Any = None) -> dict[str, Any]:
    """On the goals with these indices, by default all; the others are left out."""
    if state not in states:
        return {"error": "index", "desc": f"Invalid state index {state}"}
    goals = states[state] if wanted is None else [states[state][index] for index in wanted]
    word, *rest = text.split() or [""]
    new: list[str] = []
    success = {"messages": [], "hasSorry": False, "hasUnsafe": False, "us": 1000, "heartbeats": 1}
    match word:
        case "to":
            new = rest
        case "try":
            new = rest
            advice = "Try this:\n  [apply] to " + " ".join(rest)
            success["messages"] = [message(advice, "information")]
        case "budget":
            new = [str(budget)]
        case "fail":
            return {"messages": [message("the tactic failed")], "us": 5}
        case "parse":
            return {"parseError": "<input>:1:1: unknown tactic"}
        case "sorry":
            success["hasSorry"] = True
        case "logged":
            success["messages"] = [message("an error nobody threw")]
        case "heartbeats":
            text = "(deterministic) timeout at `whnf`, maximum number of heartbeats (200000) …"
            return {"messages": [message(text)], "us": 2_500_000}
        case "misshapen":
            return {"nextStateId": "seven"}
        case "sleep":
            time.sleep(float(rest[0]))
        case "hang":
            time.sleep(3600)
        case "die-once" if Path(rest[0]).exists():
            pass
        case "die" | "die-once":
            if rest:
                Path(rest[0]).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            print(*rest[1:], file=sys.stderr)
            sys.exit(int(rest[0]))
        case "eat":
            block = b"x" * (int(rest[0]) << 20)
            time.sleep(3600 + len(block) * 0)
        case "keep":
            kept.append(b"x" * (int(rest[0]) << 20))
        case "garbage":
            for i in range(int(rest[0])):
                print(f"[DEBUG: {i}] \x00\xff neither here nor there")
        case "endless":
            while True:
                print("la" * 40)
        case "huge":
            new = ["x" * (int(rest[0]) << 20)]
        case "flood":
            for _ in range(int(rest[0])):
                sys.stderr.write("e" * 2**20)
            sys.stderr.write("\nthe last words\n")
        case "spawn":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
            success["messages"] = [message(str(child.pid), "information")]
        case "twice":
            print('{"goals": []}')
        case "mute":
            os.close(1)
            time.sleep(3600)
        case "broken":
            print('{"goals": ', flush=True)
            time.sleep(3600)
        case _:
            return {"parseError": "<input>:1:1: unknown tactic"}
    left = new + goals[1:]
    return success | {"nextStateId": add(left), "goals": show(left)}


def compiled(file: str) -> dict[str, Any]:
    """Each line a command, told before it is done."""
    commands, at = [], 0
    for line in file.splitlines(keepends=True):
        print(f"\x01at {at}", file=sys.stderr, flush=True)
        if "--" in line:
            tactic(add(["x"]), None, line.partition("--")[2])
        end = at + len(line.encode())
        if line.strip():
            command = {"kind": "x", "boundary": [at, end], "first": at}
            commands.append(command | {"heartbeats": 0, "messages": 0})
        at = end
    reply = {"commands": commands, "messages": [], "export": {"exprs": [], "constants": []}}
    return reply | {"referenceCommands": [], "referenceMessages": []}


def serve(command: str, fields: dict[str, Any]) -> dict[str, Any]:
    match command:
        case "qed.compile":
            return compiled(fields["file"])
        case "qed.verify":
            return tactic(add(["x"]), None, sys.argv[sys.argv.index("--verify") + 1])
        case "goal.start" if fields.get("expr") == "ill-typed":
            return {"error": "expr", "desc": "type mismatch"}
        case "goal.start":
            return {"stateId": add([fields.get("expr") or fields["copyFrom"]]), "root": "r"}
        case "qed.start":
            goals = [fields["file"]]
            return {"stateId": add(goals), "root": "r", "goals": show(goals)}
        case "goal.print":
            return {"goals": show(states[fields["stateId"]])}
        case "goal.tactic":
            goal, count = fields["goalId"], len(states.get(fields["stateId"], ()))
            others = [i for i in range(count) if i != goal] if fields["autoResume"] else []
            return tactic(fields["stateId"], [goal, *others], fields["tactic"])
        case "qed.batch" if "--no-batch" not in sys.argv:
            where = fields["stateId"], fields.get("goalIds")
            budget = fields.get("maxHeartbeats")
            return {"results": [tactic(*where, text, budget) for text in fields["tactics"]]}
        case "goal.delete":
            for state in fields["stateIds"]:
                states.pop(state, None)
            return {}
        case "qed.certify":
            ok = not states[fields["stateId"]]
            used = [{"name": "And.intro", "module": "Init.Prelude"}]
            axioms = {"axioms": ["propext"], "axiomsComplete": False}
            return {"ok": ok, "desc": "", "constants": used, **axioms}
        case "stat":
            return {"nGoals": len(states)}
        case "reset":
            states.clear()
            return {}
    return {"error": "command", "desc": f"Unknown command {command}"}


def main() -> None:
    if "--exit-at-start" in sys.argv:
        sys.exit("no library here")
    if "--fail-first" in sys.argv:
        mark = Path(sys.argv[sys.argv.index("--fail-first") + 1])
        if not mark.exists():
            mark.touch()
            sys.exit("not this time")
    if "--slow-start" in sys.argv:
        time.sleep(float(sys.argv[sys.argv.index("--slow-start") + 1]))
    print("[DEBUG: noise of this build]\nready.", flush=True)
    for line in sys.stdin:
        if line == "\n":
            return
        command, _, fields = line.partition(" ")
        try:
            reply = serve(command, json.loads(fields))
        except ValueError:
            reply = {"error": "command", "desc": "no JSON"}
        print(json.dumps(reply, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
