/** Commands of a witness, as data. */
import { command } from '../../program/spec.ts';

const data = {
  type: 'string',
  value: 'DIR',
  required: true,
  description: 'Directory of the witness: its keys and what it cosigned',
} as const;

const trust = {
  type: 'string',
  value: 'FILE',
  description: 'Trust file whose keys of a log are taken, such as DIR/trust of a plane',
} as const;

const vkeys = {
  name: 'vkey',
  variadic: true,
  description: 'Verifier key of a log; its name is the origin of the log',
} as const;

export const witnessInit = command({
  name: 'witness init',
  summary: 'Make a witness: directory, keys, what it cosigned',
  details: [
    'Offline. Shows its verifier keys: Ed25519 first, then ML-DSA-44 where this Node has it. Give one of them to each plane that asks this witness, and to whoever verifies.',
  ],
  flags: {
    data: { ...data, description: 'Directory to make' },
    name: {
      type: 'string',
      value: 'NAME',
      description: 'Name of its keys, such as witness.example/w1; default one that is random',
    },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to serve at; default 127.0.0.1:7480',
    },
  },
  examples: ['gov witness init --data ./witness --name witness.example/w1'],
});

export const witnessServe = command({
  name: 'witness serve',
  summary: 'Cosign checkpoints of known logs until it is told to stop',
  details: [
    'C2SP tlog-witness: POST /add-checkpoint. A log whose checkpoints do not each extend the one before gets no cosignature. What was cosigned is durable before the cosignature leaves.',
  ],
  flags: {
    data,
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to serve at instead of the configured one',
    },
    moved: {
      type: 'boolean',
      description:
        'The directory is the newest one and was moved to another disk or machine; never for a copy from before',
    },
  },
  ownsSignals: true,
  exitCodes: {
    6: 'another process serves the directory, or its store is a copy or lost',
    74: 'the disk failed',
  },
  examples: ['gov witness serve --data ./witness'],
});

export const witnessAddLog = command({
  name: 'witness add-log',
  summary: 'Witness a log from now on, also while it is served',
  args: [{ ...vkeys, optional: true }],
  flags: { data, trust },
  examples: [
    'gov witness add-log --data ./witness --trust ./gov-data/trust',
    'gov witness add-log --data ./witness example.com/log+c1a2b3d4+ASWBVE…',
  ],
});

export const witnessRemoveLog = command({
  name: 'witness remove-log',
  summary: 'Take back keys of a log: a log without keys is not witnessed any more',
  args: [vkeys],
  flags: { data },
  examples: ['gov witness remove-log --data ./witness example.com/log+c1a2b3d4+ASWBVE…'],
});

export const witnessLogs = command({
  name: 'witness logs',
  summary: 'List the logs that are witnessed, and how far',
  flags: { data },
  examples: ['gov witness logs --data ./witness'],
});
