/**
 * One call as a handler receives it: checked input, caller and tenant. Knows HTTP only as status codes and
 * headers. Proven by `test/service/scenarios.test.ts`.
 */
import type { Input, Operation, Output } from '../../contract/operation.ts';
import type { OperationId, Table } from '../../contract/table.ts';
import type { Services } from './services.ts';
import type { ChangeRequest } from '../../core/approvals/change-statement.ts';
import type { ReplayedResponse, StreamResponse, WrittenBody } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Idempotency } from '../call/idempotency.ts';

/** The credentials in a call of an Auth operation, unverified. */
export interface RawCredentials {
  /** The token in `Authorization: Bearer`. */
  readonly bearer: string | null;
  /** The value of the session cookie. */
  readonly cookie: string | null;
  /** The page that calls: over HTTPS, or over HTTP on the same machine. Null for other pages and for programs. */
  readonly site: 'secure' | 'loopback' | null;
  /** The origin of that page; null for a page that is not the service's own. */
  readonly origin: string | null;
  /** The value of the cookie of a sign-in at the identity provider, sent by a page of the service. */
  readonly signIn: string | null;
}

/** A request as it came, and as an approver signs it, with the signature of its header. */
export interface SignedRequest extends ChangeRequest {
  readonly header: string | null;
}

/** Headers of a conditional request as sent (RFC 9110 §13.1, §14.2); null for an absent header. */
export interface Conditions {
  readonly range: string | null;
  readonly ifRange: string | null;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
}

export interface Call<Row extends Operation> extends Input<Row> {
  readonly caller: Row['scope'] extends null
    ? Row extends { readonly access: 'caller' }
      ? Caller
      : Caller | null
    : Caller;
  /** Null except on Auth operations. */
  readonly presented: RawCredentials | null;
  /** `/api/v1` or `/sandbox/api/v1`, for Location headers. */
  readonly basePath: string;
  /** Returns the origin at which clients reach the service, such as `https://gov.example.com`. */
  readonly origin: () => string;
  /** The file of an upload (`Operation.upload`); null on other operations. */
  readonly file: Uint8Array | null;
  readonly idempotency: Idempotency | null;
  /** `If-Match` as sent. Null on operations that ignore it. */
  readonly ifMatch: string | null;
  /** Null except on operations whose answers have ranges. */
  readonly conditions: Conditions | null;
  readonly request: SignedRequest;
  /** The body in RFC 8785 form, which the caller signed. Null except on signed operations. */
  readonly canonical: string | null;
}

type Handler<Row extends Operation> = (
  call: Call<Row>,
  services: Services,
) => Promise<Output<Row> | ReplayedResponse | WrittenBody | StreamResponse>;

/** One handler for each row of the table; a missing handler does not compile. */
export type Handlers = { readonly [Id in OperationId]: Handler<Table[Id]> };
