/**
 * Logs with signed approvals, honest ones and those that lie about who signed what. Each leaf is in its tree, and each
 * checkpoint is signed by the key of the log. Tests run the same table through each verifier.
 */
import { createHash } from 'node:crypto';
import { statementHash, statementText, type Statement } from '../../../src/core/approvals/statement.ts';
import { shownHash } from '../../../src/core/decided/view-hash.ts';
import {
  draftApproval,
  type ApprovalRecord,
  type SignatureRecord,
} from '../../../src/core/decided/approval.ts';
import { draftApprover, type EnrolledKey } from '../../../src/core/decided/approver.ts';
import { argumentsHash, draftEvaluation, type OpenedApproval } from '../../../src/core/decided/evaluation.ts';
import { disclosureText, type Disclosure } from '../../../src/core/events/disclosure.ts';
import { draftLeaf, type OtherDraft } from '../../../src/core/events/record.ts';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import { type Bundle, pathText } from '../../../src/core/proofs/bundle.ts';
import { verdictOf } from '../../../src/core/proofs/statement.ts';
import { SshSigner, VirtualPasskey } from '../../support/signers.ts';
import { origin, ProofLog } from './log.ts';

const runId = 'run-1';
const at = '2026-01-01T12:00:00.000Z';
const opened: OpenedApproval = {
  id: 'apr_1',
  requestedBy: 'key_agent',
  expiresAt: '2026-01-02T00:00:00.000Z',
  signatureRequired: true,
};
const policySetHash = `sha256:${'a'.repeat(64)}`;
const salt = () => 'AAAAAAAAAAAAAAAAAAAAAA';
const tool = { name: 'pay', server: 'bank' };
const given = { amount: 5 };

const shown = { tool, arguments: given, actor: null, context: {} };
/** The members of a statement about what its approver saw. */
export const secondView = { view: 2, hidden: 0, shownHash: shownHash(shown) } as const;

/** A key that signs, and how. */
export interface Signer {
  readonly key: EnrolledKey;
  readonly sign: (statement: string) => Omit<SignatureRecord, 'statement'>;
}

export const byPasskey = (algorithm: 'ES256' | 'EdDSA' | 'RS256'): Signer => {
  const passkey = new VirtualPasskey('https://gov.example', { algorithm });
  const credentialId = passkey.id.toString('base64url');
  const place = { credentialId, rpId: 'gov.example', origin: 'https://gov.example' };
  const publicKey = passkey.publicKey.toString('base64');
  return {
    key: { kind: 'passkey', principal: 'key_ada', publicKey, passkey: place },
    sign: (text) => ({ passkey: passkey.get(createHash('sha256').update(text).digest('base64url')) }),
  };
};

export const bySsh = (ssh: SshSigner, hash: 'sha256' | 'sha512' = 'sha512'): Signer => ({
  key: {
    kind: 'ssh',
    principal: 'key_ada',
    publicKey: ssh.publicKey.split(' ', 2).join(' '),
    passkey: null,
  },
  sign: (text) => ({ ssh: ssh.sign(text, { hash }) }),
});

interface Told {
  readonly leaves: readonly OtherDraft[];
  /** The order in which the bundle has the leaves; they are leaves 1, 2, … of the log. */
  readonly order?: readonly number[];
  /** What the layer lists. */
  readonly listed?: JsonObject;
  /** Committed members that the bundle withholds. */
  readonly withheld?: readonly string[];
}

/** The bundle of a proof that encloses these leaves. */
export function signedBundle({ leaves, order, listed, withheld = [] }: Told): Bundle {
  const log = new ProofLog();
  for (const leaf of leaves) log.append(leaf);
  log.record({ runId });
  const checks = [{ id: 'escalations_signed', pass: true }];
  const item = { id: 'apr_1', approved: 3, signed: 'apv_1', ...listed };
  const claims = { approvals: { n: 1, listed: [item] } };
  const bundle = log.prove(runId, {
    layers: ['event_integrity', 'policy_compliance'],
    compliance: { layer: 'policy_compliance', claims, checks, verdict: verdictOf(checks) },
  });
  const size = Number(bundle.checkpoint.split('\n')[1]);
  const approvals = (order ?? leaves.map((_, each) => each + 1)).map((index) => {
    const { record, disclosures } = log.leaves[index]!;
    const all = (JSON.parse(disclosures ?? '[]') as Disclosure[]).filter(
      ([, pointer]) => !withheld.some((each) => pointer === each || pointer.startsWith(`${each}/`)),
    );
    const inclusion = pathText(log.path(index, size));
    return {
      index,
      record,
      inclusion,
      ...(all.length === 0 ? {} : { disclosures: all.map(disclosureText) }),
    };
  });
  return { ...bundle, approvals };
}

