/**
 * One call as a handler receives it: checked input, caller and tenant. Knows HTTP only as status codes and headers.
 */
import type { Input, Operation, Output } from '../../contract/operation.ts';
import type { OperationId, Table } from '../../contract/table.ts';
import type { Services } from '../dependencies.ts';
import type { Replayed, Streamed, WrittenBody } from './answer.ts';
import type { Caller } from './caller.ts';
import type { Idempotency } from './idempotency.ts';

/** What an Auth operation is called with, as it came. */
export interface Presented {
  /** Of `Authorization: Bearer`. */
  readonly bearer: string | null;
  /** Of the session cookie. */
  readonly cookie: string | null;
}

/** Headers of a conditional request as they were sent (RFC 9110 §13.1, §14.2); null where they were not. */
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
  /** Null but on Auth operations. */
  readonly presented: Presented | null;
  /** `/api/v1` or `/sandbox/api/v1`, for Location headers. */
  readonly basePath: string;
  readonly idempotency: Idempotency | null;
  /** `If-Match` as it was sent, on operations that look at it. */
  readonly ifMatch: string | null;
  /** On operations whose answers have ranges; null on all others. */
  readonly conditions: Conditions | null;
  /** JCS of the body on signed operations: what was signed. Null on all others. */
  readonly canonical: string | null;
}

export type Handler<Row extends Operation> = (
  call: Call<Row>,
  services: Services,
) => Promise<Output<Row> | Replayed | WrittenBody | Streamed>;

/** One handler for each row; a missing one does not compile. */
export type Handlers = { readonly [Id in OperationId]: Handler<Table[Id]> };
