/**
 * `gov approvers recover`: enrols an approver at the files of a stopped plane, where no approver can sign its enrolment. The
 * log says so (`approver.recovered`), and health for `limits.approverRecoveredDays`. Any program that may write the
 * files of a plane can do this: the event is the evidence. One append; a crash before it leaves an unused API key.
 * Proven by `test/plane/data/recover-approver.test.ts`.
 */
import { join, resolve } from 'node:path';
import type { Scope } from '../../src/contract/operation.ts';
import { GovError } from '../../src/contract/problems.ts';
import { limits } from '../../src/contract/limits.ts';
import { fingerprintOf } from '../../src/core/approvals/ssh.ts';
import { draftApprover } from '../../src/core/decided/approver.ts';
import { openEvent, systemRun } from '../../src/core/events/record.ts';
import { saltPool } from '../../src/core/events/disclosure.ts';
import { typeId } from '../../src/core/id.ts';
import { formatTimestamp, parseTimestamp } from '../../src/core/time.ts';
import { projectOf, readPlaneFile } from '../../src/host/data/config.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { createKey } from '../../src/service/credentials/token-format.ts';
import { keyDocument } from '../../src/service/approvers/document.ts';
import { approverRecovered, keyCreated } from '../../src/service/writes/system.ts';
import type { StoreReader } from '../../src/store/port/store.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { servingProcess } from '../keys/rotate-serving.ts';

export interface RecoveredApprover {
  readonly approverId: string;
  /** The API key that sends the decisions. */
  readonly keyId: string;
  readonly fingerprint: string;
}

/**
 * `seal` keeps the API key, and returns the line of the public key (`ssh-ed25519 AAAA…`). CONFLICT while the plane serves.
 */
export async function recoverApprover(
  place: string,
  { scopes, seal }: { readonly scopes: readonly Scope[]; readonly seal: (token: string) => Promise<string> },
): Promise<RecoveredApprover> {
  const dataDir = resolve(place);
  const project = projectOf(readPlaneFile(join(dataDir, 'plane.json')));
  if (servingProcess(dataDir) !== null)
    throw new GovError(
      'CONFLICT',
      `expected a stopped plane, and ${dataDir} is served; stop it: gov plane stop`,
    );
  const store = openStore({ dataDir, clock: { now }, randomBytes });
  try {
    const nowMs = now();
    const { projectId } = project;
    const { token, row } = createKey(project, { name: 'local approver', scopes, nowMs, randomBytes });
    const publicKey = await seal(token);
    await store.saveApiKey(row);
    const approverId = typeId('apv', nowMs, randomBytes(10));
    const key = { kind: 'ssh', principal: row.keyId, publicKey, passkey: null } as const;
    const salt = saltPool(randomBytes);
    const change = {
      approverId,
      event: 'enrolled',
      at: formatTimestamp(nowMs),
      key,
      name: 'recovered key',
      actor: 'operator',
    } as const;
    const document = keyDocument(approverId, { projectId, key, counter: 0, createdMs: nowMs });
    await store.append({
      projectId,
      leaves: [
        keyCreated(row, { nowMs, randomBytes }),
        draftApprover(change, salt),
        approverRecovered(change, { nowMs, salt }),
      ],
      effects: [{ kind: 'saveDocuments', changes: [document] }],
    });
    const blob = Buffer.from(publicKey.split(' ')[1] ?? '', 'base64');
    return { approverId, keyId: row.keyId, fingerprint: fingerprintOf(blob) };
  } finally {
    await store.close();
  }
}

/** When an approver was last recovered, in Unix milliseconds; null for never. */
export async function recoveredMs(
  reader: Pick<StoreReader, 'events'>,
  projectId: string,
): Promise<number | null> {
  const filter = { runId: systemRun, eventType: 'approver.recovered' };
  const [leaf] = await reader.events(projectId, filter, { limit: 1, order: 'desc', fromIndex: 0 });
  if (leaf === undefined) return null;
  return parseTimestamp(openEvent(leaf.index, leaf.record, leaf.disclosures ?? '', null).timestamp);
}

/** The reason in health while the recovery is recent. */
export const recoveryReason = (recovered: number | null, nowMs: number): readonly string[] =>
  recovered === null || nowMs - recovered > limits.approverRecoveredDays * 86_400_000
    ? []
    : [`approver: recovered at the files of the plane at ${formatTimestamp(recovered)}; gov approvers list`];