/** The leaves of one signed approval by this key, and the ways to forge them. */
export function leavesOf({ key, sign }: Signer) {
  const enrolled = (changes: Partial<EnrolledKey> = {}, approverId = 'apv_1') =>
    draftApprover(
      { approverId, event: 'enrolled', at, key: { ...key, ...changes }, name: 'Ada', actor: 'key_ada' },
      salt,
    );
  const statement = (changes: Partial<Statement> = {}): string =>
    statementText({
      origin,
      approvalId: 'apr_1',
      evaluationId: 'pev_1',
      runId,
      outcome: 'approved',
      approverId: 'apv_1',
      principal: 'key_agent',
      tool,
      argumentsHash: argumentsHash(given).hash,
      shownHash: policySetHash,
      policies: [],
      policySetHash,
      expiresAt: opened.expiresAt,
      comment: null,
      nonce: 'AAAAAAAAAAAAAAAAAAAAAA',
      ...changes,
    });
  const signed = (changes: Partial<ApprovalRecord> = {}, text = statement()): OtherDraft => {
    const record = { id: 'apr_1', runId, evaluationId: 'pev_1', outcome: 'approved' as const, at };
    const said = { approverId: 'apv_1', statementHash: statementHash(text) };
    const leaf = { ...record, approver: 'key_ada', signed: said, ...changes };
    return draftApproval({ ...leaf, reason: null, signature: { statement: text, ...sign(text) } }, salt);
  };
  return { enrolled, statement, signed };
}

const revoked = () =>
  draftApprover({ approverId: 'apv_1', event: 'revoked', at, key: null, name: null, actor: 'key_ada' }, salt);

interface Asking {
  readonly id?: string;
  readonly approval?: Partial<OpenedApproval>;
  readonly context?: JsonObject;
}

/** The evaluation that asked. */
export const asked = ({ id = 'pev_1', approval, context = { tool, arguments: given } }: Asking = {}) =>
  draftEvaluation(
    {
      id,
      runId,
      policySource: 'tool',
      policyCount: 1,
      policyIds: null,
      policySetHash,
      policyIndex: 0,
      combined: 'escalate',
      approval: { ...opened, ...approval },
      evaluatedAt: at,
      decisions: [],
      shadow: [],
      checkpoint: { context },
      readSet: null,
    },
    salt,
  );

/** An evaluation whose leaf says another call than its policy input. */
const askedTwice = (): OtherDraft =>
  withCall({ tool, argumentsHash: argumentsHash({ amount: 500 }).hash, shownHash: secondView.shownHash });

/** An evaluation as older services wrote it: without the hash of what an approver sees. */
export const askedBefore = (): OtherDraft => withCall({ tool, argumentsHash: argumentsHash(given).hash });

/** The evaluation that asked, with this call beside its policy input. */
function withCall(call: Json): OtherDraft {
  const honest = asked();
  const {
    _sd: _digests,
    _sd_alg: _algorithm,
    type: _type,
    ...clear
  } = JSON.parse(honest.record) as JsonObject;
  const all = JSON.parse(honest.disclosures ?? '[]') as Disclosure[];
  const others = all.filter(([, pointer]) => !pointer.startsWith('/call'));
  return forged('gov.evaluation/1', clear, [
    ...others.map(([, at, value]) => [at, value] as const),
    ['/call', call],
  ]);
}

/** A leaf of a log that writes what it likes. */
const forged = (
  type: 'gov.approver/1' | 'gov.approval/1' | 'gov.evaluation/1',
  members: JsonObject,
  committed: readonly (readonly [pointer: string, value: Json])[] = [],
) => draftLeaf(type, members, { committed, salt });

