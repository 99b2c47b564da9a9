/**
 * Records as events of the Open Cybersecurity Schema Framework 1.9, or 1.8: API Activity (6003), and a Detection
 * Finding (2004) for a decision that refuses. 1.8 knows no `ai_agent` object. What the schema has no attribute for is
 * in `unmapped.gov`. The reference is `docs/reference/forward-formats.md`. Proven by `test/core/forwards/ocsf.test.ts`,
 * which compares the attributes with those of the schema.
 */
import { isRefusal, type ForwardRecord, type Party } from './record.ts';

export const ocsfVersions = ['1.9.0', '1.8.0'] as const;
export type OcsfVersion = (typeof ocsfVersions)[number];

export interface OcsfOptions {
  readonly ocsfVersion: OcsfVersion;
  /** Version of gov. */
  readonly version: string;
}

type Members = Readonly<Record<string, unknown>>;

/** Returns the event to serialize. */
export const ocsfEvent = (record: ForwardRecord, options: OcsfOptions): Members =>
  record.isDecision && isRefusal(record.decision) ? finding(record, options) : activity(record, options);

const captions = ['Unknown', 'Informational', 'Low', 'Medium', 'High', 'Critical'] as const;
const severities = { low: 2, medium: 3, high: 4, critical: 5 } as const;

function severityOf({ decision, severity, isDecision }: ForwardRecord): number {
  if (isRefusal(decision)) return isDecision && severity !== null ? severities[severity] : 4;
  if (decision === 'escalate') return 3;
  return decision === 'warn' || decision === 'flag' ? 2 : 1;
}

/** Verbs of actions that the schema counts as create, read, update, delete. */
const verbs: readonly (readonly [id: number, caption: string, pattern: RegExp])[] = [
  [1, 'Create', /^(?:create|add|insert|new|open|publish)\b/i],
  [2, 'Read', /^(?:read|get|list|search|query|fetch|view|download)\b/i],
  [3, 'Update', /^(?:update|edit|set|write|change|modify|patch|put|rename|rotate)\b/i],
  [4, 'Delete', /^(?:delete|remove|drop|erase|revoke|purge)\b/i],
];

function activity(record: ForwardRecord, options: OcsfOptions): Members {
  const { action, decision, actor } = record;
  const [activityId, activityName] = verbs.find(([, , pattern]) => pattern.test(action)) ?? [99, action];
  const resources = resourcesOf(record);
  return {
    activity_id: activityId,
    activity_name: activityName,
    category_name: 'Application Activity',
    category_uid: 6,
    class_name: 'API Activity',
    class_uid: 6003,
    type_uid: 600_300 + activityId,
    ...common(record, options),
    ...(decision === null ? {} : ruling(record)),
    ...agentOf(record, options),
    actor: actorOf(record),
    api: apiOf(record),
    src_endpoint: { name: record.aiSystemId ?? actor?.name ?? actor?.id ?? 'gov' },
    ...(resources === null ? {} : { resources }),
  };
}

function finding(record: ForwardRecord, options: OcsfOptions): Members {
  const { decision, policy, reason, timeMs, riskScore } = record;
  const resources = resourcesOf(record);
  const title = `${decision === 'denied' ? 'Approval denied' : 'Call refused'}: ${nameOf(record.resource) ?? record.eventType}`;
  const agent = options.ocsfVersion === '1.9.0' ? aiAgentOf(record) : null;
  return {
    activity_id: 1,
    activity_name: 'Create',
    category_name: 'Findings',
    category_uid: 2,
    class_name: 'Detection Finding',
    class_uid: 2004,
    type_uid: 200_401,
    ...common(record, options),
    ...ruling(record),
    status_id: 1,
    status: 'New',
    is_alert: true,
    finding_info: {
      uid: record.id,
      title,
      created_time: timeMs,
      ...(reason === null ? {} : { desc: reason }),
      ...(policy === null
        ? {}
        : { analytic: { type_id: 1, type: 'Rule', uid: policy.id, ...versionOf(policy) } }),
    },
    evidences: [
      {
        actor: actorOf(record),
        api: apiOf(record),
        ...(agent === null ? {} : { ai_agent: agent }),
        ...(resources === null ? {} : { resources }),
      },
    ],
    ...(resources === null ? {} : { resources }),
    ...(riskScore === null ? {} : { risk_score: Math.round(riskScore) }),
  };
}

const versionOf = ({ version }: { readonly version: number | null }): Members =>
  version === null ? {} : { version: String(version) };

