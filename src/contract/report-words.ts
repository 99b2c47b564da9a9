/** Ids of the built-in report templates and of their sections (contract L4), shared by the contract and the service. */

export const reportTemplateIds = [
  'ai-act-logging',
  'run-evidence',
  'policy-changes',
  'decisions-exceptions',
  'tool-access',
  'integrity-completeness',
  'replay-drift',
  'incident-bundle',
  'usage-statement',
  'retention-deletion',
  'executive-summary',
] as const;
export type ReportTemplateId = (typeof reportTemplateIds)[number];

/** What a custom template may choose from: sections of the built-in ones, as `TEMPLATE/SECTION`. */
export const reportSectionIds = [
  'ai-act-logging/law',
  'ai-act-logging/systems',
  'ai-act-logging/risks',
  'ai-act-logging/modifications',
  'ai-act-logging/oversight',
  'ai-act-logging/retention',
  'run-evidence/run',
  'run-evidence/events',
  'run-evidence/decisions',
  'run-evidence/proofs',
  'policy-changes/changes',
  'policy-changes/in-force',
  'policy-changes/risk-router',
  'decisions-exceptions/decisions',
  'decisions-exceptions/approvals',
  'decisions-exceptions/risk-router',
  'tool-access/tools',
  'tool-access/data',
  'tool-access/credentials',
  'integrity-completeness/log',
  'integrity-completeness/clocks',
  'integrity-completeness/sources',
  'integrity-completeness/ungoverned',
  'integrity-completeness/control-tests',
  'replay-drift/replays',
  'replay-drift/drift',
  'incident-bundle/timeline',
  'incident-bundle/changes-before',
  'incident-bundle/deadlines',
  'usage-statement/units',
  'usage-statement/billing',
  'retention-deletion/erasures',
  'retention-deletion/prunings',
  'retention-deletion/rules',
  'executive-summary/summary',
] as const satisfies readonly `${ReportTemplateId}/${string}`[];
export type ReportSectionId = (typeof reportSectionIds)[number];

/** The built-in template of a section. */
export const templateOfSection = (section: ReportSectionId): ReportTemplateId =>
  section.slice(0, section.indexOf('/')) as ReportTemplateId;