export interface SignedCase {
  readonly name: string;
  readonly bundle: Bundle;
  /** Part of why it is refused; null where the approval holds. */
  readonly refused: string | null;
}

/** Bundles of logs that lie, with the reason that the verifier gives. */
export const lies = (signer: Signer): SignedCase[] => [
  ...liesAboutTheDecision(signer),
  ...liesAboutTheCall(signer),
  ...liesInOtherForms(signer),
];

const lie = (
  name: string,
  refused: string,
  leaves: readonly OtherDraft[],
  told: Partial<Told> = {},
): SignedCase => ({ name, bundle: signedBundle({ leaves, ...told }), refused });

function liesAboutTheDecision(signer: Signer): SignedCase[] {
  const { enrolled, statement, signed } = leavesOf(signer);
  const sound = [enrolled(), asked(), signed()];
  const denied = signed({ outcome: 'denied' }, statement({ outcome: 'denied' }));
  const revokedFirst = [enrolled(), asked(), revoked(), signed()];
  const at4 = { listed: { approved: 4 } };
  const captured = signed({}, statement({ runId: 'run-of-yesterday' }));
  return [
    lie('a signed denial as the approval that the layer lists', 'apr_1', [enrolled(), asked(), denied]),
    lie('a signature that was captured in another run', 'another runId', [enrolled(), asked(), captured]),
    lie(
      'an approval that another evaluation opened again under the same id',
      'leaf 4',
      [enrolled(), asked(), asked({ id: 'pev_2' }), signed()],
      at4,
    ),
    lie('a revocation before the decision', 'revoked by leaf 3', revokedFirst, at4),
    lie('a revocation that the bundle has after the decision', 'order of the log', revokedFirst, {
      ...at4,
      order: [1, 2, 4, 3],
    }),
    lie('an enrolment after the request', 'enrolled before leaf 1', [asked(), enrolled(), signed()]),
    lie('a decision before its request', 'order of the log', [enrolled(), signed(), asked()], {
      order: [1, 3, 2],
    }),
    lie('a layer that lists another approver', 'apv_2', sound, { listed: { signed: 'apv_2' } }),
    lie('a layer that lists another leaf', 'leaf 7', sound, { listed: { approved: 7 } }),
  ];
}

function liesAboutTheCall(signer: Signer): SignedCase[] {
  const { enrolled, statement, signed } = leavesOf(signer);
  const more = { tool, arguments: { amount: 500 } };
  const other = (what: string, changes: Partial<Statement>) =>
    lie(`a statement about ${what}`, `another ${Object.keys(changes).join()}`, [
      enrolled(),
      asked(),
      signed({}, statement(changes)),
    ]);
  const asksMore = [enrolled(), asked({ context: more }), signed()];
  return [
    other('other arguments', { argumentsHash: argumentsHash(more.arguments).hash }),
    other('no arguments', { argumentsHash: null }),
    other('another tool', { tool: { name: 'mail', server: 'bank' } }),
    other('the tool of another server', { tool: { name: 'pay', server: 'mallory' } }),
    other('no tool', { tool: null }),
    other('another expiry', { expiresAt: '2027-01-01T00:00:00.000Z' }),
    other('another requester', { principal: 'key_mallory' }),
    lie('an evaluation of other arguments than the signed ones', 'another argumentsHash', asksMore),
    lie('an evaluation whose policy input has other arguments', 'another argumentsHash', asksMore, {
      withheld: ['/call'],
    }),
    ...[{ withheld: ['/checkpoint'] }, { withheld: ['/call'] }, {}].map((told) =>
      lie(
        `a view of another call, with ${JSON.stringify(told)}`,
        'another shownHash',
        [
          enrolled(),
          asked(),
          signed({}, statement({ ...secondView, shownHash: shownHash({ ...shown, arguments: {} }) })),
        ],
        told,
      ),
    ),
    lie('a masked value that the call does not have', 'another masked', [
      enrolled(),
      asked(),
      signed({}, statement({ ...secondView, masked: { '/arguments/none': 'hmac-sha256:0' } })),
    ]),
    lie('a third view', 'another view', [
      enrolled(),
      asked(),
      signed({}, statement({ ...secondView, view: 3 as never })),
    ]),
    lie('an evaluation that commits to two calls', 'the call of its policy input', [
      enrolled(),
      askedTwice(),
      signed(),
    ]),
  ];
}

