"""A script cut down to what it uses, run by the engine that will run it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.errors import CorruptError
from burnqed.lean.embedded import package
from burnqed.lean.embedded.prune import declared_names, prune, redefine, split

SCRIPT = r"""
var Module={};var used=a=>`${a}};${evil?`}`:"x"}`;var evil=0;
var regular=/[/"}]\/;{/g,half=8/2/1;
function main(){return table.length+used("a;{")+half}main.sig="i";
async function network(){return fetch("x")}network.sig="v";
class Kept{go(){return main()}}
class Dropped{go(){return network()}}
function tables(){return[main,network]}
var table=[network,main];
if(Module.never){new Kept}else if(true){Module.done=1}else{Module.done=2}
Kept.ready=true;Dropped.ready=true;
for(var i=0;i<3;++i){list.push(i)}var list=[];
try{Module.fine=1}catch(e){Module.fine=2}
Module["network"]=network;Module["main"]=main;
"""


def run(script: str) -> str:
    node = [str(package.node_executable()), "-e", script]
    out = subprocess.run(node, capture_output=True, text=True, timeout=60, check=True)
    return out.stdout.strip()


def test_statements_are_found() -> None:
    statements = split(SCRIPT)
    assert "".join(statements) == SCRIPT
    heads = [statement.strip()[:12] for statement in statements if statement.strip()]
    assert heads == [
        "var Module={", "var used=a=>", "var evil=0;", "var regular=", "function mai", 'main.sig="i"',
        "async functi", 'network.sig=', "class Kept{g", "class Droppe", "function tab", "var table=[n",
        "if(Module.ne", "Kept.ready=t", "Dropped.read", "for(var i=0;", "var list=[];", "try{Module.f",
        'Module["netw', 'Module["main',
    ]  # fmt: skip


def test_only_what_is_used_stays() -> None:
    kept = prune(SCRIPT, ["main"], ["table"])
    for gone in ("fetch", "Dropped", "list", "tables", 'Module["'):
        assert gone not in kept, gone
    for there in ("main.sig", "class Kept", "Kept.ready", "used", "half", "var table", "try{"):
        assert there in kept, there
    assert "network" in kept, "in a table, whose entries are somebody else's matter"
    assert run(kept.replace("[network,", "[null,") + ";console.log(main()+Module.done)") == "2a;{};x41"


def test_what_a_table_names_stays_if_it_is_no_weak_one() -> None:
    assert "fetch" in prune(SCRIPT, ["main"], [])


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(CorruptError, match="declares no other"):
        prune(SCRIPT, ["other"], [])
    with pytest.raises(CorruptError, match="expected one statement 'var other=', found 0"):
        redefine(SCRIPT, {"var other=": ""})
    assert "var evil=3;" in redefine("var evil=0;var b;", {"var evil=": "var evil=3;"})


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("var a,b=[1,c],d=f(e,g),h=i=>j,k=l?m:n;", ["a", "b", "d", "h", "k"]),
        ("async function f(a){var b}", ["f"]),
        ("class A extends B{}", ["A"]),
        ("a=b,c=d;", []),
        ("variable=1;", []),
    ],
)
def test_declared_names(statement: str, names: list[str]) -> None:
    assert declared_names(statement) == names


PIECES = [*"a=/(){}[];`\"'\\ \n*", "${", "if"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_nothing_is_lost_of_any_text(script: str) -> None:
    assert "".join(split(script)) == script
