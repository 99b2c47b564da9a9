/**
 * Signs the decision on an approval with an SSH key: gov shows what the statement says, checks that it is about the approval
 * that the service shows, and lets ssh-keygen sign it, which uses ssh-agent where the agent holds the key.
 * Tested by `test/cli/commands/approvals/sign.test.ts`.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../../client/create.ts';
import type { ApprovalOutcome, ApprovalSignature, ShownApproval } from '../../contract/approvals.ts';
import type { Approver } from '../../contract/approvers.ts';
import { sshSignatureFault, readPublicKey } from '../../core/approvals/ssh.ts';
import { readStatement, sshNamespace } from '../../core/approvals/statement.ts';
import { firstShownHash, shownHash } from '../../core/decided/view-hash.ts';
import { argumentsHash } from '../../core/decided/evaluation.ts';
import { isCount } from '../../core/count.ts';
import { hiddenCount, hiddenNotices } from '../../core/hidden-text.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import { shellWord } from '../../core/shell-word.ts';
import { homeOf, type Variables } from '../context/config.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { clipped } from '../terminal/clipped.ts';
import { safe } from '../terminal/safe.ts';
import type { approvalsApprove } from '../specs/decide/approvals.ts';

export interface SignCall extends Pick<Invocation<typeof approvalsApprove>, 'args' | 'out'> {
  readonly flags: { readonly comment?: string | undefined };
}

/** A key that signs a text: with ssh-keygen, or opened by a phrase. */
export interface Signer {
  /** `type base64`. */
  readonly publicKey: string;
  /** Returns an armored SSH signature; `namespace`: of approvals by default. */
  sign(statement: string, namespace?: string): Promise<string>;
}

/** The key of ssh that signs, of the flag --ssh-key or the first one of the user. */
export function sshSigner(given: string | undefined, env: Variables): Signer {
  const file = given ?? requireOwnKey(env);
  return { publicKey: publicKeyOf(file), sign: (...of) => signature(file, ...of) };
}

/** Errors: exit 2 without a usable key, 3 where the statement is about something else than the service shows. */
export async function signedBy(
  call: SignCall,
  outcome: ApprovalOutcome,
  { client, signer }: { readonly client: Client; readonly signer: Signer },
): Promise<ApprovalSignature> {
  const { args, flags, out } = call;
  const { publicKey } = signer;
  const { approvalId } = args;
  const approver = await approverWith(client, publicKey);
  const { approverId } = approver;
  const { body: shown } = await client.getApproval({ params: { approvalId } });
  const comment = flags.comment === undefined ? {} : { comment: flags.comment };
  const { body } = await client.stateApproval({
    params: { approvalId },
    body: { outcome, approverId, ...comment },
  });
  const statement = readStatement(body.statement);
  const asked = { outcome, approverId, comment: flags.comment ?? null };
  if (statement !== null) refuseNewerView(statement);
  const isShown = statement !== null && isAbout(statement, shown, asked);
  if (!isShown) {
    const detail = `expected a statement about ${approvalId} as the service shows it, got another one; nothing was signed`;
    throw new CliError(exit.checkFailed, detail, { code: 'STATEMENT_DIFFERS' });
  }
  const lines = Object.entries(statement).map(([name, value]) => safe`  ${name}: ${clipped(value)}`);
  await out.note(safe`${approver.name} signs with ${approver.fingerprint}:`);
  for (const line of lines) await out.note(line);
  for (const notice of hiddenNotices(shown)) await out.warn(safe`${notice}`);
  const otherCount = otherCountNotice(statement, shown);
  if (otherCount !== null) await out.warn(safe`${otherCount}`);
  const ssh = await signer.sign(body.statement);
  const fault = sshSignatureFault(ssh, { publicKey, namespace: sshNamespace, message: body.statement });
  if (fault !== null) throw usage(`the key signed something else: ${fault}`);
  return { approverId, ssh };
}

/** Whether a statement is about the approval that the service shows. A hash of redacted values cannot be compared. */
export function isAbout(
  statement: JsonObject,
  shown: ShownApproval,
  asked: { readonly outcome: ApprovalOutcome; readonly approverId: string; readonly comment: string | null },
): boolean {
  const { approvalId, evaluationId, runId, expiresAt, requestedBy: principal } = shown;
  const { arguments: given, tool } = shown;
  const expected: Record<string, unknown> = {
    approvalId,
    evaluationId,
    runId,
    expiresAt,
    principal,
    ...asked,
    ...viewOf(statement, shown),
    ...(given === null || isRedacted(given)
      ? {}
      : { argumentsHash: argumentsHash(given as JsonObject).hash }),
  };
  const isSameTool =
    tool === null ||
    isRedacted(tool) ||
    canonicalize(statement['tool'] ?? null) === canonicalize(tool as Json);
  const isCounted = statement['view'] === undefined || isCount(statement['hidden']);
  return (
    isCounted && isSameTool && Object.entries(expected).every(([name, value]) => statement[name] === value)
  );
}

