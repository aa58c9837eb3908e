// Tries the walls around Lean from JavaScript, as code would that had found its way there, and prints for
// each what became of it: "through", or why not. Run by walls.py.
//
//   walls.js FILE PORT
'use strict';
const fs = require('fs');
const { spawnSync } = require('child_process');
const net = require('net');

const [file, port] = process.argv.slice(2);

function attempt(act) {
  try { act(); return 'through'; } catch (error) { return error.code || error.name; }
}

const found = {
  read: attempt(() => fs.readFileSync(file)),
  write: attempt(() => fs.writeFileSync(file, '')),
  code: attempt(() => (0, eval)('1')),
  process: attempt(() => { const { error } = spawnSync(process.execPath, ['--version']); if (error) throw error; }),
};
const socket = net.connect(+port, '127.0.0.1');
const done = said => { console.log(JSON.stringify({ ...found, network: said })); process.exit(0); };
socket.on('connect', () => done('through'));
socket.on('error', error => done(error.code));
