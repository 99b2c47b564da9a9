/** The client SDK: `import { createClient } from 'gov'`. */
export { createClient } from './client.ts';
export type { Answer, CallInput, Client, ClientNote, ClientOptions, Method } from './client.ts';
export { GovApiError, GovNetworkError } from './errors.ts';
export type { ProblemBody } from './errors.ts';
export { paginate } from './paginate.ts';
export type { ItemOf } from './paginate.ts';
export { tailEvents } from './tail.ts';
export type { TailNote, TailOptions } from './tail.ts';
export { version } from './version.ts';
export { limits } from '../contract/limits.ts';
export type { AuditEvent, EventInput, Run } from '../contract/events.ts';
export type { ComplianceProof, ProofRequest, VerifyResult } from '../contract/proofs.ts';
export type { CausalGraph, GraphDeclaration } from '../contract/graphs.ts';
export type { ListedJob } from '../contract/jobs.ts';
export type { FieldError, ProblemCode } from '../contract/problems.ts';
export type { OperationId } from '../contract/table.ts';