function liesInOtherForms(signer: Signer): SignedCase[] {
  const { enrolled, statement, signed } = leavesOf(signer);
  const text = statement();
  const key = (what: string, form: Json) =>
    lie(what, 'expected', [
      forged('gov.approver/1', { approverId: 'apv_1', event: 'enrolled', at, key: form }),
      asked(),
      signed(),
    ]);
  const decided = (what: string, members: JsonObject, signature?: Json) =>
    lie(what, 'expected', [
      enrolled(),
      asked(),
      forged('gov.approval/1', members, signature === undefined ? [] : [['/signature', signature]]),
    ]);
  const record = { id: 'apr_1', runId, evaluationId: 'pev_1', outcome: 'approved', approver: 'key_ada', at };
  const said = { ...record, signed: { approverId: 'apv_1', statementHash: statementHash(text) } };
  const forms = [
    null,
    1,
    'text',
    {},
    { statement: 1 },
    { statement: text, ssh: 1 },
    { statement: text, passkey: {} },
  ];
  return [
    key('a key without a public key', { kind: 'ssh' }),
    key('a key that is a text', 'ssh'),
    key('a passkey without its origin', { kind: 'passkey', publicKey: 'AA==', passkey: {} }),
    decided('an approver id that is an object', { id: 'apr_1', signed: { approverId: { a: 1 } } }),
    ...forms.map((form) => decided(`the signature ${JSON.stringify(form).slice(0, 40)}`, said, form)),
  ];
}

/** The signature with one byte changed, in its last third: behind the key, the namespace and the hash. */
const spoiled = ({ key, sign }: Signer): Signer => ({
  key,
  sign(text) {
    const { ssh, passkey } = sign(text);
    if (passkey !== undefined) return { passkey: { ...passkey, signature: flipped(passkey.signature) } };
    const [head = '', ...lines] = (ssh ?? '').trim().split('\n');
    const foot = lines.pop() ?? '';
    return { ssh: `${head}\n${flipped(lines.join(''))}\n${foot}\n` };
  },
});

function flipped(base64: string): string {
  const isUrl = !base64.includes('=') && !/[+/]/.test(base64);
  const bytes = Buffer.from(base64, 'base64');
  bytes[Math.floor(bytes.length * 0.9)]! ^= 1;
  return bytes.toString(isUrl ? 'base64url' : 'base64');
}

/** One approval by each kind of key, in each hash: signed, and with a byte of the signature changed. End the keys. */
export function signedByEach(): { readonly cases: readonly SignedCase[]; readonly end: () => void } {
  const kinds = [
    ['ed25519'],
    ['ecdsa', '-b', '256'],
    ['ecdsa', '-b', '384'],
    ['ecdsa', '-b', '521'],
    ['rsa', '-b', '2048'],
  ].map((kind) => ({ name: `ssh ${kind.join(' ')}`, ssh: new SshSigner(['-t', ...kind]) }));
  const signers = [
    ...kinds.flatMap(({ name, ssh }) =>
      (['sha256', 'sha512'] as const).map((hash) => [`${name} ${hash}`, bySsh(ssh, hash)] as const),
    ),
    ...(['ES256', 'EdDSA', 'RS256'] as const).map((name) => [`passkey ${name}`, byPasskey(name)] as const),
  ];
  const made = ([name, signer]: readonly [string, Signer], refused: string | null): SignedCase => {
    const { enrolled, signed } = leavesOf(signer);
    return { name, bundle: signedBundle({ leaves: [enrolled(), asked(), signed()] }), refused };
  };
  const cases = signers.flatMap(([name, signer]) => [
    made([name, signer], null),
    made([`${name} with one byte changed`, spoiled(signer)], 'an invalid one'),
  ]);
  return { cases, end: () => kinds.forEach(({ ssh }) => ssh.end()) };
}
