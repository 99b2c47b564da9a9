/**
 * Maps every error that can end a request to a problem of the register (`src/contract/problems.ts`). Proven
 * by `test/http/transport.test.ts` and `test/http/hostile.test.ts`.
 */
import type { FastifyRequest } from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { Operation } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';

/**
 * Maps the errors of Fastify and of the connection to codes of the register. An unknown error becomes
 * INTERNAL and keeps its `cause`.
 */
export function asGovError(error: unknown): GovError {
  if (error instanceof GovError) return error;
  switch ((error as { code?: unknown } | null)?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new GovError('PAYLOAD_TOO_LARGE', 'expected a smaller body; see the limits of the interface');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected Content-Type: application/json (UTF-8)');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new GovError('INVALID_JSON', 'expected as many bytes as Content-Length says');
    case 'FST_ERR_BAD_URL':
      return new GovError('VALIDATION_ERROR', 'expected a percent-encoded URL path in UTF-8');
    case 'FST_ERR_HANDLER_TIMEOUT':
      return new GovError('OVERLOADED', 'the answer took too long; repeat later, or ask for less');
    case 'ECONNRESET':
    case 'ABORT_ERR':
      return new GovError('INVALID_JSON', 'the request ended before its body was complete');
    default:
      return new GovError('INTERNAL', 'Internal error', { cause: error });
  }
}

/**
 * Maps like `asGovError`. A body that is too large gets the limit of its operation and, where declared, its
 * size.
 */
export function asRouteError(
  { row }: { readonly row: Operation },
  error: unknown,
  { headers }: FastifyRequest,
): GovError {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return asGovError(error);
  const limit = row.bodyBytes ?? limits.bodyBytes;
  const declared = headers['content-length'];
  const came = declared === undefined ? 'more' : `${declared}`;
  const detail = `expected a body of at most ${limit} bytes, got ${came}; send less, or split it`;
  return new GovError('PAYLOAD_TOO_LARGE', detail, { extensions: { limit } });
}
