/** Commands of the noun proofs, as data. Tested by `test/cli/commands/proofs/verify.test.ts`. */
import { reportFlags, reportFormats } from '../../ci/flags.ts';
import { command, flag } from '../../program/spec.ts';
import { demanded, memory, trusted } from '../../program/trusted.ts';

const proofId = { name: 'proofId', description: 'Proof, such as prf_…' } as const;

export const proofsCreate = command({
  name: 'proofs create',
  prints: '=createProof',
  summary: 'Create a proof of a run',
  changes: true,
  details: [
    'Without --async or --wait the service creates the proof at once, for up to 10,000 events. --wait creates it in a job and waits; --async returns the job at once.',
  ],
  flags: {
    run: flag.text('RUN', 'The run to prove', { required: true }),
    layers: flag.list('A,B', 'Layers to prove, separated by commas', { separator: ',' }),
    schemaVersion: flag.text('V', '1.0, or its alias v1'),
    async: flag.on('Return the job at once'),
    wait: flag.on('Create the proof in a job and wait, at most --timeout'),
    out: flag.text('FILE', 'Also write the bundle for offline verification'),
    force: flag.on('Replace the file of --out'),
    failOn: flag.text(
      'WHAT',
      'Fail where the run broke a policy (policy), or where any layer does not hold (any)',
      { choices: ['policy', 'any'] },
    ),
  },
  examples: [
    'gov proofs create --run checkout-42',
    'gov proofs create --run checkout-42 --out checkout-42.govproof.json',
    'gov proofs create --run checkout-42 --fail-on policy    # in CI: exit 11 where a policy was broken',
    'gov proofs create --run checkout-42 --layers event_integrity,log_inclusion --wait --timeout 10m',
  ],
  exitCodes: {
    1: 'the job failed',
    3: '--fail-on any: a layer does not hold',
    11: '--fail-on: the run broke a policy',
    8: 'the job did not end within --timeout; it continues',
  },
});

export const proofsGet = command({
  name: 'proofs get',
  prints: '=getProof',
  summary: 'Get a proof, or everything needed to verify it without the service',
  args: [proofId],
  flags: {
    bundle: flag.on('The whole bundle (*.govproof.json), for offline verification'),
    out: flag.text('FILE', 'Write the bundle to this file'),
    force: flag.on('Replace the file of --out'),
    format: flag.text('KIND', 'Form of the bundle: govproof, or the C2SP tlog-proof or DSSE envelope in it', {
      choices: ['govproof', 'tlog-proof', 'dsse'],
    }),
    events: flag.text(
      'WHICH',
      'Events to enclose: none, records (hashes only) or disclosed (with their content)',
      { choices: ['none', 'records', 'disclosed'] },
    ),
    wait: flag.on('Wait until as many witnesses have cosigned as --trust requires, at most --timeout'),
    key: trusted.key,
    trust: trusted.trust,
    v1: flag.on('A bundle of version 1, which does not show that nothing is missing'),
  },
  details: [
    'A bundle shows that no event of the run is missing, for which the log may get an index leaf. Programs from before read only bundles of version 1, without it: use --v1.',
    'A plane sends each checkpoint to its witnesses after it signed it, so a new proof has no cosignature for some seconds. With --wait the bundle has those that --trust or the trust file of the context requires. Default of --timeout: 60 s.',
  ],
  examples: [
    'gov proofs get prf_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov proofs get prf_01jq3v5k8hf7wb3c9x2m4n6p8r --bundle --out run.govproof.json',
    'gov proofs get prf_01jq3v5k8hf7wb3c9x2m4n6p8r --events disclosed --out run.govproof.json',
    'gov proofs get prf_01jq3v5k8hf7wb3c9x2m4n6p8r --out run.govproof.json --wait --trust trusted',
  ],
  exitCodes: { 8: 'the witnesses have not cosigned within --timeout; nothing was written' },
});

