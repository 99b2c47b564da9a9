/**
 * What a row of the contract table is. Routes with their validation, the typed client, generated
 * commands, the OpenAPI document and the scope matrix are all derived from rows of this shape.
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
  | 'Auth'
  | 'Billing'
  | 'Metering'
  | 'Projects'
  | 'Hybrid Telemetry'
  | 'Health'
  | 'Log';
export type Stability = 'stable' | 'beta' | 'deprecated';

/** Operation metering: the four counted kinds. */
export const meteredTypes = [
  'audit_event',
  'compliance_proof',
  'risk_decision',
  'replay_verification',
] as const;
export type MeteredType = (typeof meteredTypes)[number];

/** `<group>:<verb>`; `*` holds all of them. */
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
export interface TextBody {
  readonly mediaType: string;
}

/** An answer without a body (204). */
export interface NoBody {
  readonly empty: true;
}

/**
 * Who may call. `project`: a key of the project with the row's scope, or a person of its organization who names it by
 * `Gov-Project`. `organization`: the same, where a person need not name a project. `caller`: whoever has a credential.
 * `idToken`: someone with an ID token of the identity provider. `plane`: a data plane with its hybrid key. `anyone`.
 */
export type Access = 'project' | 'organization' | 'caller' | 'idToken' | 'plane' | 'anyone';

/** What is said of an operation that is going to be removed (contract A11). */
export interface Deprecation {
  /** Unix seconds: since when, and when it goes. */
  readonly since: number;
  readonly sunset: number;
  /** Where the way to its successor is described. */
  readonly link: string;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base URL; path parameters in braces. */
  readonly path: string;
  readonly tag: Tag;
  readonly stability: Stability;
  readonly origin: 'specification' | 'extension';
  /** `null`: none is asked for. */
  readonly scope: Scope | null;
  /** Where absent: `project` with a scope, `anyone` without. */
  readonly access?: Access;
  /** Whether `telemetryHeaders` (`auth-words.ts`) are required and authenticate the body (contract B10-B12). */
  readonly signed?: true;
  readonly deprecation?: Deprecation;
  readonly meters?: MeteredType;
  /** One sentence, used in OpenAPI and in `--help`. */
  readonly summary: string;
  /** `noun verb` of the command line; absent where only a hand-made command exists or none at all. */
  readonly command?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Members that an answer carries and this body must not: READ_ONLY_FIELD instead of UNKNOWN_FIELD. */
  readonly readOnly?: readonly string[];
  /** Whether `If-Match` is looked at: the change is refused with 412 where the resource has another revision. */
  readonly ifMatch?: true;
  /**
   * Whether parts of the answer can be asked for, and whether it is still what one has: 206 and 304, 412 and 416
   * (RFC 9110 §13, §14).
   */
  readonly ranged?: true;
  /** Largest accepted body; `limits.bodyBytes` where absent. */
  readonly bodyBytes?: number;
  readonly success: Readonly<Record<number, TSchema | TextBody | NoBody>>;
  /** Documented statuses beside success; transport-level ones are shared by every operation. */
  readonly statuses: readonly number[];
}

/** Keeps the row's literal types and checks its shape. */
export const operation = <const Row extends Operation>(row: Row): Row => row;

type StaticOr<Schema, Fallback> = Schema extends TSchema ? Static<Schema> : Fallback;
type Member<Row, Key extends string> = Row extends Record<Key, infer Value> ? Value : undefined;

/** The checked input of an operation. */
export interface Input<Row extends Operation> {
  readonly params: StaticOr<Member<Row, 'params'>, Record<never, never>>;
  readonly query: StaticOr<Member<Row, 'query'>, Record<never, never>>;
  readonly body: StaticOr<Member<Row, 'body'>, undefined>;
}

/** What an operation may answer: one of its success statuses with that status's body. */
export type Output<Row extends Operation> = {
  [Status in keyof Row['success'] & number]: {
    readonly status: Status;
    // first, since anything is a TSchema
    readonly body: Row['success'][Status] extends NoBody
      ? null
      : Row['success'][Status] extends TSchema
        ? Static<Row['success'][Status]>
        : string | Uint8Array;
    readonly headers?: Readonly<Record<string, string>>;
  };
}[keyof Row['success'] & number];

/** Who may call an operation. */
export const accessOf = ({ access, scope }: Operation): Access =>
  access ?? (scope === null ? 'anyone' : 'project');
