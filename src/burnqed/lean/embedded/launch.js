// Runs the prepared Lean under Node.
//
//   launch.js pack CODE REPL.lean
//       elaborate the REPL, which needs all of Lean's library, and write what was compiled to CODE
//   launch.js boot SNAPSHOT CODE WARMUP MODULE…
//       start Lean with nothing but CODE, import the modules, answer the requests of the file WARMUP
//       (so that indices and caches are built), and write the whole memory to SNAPSHOT
//   launch.js serve SNAPSHOT
//       read SNAPSHOT back and answer requests: a line in, a line out
//
// A snapshot is possible because at its moment no Lean code is on the stack: the REPL hands its
// request handler (a closure) to this program, which throws a JavaScript exception through Lean's
// main, leaving the heap as it is, and from then on calls the closure itself. Threads of the boot are
// idle by then and are not part of what is kept; new ones start when something needs them.
//
// A snapshot is small because the REPL is not elaborated where it is booted. The interpreter runs code
// of an environment; that of the elaboration would hold all of Lean's library. Ours has the functions
// that the REPL consists of, and the signatures of those that they call, and nothing else.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [mode, result, source, warmUp, ...modules] = process.argv.slice(2);
const dist = process.env.LEAN_DIST || __dirname;
const library = process.env.LEAN_LIBRARY;
const MB = 1 << 20;
const EROFS = 69;
const PAGE = 65536;
const MAX_PAGES = 32768;         // 2 GiB, the module's own limit
const BOOT_STACK = 64 * MB;
const SERVE_STACK = 128 * MB;     // Lean's own depth check must fire before this is used up
const QUIET_MS = 300;             // for threads to finish what they do and go to sleep
const READY = 'ready.';
const CODE = '/repl/Repl.code';     // as Lean sees it; `Pack.lean` writes it
const booted = { stack: 0, handler: 0 };   // thrown through Lean's main when Lean is up, and the REPL
const start = performance.timeOrigin;
const trace = process.env.LEAN_TRACE
  ? what => fs.writeSync(2, `[${Math.round(Date.now() - start)} ms, ${Math.round(process.memoryUsage.rss() / MB)} MB] ${what}\n`)
  : () => {};

// ---------------------------------------------------------------- stdin and stdout

let pending = [];                 // chunks of a line that has not ended yet

function readLine() {
  for (;;) {
    const last = pending.length - 1;
    const end = last < 0 ? -1 : pending[last].indexOf(10);
    if (end >= 0) {
      const line = Buffer.concat([...pending.slice(0, last), pending[last].subarray(0, end)]);
      pending = end + 1 < pending[last].length ? [pending[last].subarray(end + 1)] : [];
      return line;
    }
    const chunk = Buffer.allocUnsafe(PAGE);
    let got;
    try { got = fs.readSync(0, chunk, 0, PAGE, null); } catch (e) {
      if (e.code === 'EAGAIN') { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); continue; }
      if (e.code !== 'EOF') throw e;
      got = 0;
    }
    if (got === 0) {
      const line = Buffer.concat(pending);
      pending = [];
      return line.length ? line : null;
    }
    pending.push(chunk.subarray(0, got));
  }
}

