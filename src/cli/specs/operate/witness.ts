/** Commands of the noun witness, as data. Tested by `test/docs/witness.test.ts`. */
import { command, flag } from '../../program/spec.ts';

const data = flag.text('DIR', 'Directory of the witness: its keys and cosigned checkpoints', {
  required: true,
});

const trust = flag.text('FILE', 'Trust file with keys of a log, such as DIR/trust of a plane');

const vkeys = {
  name: 'vkey',
  variadic: true,
  description: 'Verifier key of a log, with the origin of the log as its name',
} as const;

export const witnessInit = command({
  name: 'witness init',
  prints: 'created:boolean dataDir name listen verifierKeys:array',
  summary: 'Make the directory of a witness: keys and store',
  details: [
    'Works offline. Prints its verifier keys: Ed25519, then ML-DSA-44 if this Node has it. Give one of them to each plane that uses this witness, and to verifiers.',
  ],
  flags: {
    data: { ...data, description: 'Directory to make' },
    name: flag.text('NAME', 'Name of its keys, such as witness.example/w1; default: a random one'),
    listen: flag.text('HOST:PORT', 'Address to serve at; default: 127.0.0.1:7480'),
    index: flag.on('An index witness: its keys cosign only logs whose index it derived itself'),
  },
  examples: ['gov witness init --data ./witness --name witness.example/w1'],
});

export const witnessServe = command({
  name: 'witness serve',
  prints: 'none',
  summary: 'Cosign checkpoints of known logs until a signal stops it',
  details: [
    'C2SP tlog-witness: POST /add-checkpoint. A log gets a cosignature only if each checkpoint extends the one before. The witness stores a checkpoint durably before it returns the cosignature.',
    'With --index it also reads the records of the log (ids, types, times and digests, no values) and derives its index. Its cosignature says that every index leaf below is right. While it is behind, it answers 503, and the log goes on. A false index is refused for good: gov witness logs -o json has the evidence, and GET /health names the leaf.',
  ],
  flags: {
    data,
    listen: flag.text('HOST:PORT', 'Address to serve at instead of the configured one'),
    index: flag.on(
      'Derive the index of each log from its records before it is cosigned; for a directory of gov witness init --index',
    ),
    moved: flag.on(
      'Accept a directory that was moved to another disk or machine; only if it is the newest copy',
    ),
  },
  ownsSignals: true,
  exitCodes: {
    6: 'another process serves the directory, its store is a copy or lost, or it is a witness of the other kind',
    74: 'a disk error stopped it',
  },
  examples: ['gov witness serve --data ./witness'],
});

export const witnessAddLog = command({
  name: 'witness add-log',
  prints: 'added:array known:integer',
  summary: 'Add keys of a log to witness, also while the witness serves',
  args: [{ ...vkeys, optional: true }],
  flags: {
    data,
    trust,
    readFrom: flag.text(
      'URL',
      'Where an index witness reads the records, such as https://gov.example/api/v1',
    ),
    keyFile: flag.text('FILE', 'File with the API key for it, with the scope log:read'),
  },
  examples: [
    'gov witness add-log --data ./witness --trust ./gov-data/trust',
    'gov witness add-log --data ./index --trust acme.trust --read-from https://gov.example/api/v1 --key-file acme.key',
    'gov witness add-log --data ./witness example.com/log+c1a2b3d4+ASWBVE…',
  ],
});

export const witnessRemoveLog = command({
  name: 'witness remove-log',
  prints: 'removed:array',
  summary: 'Remove keys of a log; a log without keys is no longer witnessed',
  args: [vkeys],
  flags: { data },
  exitCodes: { 5: 'the witness does not know one of the keys; nothing was removed' },
  examples: ['gov witness remove-log --data ./witness example.com/log+c1a2b3d4+ASWBVE…'],
});

export const witnessLogs = command({
  name: 'witness logs',
  prints: 'logs[] origin size:integer|null cosignedAt:string|null keys:array refused:object|null',
  summary: 'List the witnessed logs and their newest tree size',
  flags: { data },
  examples: ['gov witness logs --data ./witness'],
});

export const witnessAdd = command({
  name: 'witness add',
  prints: 'none',
  summary: 'Derive a log from a file of its records, and print its cosigned checkpoint',
  details: [
    'For an index witness that cannot reach the log. The file is that of gov log entries. A false index is refused for good, as by gov witness serve --index. Stop the serving process first.',
  ],
  args: [{ name: 'file', description: 'Records of the log below a signed checkpoint' }],
  flags: { data },
  exitCodes: { 2: 'the file does not have the records of its checkpoint', 6: 'the log is refused' },
  examples: ['gov witness add acme.goventries --data ./auditor > cosigned.txt'],
});
