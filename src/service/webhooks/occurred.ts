/**
 * What happened, from the leaves of the log: each leaf gives none, one or two events (contract N1, N2). Client events
 * give none. A payload has the ids in clear members of the leaf, or in members that the service itself wrote.
 * Proven by `test/service/webhooks/occurred.test.ts`.
 */
import type { WebhookEventKind } from '../../contract/webhook-events.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { systemRun } from '../../core/events/record.ts';
import { typeIdMs } from '../../core/id.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { isObject } from '../../core/json/object.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Leaf } from '../../store/port/store.ts';

export interface WebhookOccurrence {
  readonly type: WebhookEventKind;
  /** Index of its leaf. */
  readonly index: number;
  readonly atMs: number;
  /** Without the members that every payload has. */
  readonly data: Readonly<Record<string, string | number | null>>;
}

/** Whether the leaf may have events. Cheap, for all other leaves: two searches in the record. */
export const mayHave = ({ record }: Pick<Leaf, 'record'>): boolean =>
  systemEvent.test(record) || otherLeaf.test(record);

/** Returns the events of a leaf. The body of a system event is needed, that of other leaves is not. */
export function occurredIn(leaf: Leaf): WebhookOccurrence[] {
  const { clear, committed } = openLeaf(leaf);
  const found = isSystemEvent(clear)
    ? fromSystem(clear, {
        resource: objectOf(committed.get('resource')),
        metadata: objectOf(committed.get('metadata')),
      })
    : (fromLeaf[String(clear['type'])]?.(clear) ?? []);
  return found.map(({ type, at, data }) => ({ type, index: leaf.index, atMs: at, data }));
}

/** Whether the events of a leaf are in its body. */
export const needsBody = ({ record }: Pick<Leaf, 'record'>): boolean => systemEvent.test(record);

/** In the order of members of a record (RFC 8785); quotes inside values are escaped. */
const systemEvent = new RegExp(
  `"eventType":"(?:quota|job|export|report|delivery|api_key|telemetry|attestation|integrity)\\.[a-z_]+","runId":"${systemRun.replace('.', '\\.')}"`,
);
const otherLeaf = /"type":"gov\.(?:proof|replay|decision|policy|evaluation|approval|loss)\/1"/;

interface Occurrence {
  readonly type: WebhookEventKind;
  readonly at: number;
  readonly data: WebhookOccurrence['data'];
}

const isSystemEvent = (clear: JsonObject): boolean =>
  clear['type'] === 'gov.event/1' && clear['runId'] === systemRun;

const objectOf = (value: unknown): JsonObject => (isObject(value) ? (value as JsonObject) : {});
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
const timeOf = (value: unknown): number => parseTimestamp(text(value)) ?? 0;

interface SystemBody {
  readonly resource: JsonObject;
  readonly metadata: JsonObject;
}

const quota = ({ resource, metadata }: SystemBody) => ({
  meter: text(resource['id']),
  month: text(metadata['month']),
  limit: number(metadata['limit']),
  used: number(metadata['used']),
});
const job = ({ resource, metadata }: SystemBody) => ({
  jobId: text(resource['id']),
  jobType: text(metadata['type']),
  runId: text(metadata['runId']),
});
const ofResource =
  (name: string) =>
  ({ resource }: SystemBody) => ({ [name]: text(resource['id']) });
const ofPlane = ({ resource }: SystemBody): Occurrence['data'] =>
  resource['type'] === 'data_plane' ? { dataPlaneId: text(resource['id']) } : {};

/** By event type, which is the kind. */
const systemKinds: Partial<Record<WebhookEventKind, (body: SystemBody) => Occurrence['data']>> = {
  'quota.threshold_reached': (body) => ({ ...quota(body), percent: number(body.metadata['percent']) }),
  'quota.exceeded': quota,
  'job.completed': job,
  'job.failed': job,
  'job.cancelled': job,
  'export.completed': ofResource('exportId'),
  'export.failed': ofResource('exportId'),
  'export.cancelled': ofResource('exportId'),
  'report.completed': ofResource('executionId'),
  'report.failed': ofResource('executionId'),
  'delivery.failed': ofResource('deliveryId'),
  'api_key.created': ofResource('keyId'),
  'api_key.rotated': ofResource('keyId'),
  'api_key.revoked': ofResource('keyId'),
  'telemetry.gap_detected': ofPlane,
  'attestation.failed': ofPlane,
  'integrity.violation': ofPlane,
};

function fromSystem(clear: JsonObject, body: SystemBody): Occurrence[] {
  const type = text(clear['eventType']) as WebhookEventKind;
  const data = Object.hasOwn(systemKinds, type) ? systemKinds[type]?.(body) : undefined;
  return data === undefined ? [] : [{ type, at: timeOf(clear['serverTimestamp']), data }];
}

const fromLeaf: Readonly<Record<string, (clear: JsonObject) => Occurrence[]>> = {
  'gov.proof/1': ({ proofId, runId }) => {
    const at = typeIdMs(text(proofId));
    return [{ type: 'proof.completed', at, data: { proofId: text(proofId), runId: text(runId) } }];
  },
  'gov.replay/1': ({ replayId, runId, driftCount, mismatches, at }) => {
    const mismatchCount = number(objectOf(mismatches)['n']);
    const drifted = number(driftCount);
    const data = { replayId: text(replayId), runId: text(runId), driftCount: drifted, mismatchCount };
    const completed = { type: 'replay.completed', at: timeOf(at), data } as const;
    return drifted + mismatchCount === 0
      ? [completed]
      : [completed, { ...completed, type: 'replay.drift_detected' }];
  },
  'gov.decision/1': ({ id, runId, action, evaluatedAt }) => {
    const type = action === 'escalate' ? 'risk.escalated' : action === 'block' ? 'risk.blocked' : null;
    const data = { decisionId: text(id), runId: text(runId) };
    return type === null ? [] : [{ type, at: timeOf(evaluatedAt), data }];
  },
  'gov.policy/1': ({ policyId, version, event, from, to, at }) => {
    const isMove = event === 'published' || event === 'transition';
    const type = isMove ? 'policy.transitioned' : event === 'rolled_back' ? 'policy.rolled_back' : null;
    if (type === null) return [];
    const data = { policyId: text(policyId), version: number(version), to: text(to) };
    return [{ type, at: timeOf(at), data: { ...data, from: from === null ? null : text(from) } }];
  },
  'gov.loss/1': ({ at, from, lost }) => [
    { type: 'log.loss', at: timeOf(at), data: { from: number(from), lost: number(lost) } },
  ],
  'gov.evaluation/1': ({ id, runId, approval, evaluatedAt }) => {
    if (!isObject(approval)) return [];
    const { id: approvalId, expiresAt } = objectOf(approval);
    const ids = { approvalId: text(approvalId), evaluationId: text(id), runId: text(runId) };
    const data = { ...ids, expiresAt: text(expiresAt) };
    return [{ type: 'approval.requested', at: timeOf(evaluatedAt), data }];
  },
  'gov.approval/1': ({ id, runId, evaluationId, outcome, at }) => {
    const ids = { approvalId: text(id), evaluationId: text(evaluationId), runId: text(runId) };
    return [{ type: 'approval.decided', at: timeOf(at), data: { ...ids, outcome: text(outcome) } }];
  },
};
