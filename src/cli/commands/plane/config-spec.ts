/** Hand-made commands about the configuration that a data plane takes from its service, as data. */
import { command } from '../../program/command.ts';

const data = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default that of the chosen context',
} as const;
const file = {
  name: 'file',
  description: 'Signed configuration (gov planes bundle), or - for standard input',
} as const;

export const planeConfigShow = command({
  name: 'plane config show',
  summary: 'Show the configuration in force that came from the service: version, hash, policies',
  details: ['A plane that serves is asked; of one that does not, the data directory is read.'],
  flags: { data },
  examples: ['gov plane config show', 'gov plane config show -o json | jq -r .bundleHash'],
  exitCodes: { 3: 'the newest one of the service is refused', 5: 'the plane holds none' },
});

export const planeConfigApply = command({
  name: 'plane config apply',
  summary: 'Put a signed configuration from a file in force: for a plane without a way to its service',
  details: [
    'It is taken whole or not at all: signature, project, a version after the one in force, and every policy are checked first. What was in force stays where it is refused.',
    'A plane that serves takes it at once; one that does not has it when it is started.',
  ],
  args: [file],
  flags: {
    data,
    older: {
      type: 'boolean',
      description: 'Take it though a later version is in force: of a service restored from a backup',
    },
  },
  changes: true,
  examples: ['gov plane config apply ward-7.govconfig.json'],
  exitCodes: { 3: 'it is refused; what was in force stays' },
});

export const planeConfigVerify = command({
  name: 'plane config verify',
  summary: 'Check a signed configuration without changing anything',
  details: [
    'Whose signature counts is what the plane was told when it was enrolled, or by plane.json; elsewhere give --key and --project-id.',
  ],
  args: [file],
  flags: {
    data,
    key: {
      type: 'strings',
      value: 'VKEY',
      description: 'Verifier key of the service (C2SP vkey); repeatable',
    },
    projectId: {
      type: 'string',
      value: 'PROJECT',
      description: 'Project of the service that it has to be of',
    },
    environment: {
      type: 'string',
      choices: ['production', 'sandbox'],
      value: 'ENV',
      description: 'Environment that it has to be of; default that of the plane, or production',
    },
  },
  examples: [
    'gov plane config verify ward-7.govconfig.json',
    'gov plane config verify ward-7.govconfig.json --key gov.example/config+2f1c8a90+AUj… --project-id prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
  ],
  exitCodes: { 0: 'it would be taken', 3: 'it would be refused' },
});

export const planeConfigSet = command({
  name: 'plane config set',
  summary: 'Say whose configurations a plane takes, and what they count for',
  details: [
    'A plane that is enrolled knows its service. One without a way to it is told the project and the verifier key, which gov planes bundle says.',
    'beside: the policies of the service are in force beside the plane’s own. service: only those of the service count. off: none is taken, and what came earlier is the plane’s to change.',
  ],
  flags: {
    data,
    policies: {
      type: 'string',
      choices: ['beside', 'service', 'off'],
      value: 'MODE',
      // as in src/contract/plane-config.ts
      description: 'What the policies of the service count for; default beside',
    },
    projectId: { type: 'string', value: 'PROJECT', description: 'Project of the service' },
    key: { type: 'strings', value: 'VKEY', description: 'Verifier key of the service; repeatable' },
    every: { type: 'duration', value: 'TIME', description: 'How often the service is asked; default 5m' },
  },
  changes: true,
  examples: [
    'gov plane config set --policies service',
    'gov plane config set --project-id prj_01jq3v5k8hf7wb3c9x2m4n6p8r --key gov.example/config+2f1c8a90+AUj…',
  ],
});

export const planesBundle = command({
  name: 'planes bundle',
  summary: 'Get the signed configuration of the project, to be carried to its data planes',
  flags: {
    out: { type: 'string', value: 'FILE', short: 'O', description: 'File to write; default standard output' },
  },
  examples: ['gov planes bundle -O ward-7.govconfig.json', 'gov planes bundle | sha256sum'],
});