function write(bytes) {
  for (let at = 0; at < bytes.length;) {
    try { at += fs.writeSync(1, bytes, at); } catch (e) {
      if (e.code !== 'EAGAIN') throw e;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

// ---------------------------------------------------------------- calling Lean

function newStack(size) {
  const low = _emscripten_builtin_memalign(PAGE, size);
  _emscripten_stack_set_limits(low + size, low);
  stackRestore(low + size);
  return low + size;
}

// Lean's object layout on wasm32: a count and a tag word, then fields; a string's bytes follow
// its size, capacity and length.
function leanString(bytes) {
  const input = _malloc(bytes.length + 1);
  growMemViews();
  HEAPU8.set(bytes, input);
  const text = wasmExports.lean_mk_string_from_bytes(input, bytes.length);
  _free(input);
  return text;
}

function callHandler(handler, line) {
  const text = leanString(line);
  HEAP32[handler >> 2]++;         // the call consumes a reference to the closure
  const outcome = wasmExports.lean_apply_2(handler, text, 1);
  const string = valueOf(outcome, 'the request handler');
  const size = HEAPU32[string + 8 >> 2] - 1;
  const reply = Buffer.from(HEAPU8.slice(string + 20, string + 20 + size));
  if (HEAP32[outcome >> 2] > 1) HEAP32[outcome >> 2]--;
  else wasmExports.lean_dec_ref_cold(outcome);
  return reply;
}

// What an IO action returned: the tag of `ok` is 0.
function valueOf(outcome, what) {
  growMemViews();
  if (HEAPU8[outcome + 7] !== 0) throw new Error(`${what} failed`);
  return field(outcome, 0);
}

function field(object, i) {
  growMemViews();
  return HEAPU32[(object + 8 >> 2) + i];
}

function elements(array) {       // behind a size and a capacity
  return Array.from({ length: field(array, 0) }, (_, i) => field(array, 2 + i));
}

function serve(handler, stackTop) {
  write(Buffer.from(READY + '\n'));
  trace('ready');
  for (;;) {
    const line = readLine();
    if (line === null || line.length === 0) process.reallyExit(0);
    stackRestore(stackTop);
    const reply = callHandler(handler, line);
    write(Buffer.concat([reply, Buffer.from('\n')]));
  }
}

// ---------------------------------------------------------------- the snapshot

function mutableGlobals() {
  return Object.entries(wasmExports).filter(([name]) => name.startsWith('mutable_global_'));
}

function save(file, handler, stackTop) {
  growMemViews();
  const words = new BigUint64Array(wasmMemory.buffer);
  const perPage = PAGE / 8;
  const extents = [];             // [first page, pages] of what is not zero
  for (let page = 0; page * perPage < words.length; page++) {
    let at = page * perPage;
    const end = at + perPage;
    while (at < end && words[at] === 0n) at++;
    if (at === end) continue;
    const last = extents[extents.length - 1];
    if (last && last[0] + last[1] === page) last[1]++; else extents.push([page, 1]);
  }
  const header = Buffer.from(JSON.stringify({
    pages: wasmMemory.buffer.byteLength / PAGE, extents, handler, stackTop,
    globals: mutableGlobals().map(([name, g]) => [name, g.value]), table: wasmTable.length,
  }));
  const out = fs.openSync(file, 'w');
  const size = Buffer.alloc(8);
  size.writeUInt32LE(header.length);
  fs.writeSync(out, size);
  fs.writeSync(out, header);
  for (const [page, count] of extents) {
    for (let done = 0; done < count * PAGE;) {
      done += fs.writeSync(out, HEAPU8, page * PAGE + done, count * PAGE - done);
    }
  }
  fs.fsyncSync(out);
  fs.closeSync(out);
}

function readHeader(fd) {
  const size = Buffer.alloc(8);
  fs.readSync(fd, size, 0, 8, 0);
  const length = size.readUInt32LE(0);
  const text = Buffer.alloc(length);
  fs.readSync(fd, text, 0, length, 8);
  return { ...JSON.parse(text), at: 8 + length };
}

// Fills the memory before the module is instantiated: its start function then finds its data in
// place, and the constructors of the C++ run-time, which have run, are not run again.
function restoreMemory(fd, header, memory, used) {
  const bytes = new Uint8Array(memory.buffer);
  let at = header.at;
  let cleared = used.start;       // where what was `used` before is not yet overwritten
  for (const [page, count] of [...header.extents, [header.pages, 0]]) {
    if (cleared < Math.min(page, used.end)) bytes.fill(0, cleared * PAGE, Math.min(page, used.end) * PAGE);
    cleared = Math.max(cleared, page + count);
    readFully(fd, bytes.subarray(page * PAGE, (page + count) * PAGE), at);
    at += count * PAGE;
  }
  fs.closeSync(fd);
}

// Compiling copies the module's 110 MB. They are read into memory that the snapshot fills later, so that
// no other has to be found (and cleared, by the kernel) for them.
function compileModule(header, memory) {
  const fd = fs.openSync(path.join(dist, 'lean.wasm'), 'r');
  const size = fs.fstatSync(fd).size;
  const used = place(header, Math.ceil(size / PAGE));
  const bytes = new Uint8Array(memory.buffer, used.start * PAGE, size);
  readFully(fd, bytes, 0);
  fs.closeSync(fd);
  return { compiled: new WebAssembly.Module(bytes), used };
}

// That many pages in a row, of which the snapshot fills as many as possible.
function place(header, pages) {
  const filled = start => header.extents.reduce((sum, [page, count]) =>
    sum + Math.max(0, Math.min(page + count, start + pages) - Math.max(page, start)), 0);
  const starts = header.extents.map(([page]) => Math.min(page, header.pages - pages));
  const start = starts.reduce((best, one) => filled(one) > filled(best) ? one : best);
  return { start, end: start + pages };
}

function readFully(fd, bytes, at) {
  for (let done = 0; done < bytes.length;) {
    const got = fs.readSync(fd, bytes, done, bytes.length - done, at + done);
    if (got === 0) throw new Error('a file of the installation is cut short');
    done += got;
  }
}

function restoreGlobals(header) {
  if (wasmTable.length !== header.table) throw new Error('the function table differs from the snapshot');
  const globals = Object.fromEntries(mutableGlobals());
  for (const [name, value] of header.globals) globals[name].value = value;
}

// ---------------------------------------------------------------- start

// Lean sees its own library, which it cannot write to, and nothing else of this machine.
function mount(FS, NODEFS, ENV) {
  const refuse = () => { throw new FS.ErrnoError(EROFS); };
  for (const change of ['mknod', 'rename', 'unlink', 'rmdir', 'symlink', 'setattr']) NODEFS.node_ops[change] = refuse;
  const open = NODEFS.stream_ops.open;
  NODEFS.stream_ops.write = refuse;
  NODEFS.stream_ops.open = stream => { if (stream.flags & 3) refuse(); open(stream); };
  for (const folder of ['/lib', '/lib/lean', '/bin', '/repl']) try { FS.mkdir(folder); } catch { /* there */ }
  FS.writeFile('/bin/lean', '');
  FS.mount(NODEFS, { root: library }, '/lib/lean');
  if (mode !== 'serve') FS.writeFile(mode === 'pack' ? '/repl/Repl.lean' : CODE, fs.readFileSync(source));
  FS.chdir('/repl');
  FS.streams[1].stream_ops = { ...FS.streams[1].stream_ops, write: printed };
  ENV.LEAN_PATH = '/lib/lean';
  ENV.LEAN_SYSROOT = '/';
}

// What Lean itself prints is never a reply. While it boots, its first line says that Lean is up, and the
// line that names the handler ends the boot; all else is a diagnostic. (Emscripten's own terminal device
// would turn the exception into an I/O error.)
function printed(_stream, buffer, offset, length) {
  const text = Buffer.from(buffer.slice(offset, offset + length)).toString();
  const named = /\u0001handler (\d+)\n/.exec(text);
  const awaited = mode === 'boot' && !booted.handler && (named || !booted.stack);
  if (!awaited) { fs.writeSync(2, text); return length; }
  if (named) booted.handler = +named[1];
  booted.stack = stackSave();
  throw booted;
}

function packAndExit() {
  newStack(BOOT_STACK);
  const failed = callMain(globalThis.Module.arguments);   // Lean has said why
  if (!failed) fs.writeFileSync(result, FS.readFile(CODE));
  trace('packed');
  process.reallyExit(failed);
}

// Functions of Lean's by name. That they take what we give them is all that can be checked.
function lean(name, parameters) {
  const at = leanSymbol(name);
  const found = at && wasmTable.get(at);
  if (!found || found.length !== parameters) throw new Error(`Lean has no ${name} of ${parameters} parameters`);
  return found;
}

// An environment in which the interpreter finds the REPL. Entries are added to two extensions: the code of
// functions, and the symbols of those that are not called by their own names. In a fresh environment
// nothing is asynchronous, and the names are the anonymous one: both are 1, a boxed 0.
function environment() {
  const read = lean('l_Lean_readModuleData', 1);
  const add = lean('l_Lean_PersistentEnvExtension_addEntry___redArg', 5);
  const packed = field(valueOf(read(leanString(Buffer.from(CODE))), 'reading the code'), 0);
  let env = valueOf(lean('lean_mk_empty_environment', 1)(0), 'making an environment');
  const extended = (extension, entry) => { env = add(extension, env, entry, 1, 1); };
  growMemViews();
  const codes = HEAPU32[leanSymbol('l_Lean_IR_declMapExt') >> 2];
  const symbols = field(HEAPU32[leanSymbol('l_Lean_exportAttr') >> 2], 1);
  elements(field(packed, 0)).forEach(entry => extended(codes, entry));
  elements(field(packed, 1)).forEach(entry => extended(symbols, entry));
  return env;
}

function leanList(words) {
  const push = lean('lean_array_push', 2);
  const empty = lean('lean_mk_array', 2)(1, 1);
  const array = words.reduce((all, text) => push(all, leanString(Buffer.from(text))), empty);
  return lean('l_Array_toListImpl___redArg', 1)(array);
}

// Calls what ends with `booted`. The stack is used on from there: what lies on it, the interpreter above
// all, stays in use.
function until(call) {
  try { call(); } catch (e) { if (e !== booted) throw e; }
  stackRestore(booted.stack);
}

function bootAndSave() {
  newStack(BOOT_STACK);
  until(() => callMain(globalThis.Module.arguments));
  trace('Lean is up');
  const options = lean('lean_internal_get_default_options', 1)(1);
  const env = environment();
  until(() => lean('lean_run_main', 3)(env, options, leanList(['--snapshot', ...modules])));
  if (!booted.handler) { fs.writeSync(2, 'the REPL did not start\n'); process.reallyExit(1); }
  trace('REPL is up');
  const stackTop = newStack(SERVE_STACK);
  wasmExports._ZN4lean15save_stack_infoEb(1);
  for (const line of fs.readFileSync(warmUp, 'utf8').split('\n').filter(Boolean)) {
    stackRestore(stackTop);
    trace(`${line} -> ${callHandler(booted.handler, Buffer.from(line)).toString().slice(0, 200)}`);
  }
  stackRestore(stackTop);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, QUIET_MS);
  save(result, booted.handler, stackTop);
  trace('saved');
  process.reallyExit(0);
}

let header = null;
let memory;
let compiled;
let used;
if (mode === 'serve') {
  process.env.LEAN_CATCHING = '1';   // threads look there too
  const fd = fs.openSync(result, 'r');
  header = readHeader(fd);
  memory = new WebAssembly.Memory({ initial: header.pages, maximum: MAX_PAGES, shared: true });
  ({ compiled, used } = compileModule(header, memory));
  trace('module compiled');
  restoreMemory(fd, header, memory, used);
  trace('memory restored');
}

// What threads are made with takes Node 13 ms to load, and few workers make one.
const threads = {
  isMainThread: true,
  Worker: function Worker(...how) { return new (require('worker_threads').Worker)(...how); },
};
globalThis.require = name => name === 'worker_threads' ? threads : require(name);
globalThis.__filename = path.join(dist, 'lean.js');
globalThis.__dirname = dist;
globalThis.Module = {
  arguments: ['-j1', mode === 'pack' ? '/repl/Repl.lean' : '--print-prefix'],   // it prints when it is up
  noInitialRun: true,
  leanRestored: header !== null,
  wasmMemory: memory,
  instantiateWasm: compiled && ((imports, receive) => receive(new WebAssembly.Instance(compiled, imports), compiled)),
  INITIAL_MEMORY: 256 * MB,
  print: line => fs.writeSync(2, line + '\n'),
  printErr: line => fs.writeSync(2, line + '\n'),
  onRuntimeInitialized() {
    trace('runtime initialised');
    mount(FS, NODEFS, ENV);
    if (mode === 'pack') packAndExit();
    if (mode === 'boot') bootAndSave();
    try {
      restoreGlobals(header);
      wasmExports.lean_init_task_manager_using(1);   // the old one's threads are not here
      serve(header.handler, header.stackTop);
    } catch (error) {   // Lean has said why when it ends itself (ExitStatus)
      if (error.name !== 'ExitStatus') fs.writeSync(2, `Lean's runtime failed: ${error}\n`);
      process.reallyExit(1);
    }
  },
};
process.on('uncaughtExceptionMonitor', error => fs.writeSync(2, `Lean's runtime failed: ${error}\n`));
vm.runInThisContext(fs.readFileSync(globalThis.__filename, 'utf8'), { filename: globalThis.__filename });
