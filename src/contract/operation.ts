/**
 * One row of the contract table: method, path, schemas, scope, statuses.
 * Routes with validation, the typed client, generated commands, the OpenAPI document and the scope matrix
 * are derived from these rows. Proven by `test/contract/openapi.test.ts`.
 */
import type { Static, TObject, TSchema } from 'typebox';

export type Tag =
  | 'Audit Events'
  | 'Compliance Proofs'
  | 'Risk Routing'
  | 'Replay'
  | 'Causal Graphs'
  | 'Governance'
  | 'Jobs'
  | 'Exports'
  | 'Reporting'
  | 'Auth'
  | 'Billing'
  | 'Metering'
  | 'Projects'
  | 'Hybrid Telemetry'
  | 'Operations'
  | 'Webhooks'
  | 'Health'
  | 'Log';
type Stability = 'stable' | 'beta' | 'deprecated';

/** The four kinds of operations that the service meters. */
export const meteredTypes = [
  'audit_event',
  'compliance_proof',
  'risk_decision',
  'replay_verification',
] as const;
export type MeteredType = (typeof meteredTypes)[number];

/** `<group>:<verb>`; `*` contains all scopes. */
export const scopes = [
  'events:read',
  'events:write',
  'proofs:read',
  'proofs:write',
  'risk:read',
  'risk:evaluate',
  'risk:configure',
  'replay:read',
  'replay:write',
  'graphs:read',
  'graphs:write',
  'governance:read',
  'governance:evaluate',
  'governance:manage',
  'jobs:read',
  'jobs:retry',
  'jobs:cancel',
  'exports:read',
  'exports:write',
  'reporting:read',
  'reporting:write',
  'projects:read',
  'projects:write',
  'keys:read',
  'keys:write',
  'billing:write',
  'tools:evaluate',
  'namespaces:read',
  'namespaces:write',
  'webhooks:read',
  'webhooks:write',
  'telemetry:write',
  'telemetry:manage',
  'approvals:decide',
  'erasure:write',
  'log:read',
  '*',
] as const;
export type Scope = (typeof scopes)[number];

/** A body that is not `application/json`. */
interface TextBody {
  readonly mediaType: string;
}

/** A response without a body (204). */
export interface NoBody {
  readonly empty: true;
}

/**
 * The caller of an operation. `project`: a key of the project with the row's scope, or a person of its organization
 * who names the project in `Gov-Project`. `organization`: the same, but a person need not name a project. `caller`: any
 * valid credential. `idToken`: a person with an ID token of the identity provider. `plane`: a data plane with its
 * hybrid key. `cron`: a scheduler with the secret of the installation, in the header `cronHeader` (`auth-words.ts`).
 * `anyone`: no credential.
 */
export type Access = 'project' | 'organization' | 'caller' | 'idToken' | 'plane' | 'cron' | 'anyone';

/** The removal notice of an operation (contract A11: RFC 9745 and RFC 8594 headers announce it). */
export interface Deprecation {
  /** Unix seconds: the deprecation and the removal. */
  readonly since: number;
  readonly sunset: number;
  /** URL of the guide to the successor. */
  readonly link: string;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base URL; path parameters in braces. */
  readonly path: string;
  readonly tag: Tag;
  readonly stability: Stability;
  readonly origin: 'specification' | 'extension';
  /** `null`: the operation needs no scope. */
  readonly scope: Scope | null;
  /** Default: `project` with a scope, `anyone` without. */
  readonly access?: Access;
  /** Whether the operation requires `telemetryHeaders` (`auth-words.ts`), which authenticate the body. */
  readonly signed?: true;
  readonly deprecation?: Deprecation;
  readonly meters?: MeteredType;
  /** One sentence, used in OpenAPI and in `--help`. */
  readonly summary: string;
  /** `noun verb` of a generated command; absent if the command is hand-written or missing. */
  readonly command?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Members of the response that a body must not set: READ_ONLY_FIELD instead of UNKNOWN_FIELD. */
  readonly readOnly?: readonly string[];
  /** Whether the operation reads `If-Match`; the service answers 412 if the resource has another revision. */
  readonly ifMatch?: true;
  /** Whether the response of this GET has an `ETag`; the service answers 304 if `If-None-Match` names it. */
  readonly tagged?: true;
  /**
   * Whether the response supports range and conditional requests: 206, 304, 412 and 416 (RFC 9110 §13, §14).
   */
  readonly ranged?: true;
  /** Media types of a ranged response; default: JSON and CSV. */
  readonly files?: readonly string[];
  /** The body is `multipart/form-data` (RFC 7578) with exactly this part, a file of at most `bytes`. */
  readonly upload?: { readonly part: string; readonly bytes: number };
  /** The member of the body whose items are judged alone: one outside the JSON profile refuses no other one. */
  readonly items?: string;
  /** Largest accepted body in bytes; default `limits.bodyBytes`. */
  readonly bodyBytes?: number;
  readonly success: Readonly<Record<number, TSchema | TextBody | NoBody>>;
  /** Documented statuses besides success; every operation also has the transport-level ones. */
  readonly statuses: readonly number[];
}

/** Returns the row with its literal types, and checks its shape at compile time. */
export const operation = <const Row extends Operation>(row: Row): Row => row;

type StaticOr<Schema, Fallback> = Schema extends TSchema ? Static<Schema> : Fallback;
type Member<Row, Key extends string> = Row extends Record<Key, infer Value> ? Value : undefined;

/** The validated input of an operation. */
export interface Input<Row extends Operation> {
  readonly params: StaticOr<Member<Row, 'params'>, Record<never, never>>;
  readonly query: StaticOr<Member<Row, 'query'>, Record<never, never>>;
  readonly body: StaticOr<Member<Row, 'body'>, undefined>;
}

/** The possible responses of an operation: one success status with the body of that status. */
export type Output<Row extends Operation> = {
  [Status in keyof Row['success'] & number]: {
    readonly status: Status;
    // NoBody first: every type extends TSchema.
    readonly body: Row['success'][Status] extends NoBody
      ? null
      : Row['success'][Status] extends TSchema
        ? Static<Row['success'][Status]>
        : string | Uint8Array;
    readonly headers?: Readonly<Record<string, string>>;
  };
}[keyof Row['success'] & number];

/**
 * Whether a success answer has the header Location: each 201 but that of a batch, whose answer lists what it created, and
 * each 202 that a client follows, but not that of a report.
 */
export const hasLocation = ({ items, signed }: Operation, status: number): boolean =>
  (status === 201 && items === undefined) || (status === 202 && signed !== true);

/** The caller that an operation accepts; see `Access` for the defaults. */
export const accessOf = ({ access, scope }: Operation): Access =>
  access ?? (scope === null ? 'anyone' : 'project');
