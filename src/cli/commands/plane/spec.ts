/** Hand-made commands of the nouns plane and log, as data. */
import { command } from '../../program/command.ts';

const data = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default that of the chosen context',
} as const;

export const planeInit = command({
  name: 'plane init',
  summary: 'Make a data plane: directory, keys, configuration and a context for it',
  flags: {
    data: { type: 'string', value: 'DIR', required: true, description: 'Data directory to make' },
    name: {
      type: 'string',
      value: 'NAME',
      description: 'Name of the plane and its context; default the directory’s',
    },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to serve at; default 127.0.0.1:7460',
    },
    metricsListen: { type: 'string', value: 'HOST:PORT', description: 'Address of the metrics, or off' },
    environment: {
      type: 'string',
      choices: ['production', 'sandbox'],
      value: 'ENV',
      description: 'What its keys are for; default production',
    },
  },
  examples: ['gov plane init --data ./gov-data'],
});

export const planeServe = command({
  name: 'plane serve',
  summary: 'Serve a data plane until it is told to stop',
  flags: {
    data,
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to serve at instead of the configured one',
    },
    metricsListen: { type: 'string', value: 'HOST:PORT', description: 'Address of the metrics, or off' },
    logLevel: { type: 'string', value: 'LEVEL', description: 'Least level that is logged; default info' },
    tlsCert: {
      type: 'string',
      value: 'FILE',
      description: 'Serve over TLS with this certificate and its chain (PEM)',
    },
    tlsKey: {
      type: 'string',
      value: 'FILE',
      description: 'Its private key (PEM), a file that only its owner reads',
    },
    tlsClientCa: {
      type: 'string',
      value: 'FILE',
      description: 'Authorities (PEM) of which every client needs a certificate',
    },
    witness: {
      type: 'strings',
      value: 'VKEY@URL',
      description: 'Witness that cosigns checkpoints, instead of those in plane.json; may be repeated',
    },
    rebuildHeads: {
      type: 'boolean',
      description: 'Make a lost heads.db again from gov.db, which must be the newest copy',
    },
  },
  exitCodes: { 0: 'stopped by a signal', 6: 'another process serves it', 74: 'stopped by a storage fault' },
  ownsSignals: true,
  examples: ['gov plane serve', 'gov plane serve --data /var/lib/gov'],
});

export const planeStatus = command({
  name: 'plane status',
  summary: 'Say whether a data plane serves, and how it is',
  flags: { data },
  examples: ['gov plane status', 'gov plane status -o json'],
  exitCodes: {
    0: 'it serves and writes are durable',
    3: 'it serves but is degraded or blocked',
    10: 'it does not serve',
  },
});

export const logFsck = command({
  name: 'log fsck',
  summary: 'Check the whole log on disk: records, hashes, tree, checkpoints',
  flags: {
    data,
    deep: {
      type: 'boolean',
      description: 'Also every disclosure, metering reference, signature, and the file itself',
    },
  },
  examples: ['gov log fsck', 'gov log fsck --deep -o json'],
  exitCodes: { 0: 'whole', 2: 'it could not be read', 3: 'broken' },
});
