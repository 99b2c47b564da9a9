/** Hand-made commands of the noun proofs, as data. */
import { command } from '../../program/command.ts';

const proofId = { name: 'proofId', description: 'Proof, such as prf_…' } as const;

export const proofsCreate = command({
  name: 'proofs create',
  summary: 'Prove a run',
  changes: true,
  details: [
    'Without --async or --wait the proof is made while you wait, up to 10,000 events. --wait makes it as a job and waits for it; --async answers with the job at once.',
  ],
  flags: {
    run: { type: 'string', value: 'RUN', required: true, description: 'The run to prove' },
    layers: {
      type: 'strings',
      separator: ',',
      value: 'A,B',
      description: 'Layers to prove, separated by commas',
    },
    schemaVersion: { type: 'string', value: 'V', description: '1.0, or its alias v1' },
    async: { type: 'boolean', description: 'Answer with the job at once' },
    wait: { type: 'boolean', description: 'Make it as a job and wait for it, at most --timeout' },
  },
  examples: [
    'gov proofs create --run checkout-42',
    'gov proofs create --run checkout-42 --layers event_integrity,log_inclusion --wait --timeout 10m',
  ],
  exitCodes: { 1: 'the job failed', 8: 'the job was not done within --timeout; it goes on' },
});

export const proofsGet = command({
  name: 'proofs get',
  summary: 'Get one proof, or everything needed to verify it without the service',
  args: [proofId],
  flags: {
    bundle: { type: 'boolean', description: 'The whole bundle (*.govproof.json), for offline verification' },
    out: { type: 'string', value: 'FILE', description: 'Write the bundle to this file' },
    format: {
      type: 'string',
      choices: ['govproof', 'tlog-proof', 'dsse'],
      value: 'KIND',
      description: 'Form of the bundle: govproof, or the C2SP tlog-proof or DSSE envelope in it',
    },
    events: {
      type: 'string',
      choices: ['none', 'records', 'disclosed'],
      value: 'WHICH',
      description: 'Events to enclose: none, records (hashes only) or disclosed (with their content)',
    },
  },
  examples: [
    'gov proofs get prf_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov proofs get prf_01jq3v5k8hf7wb3c9x2m4n6p8r --bundle --out run.govproof.json',
  ],
});

export const proofsVerify = command({
  name: 'proofs verify',
  summary: 'Verify a proof by its id, or a bundle or export without the service',
  details: [
    'A file, or - for standard input, is verified on this machine alone: no network, no store. Whose signature counts is said by --key, --trust, or the trust file of the chosen context; never by the bundle.',
    'The JSON artifact of an export that was made with --proof is verified the same way, whatever its size: each row against its leaf in the log, and all of them against a signed checkpoint.',
    'Each layer says whether it was recomputed from the enclosed events or attested, which is the log’s word for it.',
  ],
  args: [{ name: 'proof', description: 'Proof id, file of a bundle or an export, or - for standard input' }],
  flags: {
    offline: { type: 'boolean', description: 'Refuse to ask the service' },
    key: {
      type: 'strings',
      value: 'VKEY',
      description: 'Trust this verifier key (C2SP signed-note); repeatable',
    },
    trust: { type: 'string', value: 'FILE', description: 'Trust the keys of this file (C2SP tlog-policy)' },
    explain: {
      type: 'boolean',
      description:
        'Show every hashed text and how to repeat its hash by hand; of an export, what each check is',
    },
  },
  examples: [
    'gov proofs verify prf_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov proofs verify run.govproof.json',
    'gov proofs verify run.govproof.json --key gov.local/prj_x/audit+2f1c8a90+AUj…',
    'gov proofs verify - --trust auditor.trust -o json < run.govproof.json',
  ],
  exitCodes: {
    0: 'verified',
    2: 'no trusted key was given, or the bundle or export could not be read',
    3: 'not verified',
    5: 'the service does not know the id',
  },
});
