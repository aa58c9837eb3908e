/-! # The program

`main` serves stdin in a native Lean. With `--snapshot` first among its arguments it is the embedded
Lean's boot: it hands the address of its request handler to the launcher, which stops it there (by an
exception through the write), keeps the memory, and from then on calls the handler itself. -/

namespace Repl

unsafe def addressOf (h : String → IO String) : USize := ptrAddrUnsafe h

/-- Names the handler to the launcher. `h` is a parameter, so that the object whose address is
printed is the one this frame, which is never left, keeps alive. -/
@[noinline] unsafe def publish (stdout : IO.FS.Stream) (h : String → IO String) : IO Unit := do
  stdout.putStrLn ("\u0001handler " ++ Nat.repr (addressOf h).toNat)
  stdout.flush
  stdout.putStrLn (← h "stat {}")

end Repl

public unsafe def main (args : List String) : IO Unit := do
  let stdout ← IO.getStdout
  match args with
  | "--snapshot" :: modules => Repl.publish stdout (← Repl.boot modules)
  | modules =>
    -- A project's modules may have `initialize`; what imports them says anew each time that it may run.
    enableInitializersExecution
    let h ← Repl.boot modules
    stdout.putStrLn "ready."
    stdout.flush
    Repl.loop h (← IO.getStdin) stdout
