/**
 * Answers of OTLP/HTTP in the encoding of their request: partial success, and `google.rpc.Status` for an error.
 * Source: OTLP specification 1.9, sections "OTLP/HTTP Response" and "Partial Success"; google/rpc/status.proto.
 * Tested by `test/http/otlp/receive.engines.test.ts`.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { rejectedCounts } from '../../../contract/otlp.ts';
import type { Signal } from './protobuf.ts';

export type OtlpEncoding = 'json' | 'protobuf';

/** Without rejected records the message is empty: the protocol leaves `partialSuccess` out then. */
export function encodeSuccess(
  signal: Signal,
  { rejected, reason }: { readonly rejected: number; readonly reason: string | null },
  encoding: OtlpEncoding,
): string | Uint8Array {
  const message = reason ?? '';
  if (encoding === 'json') {
    // a 64-bit number is text in the JSON form of protobuf
    const partial = { [rejectedCounts[signal]]: String(rejected), errorMessage: message };
    return JSON.stringify(rejected === 0 ? {} : { partialSuccess: partial });
  }
  if (rejected === 0) return new Uint8Array();
  const partial = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int64(rejected)
    .tag(2, WireType.LengthDelimited)
    .string(message)
    .finish();
  return new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(partial).finish();
}

/** `status`: of HTTP. */
export function encodeFailure(status: number, message: string, encoding: OtlpEncoding): string | Uint8Array {
  const code = rpcCodes[status] ?? (status >= 500 ? 13 : 3);
  if (encoding === 'json') return JSON.stringify({ code, message });
  return new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(code)
    .tag(2, WireType.LengthDelimited)
    .string(message)
    .finish();
}

/** Codes of google/rpc/code.proto. */
const rpcCodes: Readonly<Record<number, number>> = {
  400: 3, // INVALID_ARGUMENT
  401: 16, // UNAUTHENTICATED
  403: 7, // PERMISSION_DENIED
  404: 5, // NOT_FOUND
  408: 4, // DEADLINE_EXCEEDED
  409: 10, // ABORTED
  429: 8, // RESOURCE_EXHAUSTED
  503: 14, // UNAVAILABLE
};