/** Attributes of every class. */
function common(record: ForwardRecord, options: OcsfOptions): Members {
  const { source, index, leafHash, loggedMs, timeMs, data } = record;
  const severity = severityOf(record);
  const isActivity = !(record.isDecision && isRefusal(record.decision));
  return {
    time: timeMs,
    severity_id: severity,
    severity: captions[severity],
    message: `${record.eventType}: ${nameOf(record.actor) ?? 'gov'} ${record.action}`,
    metadata: {
      version: options.ocsfVersion,
      product: { name: 'gov', vendor_name: 'gov', version: options.version },
      profiles: [
        ...(isActivity ? ['ai_operation'] : []),
        ...(record.decision === null ? [] : ['security_control']),
      ],
      uid: record.id,
      sequence: index,
      event_code: record.eventType,
      log_name: source.origin,
      log_provider: 'gov',
      logged_time: loggedMs,
      tenant_uid: source.organizationId,
      ...(record.runId === null ? {} : { correlation_uid: record.runId }),
      ...(record.clientEventId === null ? {} : { original_event_uid: record.clientEventId }),
    },
    raw_data_hash: {
      algorithm_id: 99,
      algorithm: 'RFC 6962 leaf hash (SHA-256)',
      value: leafHash.slice('sha256:'.length),
    },
    unmapped: {
      gov: {
        project_id: source.projectId,
        environment: source.environment,
        log_origin: source.origin,
        leaf_index: index,
        leaf_hash: leafHash,
        leaf_type: record.leafType,
        event_id: record.id,
        run_id: record.runId,
        run_seq: record.runSeq,
        caused_by: record.causedBy,
        erased: record.erased,
        data,
      },
    },
  };
}

/** Attributes of the profile security_control. */
function ruling(record: ForwardRecord): Members {
  const { decision, policy } = record;
  const [actionId, action, dispositionId, disposition] = rulings[decision ?? 'allow'];
  return {
    action_id: actionId,
    action,
    disposition_id: dispositionId,
    disposition,
    ...(policy === null ? {} : { policy: { uid: policy.id, is_applied: true, ...versionOf(policy) } }),
  };
}

const allowed = [1, 'Allowed', 1, 'Allowed'] as const;
const denied = [2, 'Denied', 2, 'Blocked'] as const;
const alerted = [1, 'Allowed', 19, 'Alert'] as const;
const rulings = {
  allow: allowed,
  approved: [1, 'Allowed', 8, 'Approved'],
  warn: alerted,
  flag: alerted,
  // the call waits for a person
  escalate: [2, 'Denied', 14, 'Delayed'],
  deny: denied,
  block: denied,
  denied: [2, 'Denied', 25, 'Rejected'],
} as const;

const nameOf = (party: Party | null): string | null => party?.name ?? party?.id ?? null;

/** Attributes of the profile ai_operation. */
function agentOf(record: ForwardRecord, { ocsfVersion }: OcsfOptions): Members {
  const agent = ocsfVersion === '1.9.0' ? aiAgentOf(record) : null;
  const model = modelOf(record);
  if (agent !== null) return { ai_agent: agent };
  return model === null ? {} : { ai_model: model };
}

function aiAgentOf(record: ForwardRecord): Members | null {
  const { actor, aiSystemId, runId } = record;
  const uid = aiSystemId ?? actor?.id ?? null;
  const name = nameOf(actor) ?? aiSystemId;
  if (uid === null && name === null) return null;
  const model = modelOf(record);
  return {
    ...(uid === null ? {} : { uid }),
    ...(name === null ? {} : { name }),
    ...(runId === null ? {} : { instance_uid: runId }),
    type_id: 0,
    ...(model === null ? {} : { ai_model: model }),
  };
}

/** The schema requires name and provider. */
const modelOf = ({ model }: ForwardRecord): Members | null =>
  model === null ? null : { name: model.name, ai_provider: model.provider ?? 'unknown' };

function actorOf({ actor, runId }: ForwardRecord): Members {
  const user = {
    ...(actor?.id === null || actor?.id === undefined ? {} : { uid: actor.id }),
    name: nameOf(actor) ?? 'gov',
    ...(actor?.type === null || actor?.type === undefined ? {} : { type_id: 99, type: actor.type }),
  };
  return { user, ...(runId === null ? {} : { session: { uid: runId } }) };
}

function apiOf({ action, id, resource, eventType }: ForwardRecord): Members {
  return {
    operation: action === '' ? eventType : action,
    request: { uid: id },
    service: { name: nameOf(resource) ?? 'gov' },
  };
}

function resourcesOf({ resource }: ForwardRecord): readonly Members[] | null {
  const name = nameOf(resource);
  if (resource === null || name === null) return null;
  return [
    {
      name,
      ...(resource.id === null ? {} : { uid: resource.id }),
      ...(resource.type === null ? {} : { type: resource.type }),
    },
  ];
}
