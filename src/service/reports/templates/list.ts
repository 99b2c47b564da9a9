/** The built-in templates of reports by id (contract L4). `docs/reference/report-templates.md` describes their tables. */
import {
  templateOfSection,
  type ReportSectionId,
  type ReportTemplateId,
} from '../../../contract/report-words.ts';
import { aiActLogging } from './ai-act-logging.ts';
import { decisionsExceptions } from './decisions-exceptions.ts';
import { executiveSummary } from './executive-summary.ts';
import { incidentBundle } from './incident-bundle.ts';
import { integrityCompleteness } from './integrity-completeness.ts';
import { policyChanges } from './policy-changes.ts';
import { replayDrift } from './replay-drift.ts';
import { retentionDeletion } from './retention-deletion.ts';
import { runEvidence } from './run-evidence.ts';
import type { SectionSpec, Template } from './sections.ts';
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

/** The part of its id that is its name in its template. */
export const keyOf = (id: ReportSectionId): string => id.slice(id.indexOf('/') + 1);

/** Errors: an id of the contract that no template declares, a bug. */
export function sectionOf(id: ReportSectionId): SectionSpec {
  const section = templates[templateOfSection(id)].sections[keyOf(id)];
  if (section === undefined) throw new Error(`expected the section ${id}, got none`);
  return section;
}
