/** The built-in templates of reports by id (contract L4). `docs/reference/report-templates.md` describes their tables. */
import type { ReportTemplateId } from '../../../contract/report-words.ts';
import { aiActLogging } from './ai-act-logging.ts';
import { decisionsExceptions } from './decisions-exceptions.ts';
import { executiveSummary } from './executive-summary.ts';
import { incidentBundle } from './incident-bundle.ts';
import { integrityCompleteness } from './integrity-completeness.ts';
import { policyChanges } from './policy-changes.ts';
import { replayDrift } from './replay-drift.ts';
import { retentionDeletion } from './retention-deletion.ts';
import { runEvidence } from './run-evidence.ts';
import type { Template } from './source.ts';
import { toolAccess } from './tool-access.ts';
import { usageStatement } from './usage-statement.ts';

export const templates: Readonly<Record<ReportTemplateId, Template>> = {
  'ai-act-logging': aiActLogging,
  'run-evidence': runEvidence,
  'policy-changes': policyChanges,
  'decisions-exceptions': decisionsExceptions,
  'tool-access': toolAccess,
  'integrity-completeness': integrityCompleteness,
  'replay-drift': replayDrift,
  'incident-bundle': incidentBundle,
  'usage-statement': usageStatement,
  'retention-deletion': retentionDeletion,
  'executive-summary': executiveSummary,
};

/** Null for an unknown id, which an attacker may control. */
export const templateOf = (id: string): Template | null =>
  Object.hasOwn(templates, id) ? templates[id as ReportTemplateId] : null;