/** STATEMENT_DIFFERS where a newer service states a view that this gov cannot compute. */
function refuseNewerView({ view }: JsonObject): void {
  if (view === undefined || view === 2) return;
  const detail = `expected a statement with view 2, got ${clipped(view)}, of a newer service; nothing was signed: sign with the gov of its release`;
  throw new CliError(exit.checkFailed, detail, { code: 'STATEMENT_DIFFERS' });
}

/**
 * What a statement has to say of the view. Statements without `view` are of older services. The hash is of ASCII, so it
 * binds each hidden character, also one that the tables of this program or of the service do not know.
 */
const viewOf = ({ view }: JsonObject, shown: ShownApproval): Record<string, unknown> =>
  view === undefined ? { shownHash: firstShownHash(shown) } : { shownHash: shownHash(shown), view: 2 };

/** A sentence where the service counts other hidden characters: its Unicode is of another version, or it lies. */
export function otherCountNotice({ view, hidden }: JsonObject, shown: ShownApproval): string | null {
  const own = hiddenCount(shown);
  if (view === undefined || hidden === own) return null;
  return `the service states ${clipped(hidden)} hidden characters, this gov counts ${own}: their versions of Unicode differ, or the service is wrong; gov approvals show ${shellWord(shown.approvalId)} --signed shows every character`;
}

/** Whether a value in it is replaced: `{"redacted":true,…}`. The person sees the replacement. */
const isRedacted = (value: object): boolean => JSON.stringify(value).includes('"redacted":true');

/** The first key that ssh looks for, too. */
export function ownSshKey(env: Variables): string | undefined {
  const names = ['id_ed25519', 'id_ed25519_sk', 'id_ecdsa', 'id_ecdsa_sk', 'id_rsa'];
  const files = names.map((name) => join(homeOf(env), '.ssh', name));
  return files.find((file) => existsSync(`${file}.pub`));
}

function requireOwnKey(env: Variables): string {
  const found = ownSshKey(env);
  if (found !== undefined) return found;
  throw usage(`--ssh-key: expected a key, got none in ${join(homeOf(env), '.ssh')}`, 'ssh-keygen -t ed25519');
}

/** The public half of a key, `type base64`. `file`: the private key, or the .pub file of one that ssh-agent holds. */
export function publicKeyOf(file: string): string {
  const path = file.endsWith('.pub') ? file : `${file}.pub`;
  let line: string;
  try {
    line = readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const read = readPublicKey(line);
  if ('fault' in read) throw usage(`${path}: ${read.fault}`);
  return read.publicKey;
}

/** The active approver with a public key; undefined for none. */
export async function activeApprover(client: Client, publicKey: string): Promise<Approver | undefined> {
  for (let cursor: string | undefined; ;) {
    const query = { status: 'active', ...(cursor === undefined ? {} : { cursor }) } as const;
    const { body } = await client.listApprovers({ query });
    const found = body.data.find((each) => each.publicKey === publicKey);
    if (found !== undefined || body.nextCursor === null) return found;
    cursor = body.nextCursor;
  }
}

/** The active approver with a public key. Errors: exit 5. */
export async function approverWith(client: Client, publicKey: string): Promise<Approver> {
  const found = await activeApprover(client, publicKey);
  if (found !== undefined) return found;
  throw new CliError(
    exit.notFound,
    `expected an active approver with the key ${clipped(publicKey)}, got none`,
    {
      code: 'NO_APPROVER',
      next: ['gov approvers add NAME --ssh-key FILE'],
    },
  );
}

/** What `ssh-keygen -Y sign` writes for these bytes. It asks for a passphrase or a touch on the terminal. */
function signature(keyFile: string, statement: string, namespace = sshNamespace): Promise<string> {
  const args = ['-Y', 'sign', '-q', '-n', namespace, '-f', keyFile];
  return new Promise((resolve, reject) => {
    const child = spawn('ssh-keygen', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.on('error', (cause) => reject(usage(`expected ssh-keygen on PATH, got ${cause.message}`)));
    child.on('close', (code) => {
      if (code === 0) resolve(text);
      else reject(usage(`ssh-keygen ended with ${code ?? 'a signal'}; nothing was signed`));
    });
    child.stdin.on('error', () => {});
    child.stdin.end(statement);
  });
}
