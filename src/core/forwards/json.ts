/**
 * A record as plain JSON, `gov.forward/1`, the names of which are those of the API. The reference is
 * `docs/reference/forward-formats.md`. Proven by `test/core/forwards/json.test.ts`.
 */
import { formatTimestamp } from '../time.ts';
import type { ForwardRecord } from './record.ts';

const forwardSchema = 'gov.forward/1';

/** Returns the object to serialize. Members without a value are null, so that each record has the same members. */
export function plainObject(record: ForwardRecord): Record<string, unknown> {
  const { source, index, leafHash, leafType, timeMs, loggedMs } = record;
  return {
    schema: forwardSchema,
    time: formatTimestamp(timeMs),
    loggedAt: formatTimestamp(loggedMs),
    id: record.id,
    eventType: record.eventType,
    runId: record.runId,
    runSeq: record.runSeq,
    actor: record.actor,
    action: record.action,
    resource: record.resource,
    decision: record.decision,
    severity: record.severity,
    reason: record.reason,
    policy: record.policy,
    riskScore: record.riskScore,
    aiSystemId: record.aiSystemId,
    model: record.model,
    clientEventId: record.clientEventId,
    causedBy: record.causedBy,
    erased: record.erased,
    project: {
      id: source.projectId,
      organizationId: source.organizationId,
      environment: source.environment,
    },
    log: { origin: source.origin, index, leafHash, leafType },
    data: record.data,
  };
}