export const proofsAsk = command({
  name: 'proofs ask',
  prints:
    'verified:boolean code:string|null detail:string|null question:object|null count:integer|null below:integer|null witnesses:integer signatures:array missingAlgorithms:array completeness:object notes:array',
  summary: 'Ask how many events of a run or type the log has, or that it has none, with proof',
  details: [
    'Times are server times: when the log recorded an event. The answer is about all leaves below one leaf of the log, which it names. Give it to others with --out: they verify it with gov proofs verify, without the service.',
    'Without --until the answer is about the log as it is now, for which the log gets an index leaf.',
  ],
  flags: {
    run: flag.text('RUN', 'Events of this run'),
    type: flag.text('TYPE', 'Events of this type, or other records, such as gov.policy/1'),
    since: flag.time('TIME', 'Recorded at this time or later'),
    until: flag.time('TIME', 'Recorded before this time, which must have passed'),
    out: flag.text('FILE', 'Write the answer to this file', { short: 'O' }),
    key: trusted.key,
    trust: trusted.trust,
    ...demanded,
  },
  examples: [
    'gov proofs ask --run checkout-42 --out run.govanswer.json',
    'gov proofs ask --type tool.denied --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z',
  ],
  exitCodes: {
    2: 'no key is trusted, and there is no --out',
    3: 'the answer does not verify, or shows less than --require-completeness',
  },
});

export const proofsVerify = command({
  name: 'proofs verify',
  prints:
    'source verified:boolean code?:string|null authentic?:boolean compliant? violation?:object|null approvals?:object proofId:string|null runId?:string|null layers:array signatures?:array missingAlgorithms?:array completeness?:object checks:array digests?:object|null notes:array trustedOrigin?:string|null trustFrom?:string|null explanations?:array brokenBy?:object|null history?:object | verified:boolean code:string|null resource:string|null exportId:string|null requestedBy:string|null generatedAt:string|null manifest:object|null signatures:array missingAlgorithms:array completeness:object checks:array digests:object|null notes:array source trustedOrigin:string|null trustFrom:string|null explanations?:any history?:object | verified:boolean code:string|null detail:string|null question:object|null count:integer|null below:integer|null witnesses:integer signatures:array missingAlgorithms:array completeness:object notes:array history?:object',
  summary: 'Verify a proof by its id, or a bundle, answer or export without the service',
  details: [
    'gov verifies a file, or standard input with -, on this machine alone: without network or store. Trusted keys come from --key, --trust or the trust file of the chosen context; never from the bundle.',
    'The JSON artifact of an export with --proof verifies the same way, at any size: each row against its leaf in the log, and all rows against a signed checkpoint.',
    '"none missing" means: the log has no event of the run before the proof that the proof lacks, and no evaluation or risk decision that its layers lack. The line says whose word it is. "proven to 2 of 2 index witnesses (W1, W2)": they derived the index of the log themselves. "by the operator’s own index": nobody else checked that index. A bundle of version 1 does not show it: "not checked". --require-completeness witnessed refuses less.',
    '"signed by" names the algorithms of the trusted keys that signed. A line require each-algorithm in the trust file refuses a file that lacks one (SIGNATURE_MISSING).',
    'gov compares the signed heads of the files with each other, with those that it kept on this machine, and with --kept. A log that signed two histories gets SPLIT VIEW, exit 3, and an evidence file of both signatures, which gov evidence verify checks.',
    '--recording takes a raw file that was recorded in the run, and repeats its balance: it is the file of the balance, by its SHA-256; the scanner counts the same again; and each event that the file gives is in the proof with the same arguments and content. It needs a bundle with --events disclosed.',
    'Each layer says whether gov recomputed it from the enclosed events, or whether it is attested, which is the log’s word.',
  ],
  args: [
    {
      name: 'proof',
      variadic: true,
      description: 'Proof id, file of a bundle, an answer or an export, or - for standard input',
    },
  ],
  flags: {
    offline: flag.on('Refuse to ask the service'),
    key: trusted.key,
    trust: trusted.trust,
    ...demanded,
    ...memory,
    recording: flag.list('FILE', 'Count this raw recording of the run again; repeatable'),
    explain: flag.on(
      'Show every hashed text and how to repeat its hash by hand; for an export, the meaning of each check',
    ),
    ...reportFlags,
  },
  formats: reportFormats,
  examples: [
    'gov proofs verify prf_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov proofs verify run.govproof.json',
    'gov proofs verify run.govproof.json --key gov.local/prj_x/audit+2f1c8a90+AUj…',
    'gov proofs verify - --trust auditor.trust -o json < run.govproof.json',
    'gov proofs verify run.govproof.json --report proof.xml --annotate',
    'gov proofs verify run.govproof.json --recording s.jsonl --trust auditor.trust',
    'gov proofs verify mine.json yours.json --trust auditor.trust    # do both show one history?',
  ],
  exitCodes: {
    0: 'verified',
    2: 'no key is trusted, or the bundle or export could not be read',
    3: 'not authentic, a required layer does not hold, the log signed two histories, less than --require-completeness shows that nothing is missing, or a --recording differs',
    5: 'the service does not know the id',
    11: 'authentic, but the run broke a policy',
  },
});
