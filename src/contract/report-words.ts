/** Ids of the built-in report templates (contract L4), shared by the contract and the service. */

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
