/** Hand-made commands of the noun witness, and of the keys of a plane, as data. */
import { command } from '../../program/command.ts';

const data = {
  type: 'string',
  value: 'DIR',
  required: true,
  description: 'Directory of the witness: its keys and what it cosigned',
} as const;
const planeData = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default that of the chosen context',
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

export const planeKeysRotate = command({
  name: 'plane keys rotate',
  summary: 'Make new keys for the log of a plane; both sign until the old ones are retired',
  details: [
    'A leaf of the log that an old and the new key sign says so. The trust file gets the new keys; give it to whoever verifies, and the new keys to witnesses, before gov plane keys retire.',
    'Where the plane is served, the process that serves it takes the new keys at once; nothing stops.',
  ],
  flags: { data: planeData },
  exitCodes: { 6: 'the keys before the last rotation still sign, or the process that serves did not answer' },
  examples: ['gov plane keys rotate --data ./gov-data'],
});

export const planeKeysRetire = command({
  name: 'plane keys retire',
  summary: 'Sign with the new keys alone; proofs of before go on being verified with the old ones',
  details: [
    'The private keys go to keys/retired, where nothing reads them. A service that the plane is enrolled with knows it by the old key until it enrols again.',
  ],
  flags: { data: planeData },
  exitCodes: { 6: 'there is one pair of keys only, or the process that serves did not answer' },
  examples: ['gov plane keys retire --data ./gov-data'],
});
