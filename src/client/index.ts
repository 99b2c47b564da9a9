/** The client SDK: `import { createClient } from 'gov'`. Tested by `test/package.test.ts`. */
export { createClient } from './create.ts';
export type { Answer, CallInput, Client, ClientNote, ClientOptions, Method } from './create.ts';
export { downloadExport } from './download.ts';
export type { DownloadResult, DownloadOptions, DownloadSink } from './download.ts';
export {
  GovAuthError,
  GovBadRequestError,
  GovConflictError,
  GovNotFoundError,
  GovPaymentError,
  GovPermissionError,
  GovRateLimitError,
  GovServerError,
  GovTooLargeError,
} from './answers.ts';
export { GovApiError, GovError, GovNetworkError, GovSpoolError, GovTimeoutError } from './errors.ts';
export type { ProblemBody } from './errors.ts';
export { GovOutcomeUnrecorded, GovToolRefused, governedInvoke } from './governed.ts';
export type { GovernedCall, GovernedOptions } from './governed.ts';
export { openBundle } from './open.ts';
export type { OpenBundle } from './open.ts';
export { governAgentTool, governAiTools, governLangChainTool } from './agents.ts';
export type { GovernedRun } from './agents.ts';
export { createNamespaces, revealSecret } from './namespaces/client.ts';
export type {
  Namespace,
  NamespaceListParams,
  NamespaceListResponse,
  NamespaceRecord,
  Namespaces,
} from './namespaces/client.ts';
export { memoryStore } from './namespaces/in-memory.ts';
export { sqliteStore } from './namespaces/sqlite.ts';
export type { SqliteStoreOptions } from './namespaces/sqlite.ts';
export type { NamespaceName, NamespaceStore } from './namespaces/store.ts';
export { paginate } from './paginate.ts';
export type { ItemOf } from './paginate.ts';
export type { ReceiptedAnswer } from './receipts/receipted.ts';
export { EventRecorder } from './recorder.ts';
export type { RecorderCounts, RecorderOptions, RecorderProblem } from './recorder-options.ts';
export type { DropReason } from './losses.ts';
export { tailEvents } from './tail.ts';
export type { TailNote, TailOptions } from './tail.ts';
export { version } from './version.ts';
export { limits } from '../contract/limits.ts';
export type { AuditEvent, EventInput, Run } from '../contract/events.ts';
export type { ComplianceProof, ProofRequest, VerifyResult } from '../contract/proofs.ts';
export type { CausalGraph, GraphDeclaration } from '../contract/graphs.ts';
export type { ListedJob } from '../contract/jobs.ts';
export type { Approval } from '../contract/approvals.ts';
export type { PolicyEvaluation } from '../contract/governance.ts';
export type { Policy, PolicyVersion } from '../contract/policies.ts';
export type { RiskDecision, RiskRouterConfig } from '../contract/risk.ts';
export type { ToolCall, ToolDecision } from '../contract/tools.ts';
export type { Identity } from '../contract/auth.ts';
export type { ProjectDetail, ProjectSettings } from '../contract/projects.ts';
export type { ApiKeyRecord } from '../contract/keys.ts';
export type { Usage } from '../contract/metering.ts';
export type { BillingSummary } from '../contract/billing.ts';
export type { FieldError, ProblemCode } from '../contract/problems.ts';
export type { OperationId } from '../contract/table.ts';
